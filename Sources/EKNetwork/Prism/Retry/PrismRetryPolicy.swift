import Foundation

/// A policy that decides whether a failed request is sent again, and when.
///
/// Pass one to a ``PrismNetworkAdapter``, or, as `RetryPolicy(policy)`, to a ``NetworkRequest``. Regardless of the
/// policy, nothing is retried after a cancellation, nor with a body that cannot be sent twice, and a server's
/// `Retry-After` lengthens the delay (up to a minute). ``PrismNetworkFailure/current`` has the details of the error
/// while the policy is called.
public protocol PrismRetryPolicy: Sendable {
  /// Returns whether to send the request again. `attempt` is the number of retries so far, starting at 0.
  func shouldRetry(for error: Error, attempt: Int) -> Bool
  /// Returns the delay before a retry, the first of which is number 0.
  func delay(for attempt: Int) -> Duration
}

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

  /// Returns whether fewer than ``maxAttempts`` retries were made and the error is one to retry after: see
  /// ``PrismExponentialBackoff/shouldRetry(for:attempt:)``.
  public func shouldRetry(for error: Error, attempt: Int) -> Bool {
    attempt < maxAttempts && PrismNetworkError.isTransient(error)
  }

  /// Returns ``fixedDelay`` for every attempt.
  public func delay(for attempt: Int) -> Duration { fixedDelay }
}

/// A retry policy that doubles the delay each time, and adds a little jitter, so that clients that failed together do
/// not retry together.
///
/// The delay is `min(baseDelay × 2^attempt + jitter, maxDelay)`, the jitter between 0 and 0.5 seconds.
public struct PrismExponentialBackoff: PrismRetryPolicy {
  /// The delay before the first retry, without jitter. Defaults to one second.
  public let baseDelay: Duration
  /// The longest delay, jitter included. Defaults to 30 seconds.
  public let maxDelay: Duration
  /// The maximum number of retries. Defaults to 3.
  public let maxAttempts: Int

  /// Returns a number from 0 to 1.
  let random: @Sendable () -> Double

  /// Creates a policy; negative values count as zero.
  public init(baseDelay: Duration = .seconds(1), maxDelay: Duration = .seconds(30), maxAttempts: Int = 3) {
    self.init(
      baseDelay: baseDelay, maxDelay: maxDelay, maxAttempts: maxAttempts, random: { Double.random(in: 0...1) })
  }

  init(baseDelay: Duration, maxDelay: Duration, maxAttempts: Int, random: @escaping @Sendable () -> Double) {
    self.baseDelay = max(baseDelay, .zero)
    self.maxDelay = max(maxDelay, .zero)
    self.maxAttempts = max(maxAttempts, 0)
    self.random = random
  }

  /// Returns whether fewer than ``maxAttempts`` retries were made and the error is transient: no connection, 408, 425,
  /// 429, 5xx other than 501 and 505, or a response that is not valid HTTP; or an error that is not one of the library or
  /// of Foundation's URL loading, unless it is a ``NonRetriableError``. Other errors are not retried.
  ///
  /// A request of an adapter whose method is not idempotent (RFC 9110 §9.2.2), and which has no `Idempotency-Key`, is
  /// repeated only if it cannot have been processed: there was no connection, or the server responded with 408, 425,
  /// 429 or 503, without a redirect before that changed the method to GET.
  public func shouldRetry(for error: Error, attempt: Int) -> Bool {
    attempt < maxAttempts && PrismNetworkError.isTransient(error)
  }

  /// Returns the delay according to the formula.
  public func delay(for attempt: Int) -> Duration {
    // Floating point does not overflow: a result that is too large is infinite, and longer than the longest delay.
    // 2¹⁰²³ is the largest finite power of two: 0 × ∞ would be NaN.
    let doublings = Double(min(max(attempt, 0), 1023))
    let full = baseDelay.timeInterval * exp2(doublings) + 0.5 * min(max(random(), 0), 1)
    return full < maxDelay.timeInterval ? min(.seconds(full), maxDelay) : maxDelay
  }
}

