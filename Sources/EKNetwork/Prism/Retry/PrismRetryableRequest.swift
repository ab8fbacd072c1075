/// An operation that is retried according to a ``PrismRetryPolicy``.
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
  /// attempt.
  ///
  /// - Returns: The result of the first successful attempt.
  /// - Throws: The error of the last attempt; `CancellationError` at once when the task is cancelled. Neither a
  ///   cancellation, even one that the operation itself throws, nor a ``NonRetriableError`` is ever retried.
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
