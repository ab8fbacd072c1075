import Foundation

/// The delay before a retry.
enum RetryBackoff: Sendable {
  case constant(TimeInterval)
  case exponential(base: TimeInterval, maximum: TimeInterval, jitter: Double)
  /// Closures that decide, by the number of the retry, whether to retry and how long to wait.
  case custom(allows: @Sendable (any Error, Int) -> Bool, delay: @Sendable (Int) -> Duration)

  /// Returns the delay before a retry, the first of which is number 0.
  ///
  /// - Parameter random: A number from 0 to 1, only requested if there is jitter.
  func delay(beforeRetry number: Int, random: () -> Double) -> Duration {
    switch self {
    case .constant(let seconds):
      return .clamped(seconds: seconds)
    case .exponential(let base, let maximum, let jitter):
      // 2¹⁰²³ is the largest finite power of two: 0 × ∞ would be NaN.
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
  /// The value limited to the range from 0 to 1; NaN becomes 0.
  fileprivate var clampedToUnit: Double {
    self > 0 ? min(self, 1) : 0
  }
}