extension PrismNetworkError {
  /// Returns whether another attempt may succeed where one failed with this error, and does no harm.
  static func isTransient(_ error: any Error) -> Bool {
    if PrismNetworkFailure.operationIsHarmless == false { return false }
    let failure = PrismNetworkFailure.details(of: error)
    if failure?.repeatability?.isHarmless == false { return false }
    return switch RetryPolicy.kind(of: failure ?? error) {
    case .temporary, .serverError: true
    case .unclear: failure == nil && isForeign(error) && RetryQuestion.current?.repeatability.isHarmless != false
    // 404, 409, 422 and a body that cannot be decoded will be the same next time.
    case .refused, .unauthorized, .permanent, .completed, .cancelled: false
    }
  }
}

extension PrismNetworkError {
  /// Whether an error is one of an operation's own, which says what it knows by being a ``NonRetriableError`` or not.
  private static func isForeign(_ error: any Error) -> Bool {
    !(error is any ClassifiedError) && error.urlErrorCode == nil
  }
}

extension PrismNetworkFailure {
  /// Whether another attempt certainly does no harm: the request is idempotent (RFC 9110 §9.2.2), or the server has not
  /// carried it out, because it could not be connected to, or has refused the request (4xx, 503). It does not say whether
  /// another attempt may succeed.
  ///
  /// Of ``current`` it is about all requests of the operation that a ``PrismRetryableRequest`` repeats. If neither the method nor an
  /// `Idempotency-Key` is known, as of a failure made for a test, the request counts as not idempotent.
  public var isHarmlessToRepeat: Bool {
    if let isHarmless = Self.operationIsHarmless { return isHarmless }
    let known = repeatability ?? RetryQuestion.current?.repeatability
    let isIdempotent = method.flatMap { HTTPMethod(rawValue: $0) }?.isIdempotent == true
    return (known ?? Repeatability(after: self, isIdempotent: isIdempotent)).isHarmless
  }

  /// Returns the details of an error that a policy is asked about.
  fileprivate static func details(of error: any Error) -> PrismNetworkFailure? {
    if let failure = error as? PrismNetworkFailure { return failure }
    guard let current, error as? PrismNetworkError ?? current.error == current.error else { return nil }
    return current
  }
}

extension RetryPolicy {
  /// Creates the policy of a ``NetworkRequest`` from a ``PrismRetryPolicy``.
  ///
  /// The policy is called with errors as an adapter would call it: a `URLError`, an ``HTTPError`` and
  /// ``NetworkError/unauthorized`` are passed as the corresponding ``PrismNetworkError``, with their details in
  /// ``PrismNetworkFailure/current``; an error from the request's `errorDecoder` is passed unchanged, with the status, the
  /// header fields and the body of its response there.
  ///
  /// - Parameters:
  ///   - policy: The policy that decides whether and when. A delay of more than a year is shortened to a year.
  ///   - maxRetryAfter: The longest `Retry-After` that is honoured, in seconds. Defaults to 60.
  public init(_ policy: any PrismRetryPolicy, maxRetryAfter: TimeInterval = RetryPolicy.defaultMaxRetryAfter) {
    self.init(asking: policy, delay: policy.delay(for: 0).timeInterval)
    self.maxRetryAfter = maxRetryAfter
  }

  /// Creates a policy that calls the other one only after a failure. ``delay`` is for readers of the policy, and is not
  /// waited for.
  init(asking policy: any PrismRetryPolicy, delay: TimeInterval = 0) {
    self.init(
      maxRetryCount: .max, delay: delay,
      backoff: .custom(
        allows: { policy.allowsRetry(after: $0, attempt: $1) }, delay: { policy.delay(after: $0, attempt: $1) }),
      shouldRetry: { policy.allowsRetry(after: $0, attempt: 0) })
  }
}

extension PrismRetryPolicy {
  /// Returns the policy's decision about any error of the library.
  func allowsRetry(after error: any Error, attempt: Int) -> Bool {
    let cause = (error as? PrismNetworkFailure)?.underlyingError ?? error
    if cause is NonRetriableError { return false }
    return PrismNetworkFailure.passing(error) { shouldRetry(for: $0, attempt: attempt) }
  }

  /// Returns the policy's delay before a retry after any error of the library.
  func delay(after error: any Error, attempt: Int) -> Duration {
    PrismNetworkFailure.passing(error) { _ in delay(for: attempt) }
  }
}

