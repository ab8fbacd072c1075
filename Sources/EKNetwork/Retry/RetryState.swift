import Foundation

/// Decides, after each attempt, whether a request is sent again. Everything that has a ``RetryPolicy`` asks here.
struct RetryState {
  private let policy: RetryPolicy
  private let isAllowed: Bool
  private(set) var retryCount = 0

  /// - Parameter isAllowed: The request's `allowsRetry`.
  init(policy: RetryPolicy, isAllowed: Bool = true) {
    self.policy = policy
    self.isAllowed = isAllowed
  }

  /// Records a failed attempt. Returns how long to wait before the request is sent again; `nil` if it is not.
  ///
  /// - Parameters:
  ///   - repeatability: Whether the request may be sent again.
  ///   - bodyIsReplayable: Whether the body can be sent again, or there is none.
  ///   - wasCancelled: Whether the task was cancelled, whatever the error.
  ///   - isOfLockedUpload: Whether the failure is that of an upload which another request of it has locked.
  ///   - refusal: Makes the response of which the request's own decoder has made the error.
  mutating func failed(
    with error: any Error,
    _ repeatability: Repeatability,
    retryAfter: Duration? = nil,
    bodyIsReplayable: Bool = true,
    wasCancelled: Bool = false,
    isOfLockedUpload: Bool = false,
    random: () -> Double = { Double.random(in: 0...1) },
    refusal: () -> HTTPError? = { nil }
  ) -> Duration? {
    guard
      isAllowed, retryCount < policy.maxRetryCount, bodyIsReplayable, !repeatability.isForbidden,
      !policy.repeatsOnlyIfHarmless || repeatability.isHarmless,
      // Checked before the policy: a closure that retries everything must not revive a cancelled request.
      !wasCancelled, !error.isCancellation
    else { return nil }

    let question = RetryQuestion(
      repeatability: repeatability, refusal: refusal(), isOfLockedUpload: isOfLockedUpload)
    let own = RetryQuestion.$current.withValue(question) {
      allowsRetry(after: error) ? policy.backoff.delay(beforeRetry: retryCount, after: error, random: random) : nil
    }
    guard let own else { return nil }
    let wished = min(retryAfter ?? .zero, .clamped(seconds: policy.maxRetryAfter))
    retryCount += 1
    return max(own, wished)
  }

  private func allowsRetry(after error: any Error) -> Bool {
    if case .custom(let allows, _) = policy.backoff { return allows(error, retryCount) }
    return policy.shouldRetry(error)
  }
}

/// The `Retry-After` field (RFC 9110 §10.2.3).
enum RetryAfter {
  /// Returns the delay that a field value asks for; `nil` if it is neither a number of seconds nor a date. Of repeated
  /// lines, which may be joined, equal ones are one; if they differ, there is no delay of the server's to wait for.
  ///
  /// - Parameter now: The time that determines the century of a two-digit year.
  static func delay(_ value: String, now: Date) -> Duration? {
    let text = SingletonField.value(ofJoined: value)[...].trimmingBlanks()
    if let seconds = DeltaSeconds.parse(text) { return .seconds(seconds) }
    return HTTPDate.parse(String(text), now: now).map { .clamped(seconds: $0.timeIntervalSince(now)) }
  }

  /// Returns the delay requested by the server in this error's response, or by middleware that refused the request;
  /// `nil` if there is none.
  static func delay(in error: any Error, now: Date) -> Duration? {
    if let error = error as? TokenError { return delay(in: error.cause, now: now) }
    if case .refused(let delay) = FailureKind(error) { return delay }
    return (error as? any ClassifiedError)?.responseHeaders?.field("Retry-After").flatMap { delay($0, now: now) }
  }
}
