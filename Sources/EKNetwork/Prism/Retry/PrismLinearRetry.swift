/// Waits the same time before each retry.
public struct PrismLinearRetry: PrismRetryPolicy {
  /// The delay before every retry. Defaults to two seconds.
  public let fixedDelay: Duration
  /// How many retries there are. Defaults to 3.
  public let maxAttempts: Int

  /// A policy; negative values count as zero.
  public init(fixedDelay: Duration = .seconds(2), maxAttempts: Int = 3) {
    self.fixedDelay = max(fixedDelay, .zero)
    self.maxAttempts = max(maxAttempts, 0)
  }

  /// Whether fewer than ``maxAttempts`` retries were made, for an error that another attempt may not meet: see
  /// ``PrismExponentialBackoff/shouldRetry(for:attempt:)``.
  public func shouldRetry(for error: Error, attempt: Int) -> Bool {
    attempt < maxAttempts && PrismNetworkError.isTransient(error)
  }

  /// ``fixedDelay``, whatever the attempt.
  public func delay(for attempt: Int) -> Duration { fixedDelay }
}
