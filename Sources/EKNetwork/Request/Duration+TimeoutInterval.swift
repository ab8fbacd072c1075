import Foundation

extension Duration {
  /// The duration in seconds, kept where a timer of any platform is still sane: from a millisecond to 31 years.
  ///
  /// Zero and negative durations, which Foundation takes for "no limit" or traps on, are the shortest timeout.
  var timeoutInterval: TimeInterval {
    let (seconds, attoseconds) = components
    return min(max(Double(seconds) + Double(attoseconds) * 1e-18, 0.001), 1e9)
  }
}
