import Foundation

extension Duration {
  /// The duration in seconds, for interfaces that take a `TimeInterval`. Fractions of a nanosecond may be lost.
  public var timeInterval: TimeInterval {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) * 1e-18
  }

  /// The duration in seconds, kept where a timer of any platform is still sane: from a millisecond to 31 years.
  ///
  /// Zero and negative durations, which Foundation takes for "no limit" or traps on, are the shortest timeout.
  var timeoutInterval: TimeInterval { min(max(timeInterval, 0.001), 1e9) }

  /// The whole duration in nanoseconds, within what 64 bits can hold.
  var clampedNanoseconds: UInt64 {
    let (seconds, attoseconds) = components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    let (product, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
    return overflow ? .max : product.addingClamped(UInt64(attoseconds) / 1_000_000_000)
  }

  /// `nil` unless `timeInterval` is positive and finite. A century, and all above it, is a century: no sum with an
  /// instant can overflow.
  init?(timeInterval: TimeInterval) {
    guard timeInterval > 0, timeInterval.isFinite else { return nil }
    self = .seconds(min(timeInterval, 100 * 365 * 86_400))
  }

  /// Seconds from outside as a wait: what is not a positive number is none at all, and what `Duration` or a clock
  /// could not hold, infinity too, is a year.
  static func clamped(seconds: Double) -> Duration {
    guard seconds > 0 else { return .zero }
    return .seconds(min(seconds, 31_536_000))
  }

  /// The same for a clock to sleep: clocks crash on the greatest durations, by which callers mean never.
  var sleepable: Duration { min(self, .clamped(seconds: .infinity)) }
}
