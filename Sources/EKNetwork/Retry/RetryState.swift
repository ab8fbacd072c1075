import Foundation

/// Decides, after each attempt, whether a request is sent again.
struct RetryState {
  enum Action {
    /// Wait, then send the request again.
    case retry(after: Duration)
    /// Throw this error.
    case fail(any Error)
  }

  private let policy: RetryPolicy
  private let isAllowed: Bool
  /// The number of retries so far.
  private(set) var retryCount = 0

  /// - Parameter isAllowed: The request's `allowsRetry`.
  init(policy: RetryPolicy, isAllowed: Bool = true) {
    self.policy = policy
    self.isAllowed = isAllowed
  }

  /// Records a failed attempt and returns the action to take.
  ///
  /// - Parameters:
  ///   - error: The error of the attempt.
  ///   - retryAfter: The delay requested by the server.
  ///   - bodyIsReplayable: Whether the body can be sent again, or there is none.
  ///   - wasCancelled: Whether the task was cancelled, whatever the error.
  ///   - random: A number from 0 to 1.
  ///   - refusal: Makes the response of which the request's own decoder has made the error.
  mutating func failed(
    with error: any Error,
    retryAfter: Duration? = nil,
    bodyIsReplayable: Bool = true,
    wasCancelled: Bool = false,
    random: () -> Double = { Double.random(in: 0...1) },
    refusal: () -> HTTPError? = { nil }
  ) -> Action {
    if wasCancelled { return .fail(CancellationError()) }
    guard
      isAllowed, retryCount < policy.maxRetryCount, bodyIsReplayable,
      // Checked before the policy: a closure that retries everything must not revive a cancelled request.
      !error.isCancellation,
      RetryPolicy.$refusal.withValue(refusal(), operation: { allowsRetry(after: error) })
    else { return .fail(error) }

    let own = policy.backoff.delay(beforeRetry: retryCount, random: random)
    let wished = min(retryAfter ?? .zero, .clamped(seconds: policy.maxRetryAfter))
    retryCount += 1
    return .retry(after: max(own, wished))
  }

  private func allowsRetry(after error: any Error) -> Bool {
    if case .custom(let allows, _) = policy.backoff { return allows(error, retryCount) }
    return policy.shouldRetry(error)
  }
}
