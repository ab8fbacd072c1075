import Foundation

/// A policy for whether, how often and when a failed attempt is repeated.
///
/// Regardless of the policy, nothing is repeated once the task was cancelled, nor if the body is a stream that was
/// already opened, nor because a complete response was empty or could not be decoded, its content coding included: the
/// error of the attempt is thrown instead. Neither is a request that is not idempotent (``NetworkRequest/isIdempotent``)
/// after a redirect (301, 302, 303) that has changed its method to GET, or is its response: it was processed.
public struct RetryPolicy {
  /// The maximum number of retries. Zero or less means none.
  public let maxRetryCount: Int
  /// The delay before each retry, in seconds; with
  /// ``exponentialBackoff(maxRetryCount:baseDelay:maxDelay:jitter:maxRetryAfter:shouldRetry:)`` before the first.
  /// Anything that is not a positive number means no delay.
  public let delay: TimeInterval
  /// A closure that returns whether to retry after an error. It is not called where nothing is repeated regardless of the
  /// policy.
  public let shouldRetry: (Error) -> Bool
  /// The longest delay, in seconds, that a server may request with `Retry-After` (RFC 9110 §10.2.3).
  ///
  /// The field can lengthen the policy's own delay but never shortens it; a longer request is limited to this value.
  /// Defaults to 60; 0 ignores the field.
  public var maxRetryAfter: TimeInterval = RetryPolicy.defaultMaxRetryAfter

  /// Whether a request that is not idempotent (``NetworkRequest/isIdempotent``), such as a POST, is only repeated if the
  /// server has certainly not carried it out (RFC 9110 §9.2.2): it could not connect in time (with `URLSession`, no timeout
  /// counts as that), or the response is 4xx, 503 or a redirect (307, 308) that keeps the method. ``shouldRetry`` is then only
  /// asked about such failures.
  ///
  /// Defaults to `false`; ``transientFailures`` sets it.
  public var repeatsOnlyIfHarmless = false

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
    if error is NonRetriableError || error.isCancellation || RetryQuestion.current?.refusal?.statusCode == 401 {
      return false
    }
    if let error = error as? NetworkError, error == .unauthorized { return false }
    return error.urlErrorCode != .userAuthenticationRequired
  }

  /// Returns whether an error is likely to be transient: 408, 425, 429, 500, 502, 503 and 504; connections that could
  /// not be opened, were lost or timed out; and responses that are not valid HTTP. Of an error that the request's
  /// `errorDecoder` has made, the status of its response decides, unless it is a ``NonRetriableError``, or one of the
  /// library's errors, such as ``PrismNetworkError/badRequest``, which says so itself. The 423 of a resumable upload, which
  /// another of its requests has locked, is transient for the policy of that upload.
  ///
  /// It can be used as a policy's `shouldRetry`. It does not tell whether repeating the request is safe: a POST whose
  /// connection was lost may have been carried out. A policy that ``repeatsOnlyIfHarmless``, such as ``transientFailures``,
  /// does not repeat that.
  public static func isTransient(_ error: Error) -> Bool {
    kind(of: error) == .temporary
  }

  /// Returns what an error that a policy is asked about means for another attempt.
  ///
  /// An error that the request's own decoder has made says what it could read of the response: a `DecodingError` for
  /// the page of a gateway, for example. Only the status says whether the server may accept the request later, unless the
  /// decoder has chosen an error of the library for what it means.
  static func kind(of error: any Error) -> FailureKind {
    let cause = (error as? PrismNetworkFailure)?.underlyingError ?? error
    let question = RetryQuestion.current
    if question?.isOfLockedUpload == true, !(cause is NonRetriableError) { return .temporary }
    guard let refusal = question?.refusal, !(cause is NonRetriableError) else { return FailureKind(error) }
    if cause is any ClassifiedError {
      let kind = FailureKind(cause)
      if kind != .unclear { return kind }
    }
    return FailureKind(status: refusal.statusCode)
  }

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
  ///
  /// A request that is not idempotent (``NetworkRequest/isIdempotent``), such as a POST, is only repeated if the server has
  /// certainly not carried it out (``repeatsOnlyIfHarmless``): it could not connect, or the response is 408, 425, 429 or 503.
  /// After 500, 502, 504, a timeout on an open connection or a lost connection, the error is thrown. With an
  /// `Idempotency-Key` it is repeated like a GET.
  public static var transientFailures: RetryPolicy {
    var policy = exponentialBackoff(shouldRetry: isTransient)
    policy.repeatsOnlyIfHarmless = true
    return policy
  }
}

enum RetryBackoff: Sendable {
  case constant(TimeInterval)
  case exponential(base: TimeInterval, maximum: TimeInterval, jitter: Double)
  /// Closures that decide, by the error and the number of the retry, whether to retry and how long to wait.
  case custom(allows: @Sendable (any Error, Int) -> Bool, delay: @Sendable (any Error, Int) -> Duration)

  /// Returns the delay before a retry, the first of which is number 0.
  ///
  /// - Parameter random: A number from 0 to 1, only requested if there is jitter.
  func delay(beforeRetry number: Int, after error: any Error, random: () -> Double) -> Duration {
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
      return min(max(delay(error, number), .zero), .clamped(seconds: .infinity))
    }
  }
}

extension Double {
  /// The value limited to the range from 0 to 1; NaN becomes 0.
  fileprivate var clampedToUnit: Double {
    self > 0 ? min(self, 1) : 0
  }
}
