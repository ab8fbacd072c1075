/// An operation that is repeated as a ``PrismRetryPolicy`` says.
///
/// ```swift
/// let request = PrismRetryableRequest(policy: PrismExponentialBackoff()) {
///   try await client.request(on: ListUsersRequest())
/// }
/// let users = try await request.execute()
/// ```
public struct PrismRetryableRequest<T: Sendable>: Sendable {
  private let policy: any PrismRetryPolicy
  private let operation: @Sendable () async throws -> T
  private let clock: any Clock<Duration>

  /// A request that has not been sent.
  ///
  /// - Parameters:
  ///   - policy: Decides whether and when the operation is repeated.
  ///   - operation: What to do, once for each attempt. It should not retry by itself.
  public init(policy: any PrismRetryPolicy, operation: @escaping @Sendable () async throws -> T) {
    self.init(policy: policy, clock: ContinuousClock(), operation: operation)
  }

  init(policy: any PrismRetryPolicy, clock: any Clock<Duration>, operation: @escaping @Sendable () async throws -> T) {
    self.policy = policy
    self.clock = clock
    self.operation = operation
  }

  /// Runs the operation until it succeeds or the policy has had enough. Each call starts from the first attempt.
  ///
  /// - Returns: What the first successful attempt returned.
  /// - Throws: The error of the last attempt. `CancellationError` at once when the task is cancelled: neither that nor a
  ///   cancellation that the operation itself throws is ever retried, and no ``NonRetriableError`` is.
  public func execute() async throws -> T {
    var attempt = 0
    while true {
      try Task.checkCancellation()
      do {
        return try await operation()
      } catch {
        if Task.isCancelled { throw CancellationError() }
        guard !error.isCancellation, policy.allowsRetry(after: error, attempt: attempt) else { throw error }
        try await clock.sleep(for: max(policy.delay(for: attempt), .zero).sleepable)
      }
      attempt = attempt == .max ? attempt : attempt + 1
    }
  }
}
