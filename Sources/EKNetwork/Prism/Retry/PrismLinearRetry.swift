/// A retry policy that waits the same time before each retry.
public struct PrismLinearRetry: PrismRetryPolicy {
  /// The delay before every retry. Defaults to two seconds.
  public let fixedDelay: Duration
  /// The maximum number of retries. Defaults to 3.
  public let maxAttempts: Int

  /// Creates a policy; negative values count as zero.
  public init(fixedDelay: Duration = .seconds(2), maxAttempts: Int = 3) {
    self.fixedDelay = max(fixedDelay, .zero)
    self.maxAttempts = max(maxAttempts, 0)
  }

  /// Returns whether fewer than ``maxAttempts`` retries were made and the error is transient: see
  /// ``PrismExponentialBackoff/shouldRetry(for:attempt:)``.
  public func shouldRetry(for error: Error, attempt: Int) -> Bool {
    attempt < maxAttempts && PrismNetworkError.isTransient(error)
  }

  /// Returns ``fixedDelay`` for every attempt.
  public func delay(for attempt: Int) -> Duration { fixedDelay }
}
