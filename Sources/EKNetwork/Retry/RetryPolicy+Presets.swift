import Foundation

extension RetryPolicy {
  /// Retries whose delay doubles each time, with jitter, so that clients that failed together do not return together.
  ///
  /// Before the retry number *n* (from 0) it waits `min(maxDelay, baseDelay × 2ⁿ)` seconds, of which the share
  /// `jitter` is random: 0 is no jitter, 0.5 the "equal" and 1 the "full" jitter of the literature.
  ///
  /// - Parameters:
  ///   - maxRetryCount: How many attempts may follow the first. Defaults to 3.
  ///   - baseDelay: Seconds before the first retry. Defaults to 0.5.
  ///   - maxDelay: The longest delay in seconds, jitter included. Defaults to 30.
  ///   - jitter: The random share of each delay, from 0 to 1. Defaults to 0.5.
  ///   - maxRetryAfter: The longest `Retry-After` that is granted, in seconds. Defaults to 60.
  ///   - shouldRetry: Whether an error is worth another attempt. Defaults to
  ///     ``RetryPolicy/shouldRetryByDefault(_:)``; ``RetryPolicy/isTransient(_:)`` is the stricter choice.
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

  /// Three retries of failures that pass by themselves (``isTransient(_:)``), after at most 0.5, 1 and 2
  /// seconds, of which half is random.
  public static var transientFailures: RetryPolicy {
    exponentialBackoff(shouldRetry: isTransient)
  }
}
