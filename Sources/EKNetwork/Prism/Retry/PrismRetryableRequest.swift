import Foundation

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
  /// attempt. The policy finds the cause of an adapter's error in ``PrismNetworkFailure/current``, so that it repeats a
  /// POST only if the server cannot have processed it; one that has succeeded is never repeated. A server's `Retry-After`
  /// lengthens the delay, up to a minute.
  ///
  /// - Returns: The result of the first successful attempt.
  /// - Throws: The error of the last attempt; `CancellationError` at once when the task is cancelled. Neither a
  ///   cancellation, even one that the operation itself throws, nor a ``NonRetriableError``, nor a complete response that
  ///   cannot be decoded is ever retried.
  public func execute() async throws -> T {
    var attempt = 0
    while true {
      try Task.checkCancellation()
      let (result, record) = await PrismNetworkFailure.recorded { try await operation() }
      guard case .failure(let error) = result else { return try result.get() }
      if Task.isCancelled { throw CancellationError() }
      let details = record.details(of: error)
      // An operation of several requests may be repeated if each of them may, which the error alone does not say.
      let isForbidden =
        record.forbidsRepetition || Repeatability(after: details ?? error, isIdempotent: true).isForbidden
      let isAllowed =
        !isForbidden
        && PrismNetworkFailure.$forbidsRepetition.withValue(!record.isHarmlessToRepeat) {
          policy.allowsRetry(after: details ?? error, attempt: attempt)
        }
      guard isAllowed else { throw details?.surfaced ?? error }
      let own = max(policy.delay(for: attempt), .zero)
      let wished = RetryAfter.delay(in: details ?? error, now: Date()) ?? .zero
      try await clock.sleep(for: max(own, min(wished, .seconds(RetryPolicy.defaultMaxRetryAfter))).sleepable)
      attempt = attempt == .max ? attempt : attempt + 1
    }
  }
}
