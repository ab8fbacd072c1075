import Foundation

extension RetryPolicy {
  /// Returns a policy whose delay doubles with each retry, with jitter, so that clients that failed together do not
  /// retry together.
  ///
  /// Before retry number *n* (from 0) it waits `min(maxDelay, baseDelay × 2ⁿ)` seconds, of which the fraction `jitter`
  /// is random: 0 is no jitter, 0.5 is known as "equal" and 1 as "full" jitter.
  ///
  /// - Parameters:
  ///   - maxRetryCount: The maximum number of retries. Defaults to 3.
  ///   - baseDelay: The delay before the first retry, in seconds. Defaults to 0.5.
  ///   - maxDelay: The longest delay in seconds, jitter included. Defaults to 30.
  ///   - jitter: The random fraction of each delay, from 0 to 1. Defaults to 0.5.
  ///   - maxRetryAfter: The longest `Retry-After` that is honoured, in seconds. Defaults to 60.
  ///   - shouldRetry: A closure that returns whether to retry after an error. Defaults to
  ///     ``RetryPolicy/shouldRetryByDefault(_:)``; ``RetryPolicy/isTransient(_:)`` is stricter.
  public static func exponentialBackoff(
    maxRetryCount: Int = 3,
    baseDelay: TimeInterval = 0.5,
    maxDelay: TimeInterval = 30,
    jitter: Double = 0.5,
    maxRetryAfter: TimeInterval = RetryPolicy.defaultMaxRetryAfter,
    shouldRetry: @escaping (Error) -> Bool = RetryPolicy.shouldRetryByDefault
  ) -> RetryPolicy {
    var policy = RetryPolicy(
      maxRetryCount: maxRetryCount,
      delay: baseDelay,
      backoff: .exponential(base: baseDelay, maximum: maxDelay, jitter: jitter),
      shouldRetry: shouldRetry
    )
    policy.maxRetryAfter = maxRetryAfter
    return policy
  }

  /// A policy of three retries of transient failures (``isTransient(_:)``), after at most 0.5, 1 and 2 seconds, of
  /// which half is random.
  public static var transientFailures: RetryPolicy {
    exponentialBackoff(shouldRetry: isTransient)
  }
}
