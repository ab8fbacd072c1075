import Foundation

/// When and how often a failed attempt is repeated.
public struct RetryPolicy {
  /// How many attempts may follow the first.
  public let maxRetryCount: Int
  /// Seconds to wait before each of them.
  public let delay: TimeInterval
  /// Whether this error is worth another attempt.
  public let shouldRetry: (Error) -> Bool

  /// A policy with a constant delay.
  public init(
    maxRetryCount: Int = 0,
    delay: TimeInterval = 1.0,
    shouldRetry: @escaping (Error) -> Bool = { _ in true }
  ) {
    self.maxRetryCount = maxRetryCount
    self.delay = delay
    self.shouldRetry = shouldRetry
  }
}
