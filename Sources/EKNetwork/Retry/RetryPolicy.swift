import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A policy for whether, how often and when a failed attempt is repeated.
///
/// Regardless of the policy, nothing is repeated once the task was cancelled, nor if the body is a stream that was
/// already opened, nor because a complete response could not be decoded, its content coding included: the error of the
/// attempt is thrown instead. Neither is a request that is not idempotent (``NetworkRequest/isIdempotent``) after a
/// redirect 303, or one that has changed its method to GET: it was processed.
public struct RetryPolicy {
  /// The maximum number of retries. Zero or less means none.
  public let maxRetryCount: Int
  /// The delay before each retry, in seconds; with
  /// ``exponentialBackoff(maxRetryCount:baseDelay:maxDelay:jitter:maxRetryAfter:shouldRetry:)`` before the first.
  /// Anything that is not a positive number means no delay.
  public let delay: TimeInterval
  /// A closure that returns whether to retry after an error. It is not called for a cancellation, which is never
  /// retried.
  public let shouldRetry: (Error) -> Bool
  /// The longest delay, in seconds, that a server may request with `Retry-After` (RFC 9110 §10.2.3).
  ///
  /// The field can lengthen the policy's own delay but never shortens it; a longer request is limited to this value.
  /// Defaults to 60; 0 ignores the field.
  public var maxRetryAfter: TimeInterval = RetryPolicy.defaultMaxRetryAfter

  let backoff: RetryBackoff

  /// Creates a policy with a constant delay.
  ///
  /// - Parameters:
  ///   - maxRetryCount: The maximum number of retries. Defaults to 0: no retries.
  ///   - delay: The delay before each retry, in seconds. Defaults to 1.
  ///   - shouldRetry: A closure that returns whether to retry after an error. Defaults to
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

  /// The default of ``maxRetryAfter``, in seconds.
  public static let defaultMaxRetryAfter: TimeInterval = 60

  /// The default of ``shouldRetry``: returns `true`, except for ``NetworkError/unauthorized``,
  /// `URLError.userAuthenticationRequired`, every ``NonRetriableError``, an error that an `errorDecoder` has made of a
  /// 401, and cancellation.
  public static func shouldRetryByDefault(_ error: Error) -> Bool {
    if error is NonRetriableError || error.isCancellation || refusal?.statusCode == 401 { return false }
    if let error = error as? NetworkError, error == .unauthorized { return false }
    return error.urlErrorCode != .userAuthenticationRequired
  }

  /// Returns whether an error is likely to be transient: 408, 425, 429, 500, 502, 503 and 504; connections that could
  /// not be opened, were lost or timed out; and responses that are not valid HTTP. Of an error that the request's
  /// `errorDecoder` has made, the status of its response decides.
  ///
  /// It can be used as a policy's `shouldRetry`. It does not tell whether repeating the request is safe: a POST whose
  /// connection was lost may have been carried out.
  public static func isTransient(_ error: Error) -> Bool {
    let kind = FailureKind(error)
    if kind == .unclear, let refusal { return FailureKind(status: refusal.statusCode) == .temporary }
    return kind == .temporary
  }

  /// The response that a policy is deciding about, while it is asked about the error that the request's `errorDecoder`
  /// has made of it.
  @TaskLocal static var refusal: HTTPError?
}
