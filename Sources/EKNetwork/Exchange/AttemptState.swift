import Foundation

/// What becomes of one request, attempt by attempt: one token refresh at most, and as many retries as its policy grants.
struct AttemptState {
  enum Action {
    /// The response is a success.
    case deliver
    /// Get a new token, then send the request again.
    case refreshToken
    /// Wait, then send the request again.
    case retry(after: Duration, because: any Error)
    case fail(any Error)
  }

  private var retries: RetryState
  private let canRefresh: Bool
  private var hasRefreshed = false

  /// - Parameters:
  ///   - policy: The request's retry policy.
  ///   - allowsRetry: The request's `allowsRetry`, which counts for the refresh as well.
  ///   - hasRefresher: Whether the manager has a token refresher.
  init(policy: RetryPolicy, allowsRetry: Bool, hasRefresher: Bool) {
    retries = RetryState(policy: policy, isAllowed: allowsRetry)
    canRefresh = allowsRetry && hasRefresher
  }

  /// How many retries were granted.
  var retryCount: Int { retries.retryCount }

  /// The server has responded. `error` makes the error of a response that is not a success.
  mutating func received(
    status: Int, isFromOtherOrigin: Bool = false, bodyIsReplayable: Bool, retryAfter: @autoclosure () -> Duration?,
    random: () -> Double, error: () -> any Error
  ) -> Action {
    if (200..<300).contains(status) { return .deliver }
    // RFC 9110 §15.5.2: the credentials were refused, unless it is an origin that has not got them. A stream that is half
    // read could only be sent wrongly.
    if status == 401, !isFromOtherOrigin, canRefresh, !hasRefreshed, bodyIsReplayable {
      hasRefreshed = true
      return .refreshToken
    }
    return failed(
      with: error(), bodyIsReplayable: bodyIsReplayable, wasCancelled: false, retryAfter: retryAfter(), random: random)
  }

  /// The attempt ended without a response, or with one that is an error.
  mutating func failed(
    with error: any Error, bodyIsReplayable: Bool, wasCancelled: Bool, retryAfter: Duration?, random: () -> Double
  ) -> Action {
    let action = retries.failed(
      with: error, retryAfter: retryAfter, bodyIsReplayable: bodyIsReplayable, wasCancelled: wasCancelled,
      random: random)
    switch action {
    case .retry(let delay): return .retry(after: delay, because: error)
    case .fail(let final): return .fail(final)
    }
  }
}
