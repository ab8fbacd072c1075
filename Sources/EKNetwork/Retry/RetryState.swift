import Foundation

/// Decides, attempt by attempt, whether a request is sent again.
struct RetryState {
  enum Action {
    /// Wait, then send the request again.
    case retry(after: Duration)
    /// Throw this error.
    case fail(any Error)
  }

  private let policy: RetryPolicy
  private let isAllowed: Bool
  /// How many retries were granted.
  private(set) var retryCount = 0

  /// - Parameter isAllowed: The request's `allowsRetry`.
  init(policy: RetryPolicy, isAllowed: Bool = true) {
    self.policy = policy
    self.isAllowed = isAllowed
  }

  /// An attempt failed.
  ///
  /// - Parameters:
  ///   - error: Why.
  ///   - retryAfter: What the server asked for.
  ///   - bodyIsReplayable: Whether the body can be sent a second time (there being none included).
  ///   - wasCancelled: Whether the task was cancelled, whatever the error looks like.
  ///   - random: A number from 0 to 1.
  mutating func failed(
    with error: any Error,
    retryAfter: Duration? = nil,
    bodyIsReplayable: Bool = true,
    wasCancelled: Bool = false,
    random: () -> Double = { Double.random(in: 0...1) }
  ) -> Action {
    if wasCancelled { return .fail(CancellationError()) }
    guard
      isAllowed, retryCount < policy.maxRetryCount, bodyIsReplayable,
      // Asked before the policy: a closure that retries everything must not bring a cancelled request back.
      !error.isCancellation, allowsRetry(after: error)
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
