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
