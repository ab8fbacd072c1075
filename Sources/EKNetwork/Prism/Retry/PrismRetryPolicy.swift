/// Decides whether a failed request is sent again, and when.
///
/// Give one to a ``PrismNetworkAdapter``, or, as `RetryPolicy(policy)`, to a ``NetworkRequest``. Whatever it says,
/// nothing is repeated after a cancellation, nor with a body that cannot be sent twice, and a server's `Retry-After`
/// lengthens the delay (up to a minute). ``PrismNetworkFailure/current`` has the details of what it is asked about.
public protocol PrismRetryPolicy: Sendable {
  /// Whether to send the request again. `attempt` counts the retries before, from 0.
  func shouldRetry(for error: Error, attempt: Int) -> Bool
  /// How long to wait before the retry of that number, the first of which is 0.
  func delay(for attempt: Int) -> Duration
}
