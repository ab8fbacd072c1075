import Foundation

/// How long to wait before a retry.
enum RetryBackoff: Sendable {
  case constant(TimeInterval)
  case exponential(base: TimeInterval, maximum: TimeInterval, jitter: Double)
  /// By what is asked, for each retry by its number, whether there is to be one and how long to wait.
  case custom(allows: @Sendable (any Error, Int) -> Bool, delay: @Sendable (Int) -> Duration)

  /// The wait before a retry, the first of which is number 0.
  ///
  /// - Parameter random: A number from 0 to 1, asked for only where there is jitter.
  func delay(beforeRetry number: Int, random: () -> Double) -> Duration {
    switch self {
    case .constant(let seconds):
      return .clamped(seconds: seconds)
    case .exponential(let base, let maximum, let jitter):
      // 2¹⁰²³ is the last power of two that is finite: 0 × ∞ would not be a number.
      let doublings = Double(min(max(number, 0), 1023))
      let full = min(base * exp2(doublings), maximum)
      let share = jitter.clampedToUnit
      guard share > 0 else { return .clamped(seconds: full) }
      return .clamped(seconds: full * (1 - share * random().clampedToUnit))
    case .custom(_, let delay):
      return min(max(delay(number), .zero), .clamped(seconds: .infinity))
    }
  }
}

extension Double {
  /// Between 0 and 1; what is not a number is 0.
  fileprivate var clampedToUnit: Double {
    self > 0 ? min(self, 1) : 0
  }
}
