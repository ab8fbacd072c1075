import Foundation

/// The progress of an upload or download.
public final class NetworkProgress {
  /// A progress at 0.
  public init() {}
}
