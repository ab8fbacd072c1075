import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// When and how often a failed attempt is repeated.
///
/// Whatever the policy says, nothing is repeated once the task was cancelled, nor when the body is a stream that was
/// opened already: the error of the attempt is thrown instead.
public struct RetryPolicy {
  /// How many attempts may follow the first. Zero or less means none.
  public let maxRetryCount: Int
  /// Seconds to wait before each retry; with ``exponentialBackoff(maxRetryCount:baseDelay:maxDelay:jitter:maxRetryAfter:shouldRetry:)``
  /// before the first. Anything that is not a positive number means no wait.
  public let delay: TimeInterval
  /// Whether this error is worth another attempt. Not asked about a cancellation, which never is.
  public let shouldRetry: (Error) -> Bool
  /// The longest wait, in seconds, that a server may ask for with `Retry-After` (RFC 9110 §10.2.3).
  ///
  /// The field lengthens the policy's own delay and never shortens it; of a longer wish this much is granted.
  /// Defaults to 60; 0 ignores the field.
  public var maxRetryAfter: TimeInterval = RetryPolicy.defaultMaxRetryAfter

  let backoff: RetryBackoff

  /// A policy with a constant delay.
  ///
  /// - Parameters:
  ///   - maxRetryCount: How many attempts may follow the first. Defaults to 0: no retries.
  ///   - delay: Seconds to wait before each of them. Defaults to 1.
  ///   - shouldRetry: Whether an error is worth another attempt. Defaults to
  ///     ``RetryPolicy/shouldRetryByDefault(_:)``.
  public init(
    maxRetryCount: Int = 0,
    delay: TimeInterval = 1.0,
    shouldRetry: @escaping (Error) -> Bool = RetryPolicy.shouldRetryByDefault
  ) {
    self.maxRetryCount = maxRetryCount
    self.delay = delay
    self.shouldRetry = shouldRetry
    backoff = .constant(delay)
  }

  init(maxRetryCount: Int, delay: TimeInterval, backoff: RetryBackoff, shouldRetry: @escaping (Error) -> Bool) {
    self.maxRetryCount = maxRetryCount
    self.delay = delay
    self.backoff = backoff
    self.shouldRetry = shouldRetry
  }

  /// The longest `Retry-After` that is granted unless ``maxRetryAfter`` says otherwise, in seconds.
  public static let defaultMaxRetryAfter: TimeInterval = 60

  /// What ``shouldRetry`` is unless you give your own: yes, except for ``NetworkError/unauthorized``,
  /// `URLError.userAuthenticationRequired`, every ``NonRetriableError`` and cancellation.
  public static func shouldRetryByDefault(_ error: Error) -> Bool {
    if error is NonRetriableError || error.isCancellation { return false }
    if let error = error as? NetworkError, error == .unauthorized { return false }
    return error.urlErrorCode != .userAuthenticationRequired
  }
}