extension PrismNetworkFailure {
  /// Calls a method of a policy with an error as the policy sees it, whose details are in ``current`` meanwhile.
  fileprivate static func passing<Result>(_ error: any Error, to method: (any Error) -> Result) -> Result {
    switch error {
    case let failure as PrismNetworkFailure:
      return $taskLocalFailure.withValue(failure) { method(failure.error) }
    // With a response, the request's own decoder has made the `URLError`.
    case is URLError where RetryQuestion.current?.refusal == nil, is HTTPError, is NetworkError:
      let failure = PrismNetworkFailure(causedBy: error, url: nil)
      return $taskLocalFailure.withValue(failure) { method(failure.error) }
    default:
      guard let refusal = RetryQuestion.current?.refusal else { return method(error) }
      // The request's own error: its response goes along with it.
      let failure = PrismNetworkFailure(
        error as? PrismNetworkError ?? PrismNetworkError(status: refusal.statusCode), because: error,
        statusCode: refusal.statusCode, headers: refusal.headers, data: refusal.data)
      return $taskLocalFailure.withValue(failure) { method(error) }
    }
  }
}

/// An operation that is retried according to a ``PrismRetryPolicy``.
///
/// ```swift
/// let request = PrismRetryableRequest(policy: PrismExponentialBackoff()) {
///   try await client.request(on: ListUsersRequest())
/// }
/// let users = try await request.execute()
/// ```
public struct PrismRetryableRequest<T: Sendable>: Sendable {
  /// The policy that decides whether and when the operation is retried.
  public let policy: any PrismRetryPolicy
  /// The operation, run once for each attempt.
  public let operation: @Sendable () async throws -> T
  private let clock: any Clock<Duration>

  /// Creates a request, without running its operation.
  ///
  /// - Parameters:
  ///   - policy: The policy that decides whether and when the operation is retried.
  ///   - operation: The operation, run once for each attempt. It should not retry by itself.
  public init(policy: any PrismRetryPolicy, operation: @escaping @Sendable () async throws -> T) {
    self.init(policy: policy, clock: ContinuousClock(), operation: operation)
  }

  init(policy: any PrismRetryPolicy, clock: any Clock<Duration>, operation: @escaping @Sendable () async throws -> T) {
    self.policy = policy
    self.clock = clock
    self.operation = operation
  }

  /// Runs the operation until it succeeds or the policy allows no further retry. Each call starts from the first
  /// attempt. The policy finds the cause of the error in ``PrismNetworkFailure/current``. The built-in policies repeat an operation
  /// with a POST, of an adapter or a ``NetworkManager``, only if the server cannot have processed it
  /// (``PrismNetworkFailure/isHarmlessToRepeat``); one that has succeeded is never repeated. A server's `Retry-After` lengthens
  /// the delay, up to a minute.
  ///
  /// - Returns: The result of the first successful attempt.
  /// - Throws: The error of the last attempt; `CancellationError` at once when the task is cancelled. Neither a
  ///   cancellation, even one that the operation itself throws, nor a ``NonRetriableError``, nor a complete response that
  ///   cannot be decoded is ever retried.
  public func execute() async throws -> T {
    var attempt = 0
    while true {
      try Task.checkCancellation()
      let recorded = await PrismNetworkFailure.recorded { try await operation() }
      guard case .failure(let error) = recorded.result else { return try recorded.result.get() }
      let record = recorded.record
      if Task.isCancelled { throw CancellationError() }
      let details = record.details(of: error)
      // An operation of several requests may be repeated if each of them may, which the error alone does not say.
      let isForbidden =
        record.forbidsRepetition || Repeatability(after: details ?? error, isIdempotent: true).isForbidden
      let isAllowed =
        !isForbidden
        && PrismNetworkFailure.$operationIsHarmless.withValue(record.hasEnds ? record.isHarmlessToRepeat : nil) {
          policy.allowsRetry(after: details ?? error, attempt: attempt)
        }
      guard isAllowed else { throw details?.surfaced ?? error }
      let own = max(policy.delay(after: details ?? error, attempt: attempt), .zero)
      let wished = RetryAfter.delay(in: details ?? error, now: Date()) ?? .zero
      try await clock.sleep(for: max(own, min(wished, .seconds(RetryPolicy.defaultMaxRetryAfter))).sleepable)
      attempt = attempt == .max ? attempt : attempt + 1
    }
  }
}
