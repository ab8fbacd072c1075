import Foundation

extension Duration {
  /// The duration in seconds, for interfaces that take a `TimeInterval`. Fractions of a nanosecond may be lost.
  public var timeInterval: TimeInterval { inSeconds }
}
