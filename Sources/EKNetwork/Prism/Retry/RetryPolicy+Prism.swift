import Foundation

extension RetryPolicy {
  /// The policy of a ``NetworkRequest`` that a ``PrismRetryPolicy`` decides.
  ///
  /// It is asked about failures as an adapter asks it: a `URLError`, an ``HTTPError`` and ``NetworkError/unauthorized``
  /// come as the ``PrismNetworkError`` that they mean, with their details in ``PrismNetworkFailure/current``; an error
  /// that the request's `errorDecoder` made comes as it is.
  ///
  /// - Parameters:
  ///   - policy: Decides whether and when. A delay of more than a year is a year.
  ///   - maxRetryAfter: The longest `Retry-After` that is granted, in seconds. Defaults to 60.
  public init(_ policy: any PrismRetryPolicy, maxRetryAfter: TimeInterval = RetryPolicy.defaultMaxRetryAfter) {
    self.init(
      maxRetryCount: .max, delay: policy.delay(for: 0).timeInterval,
      backoff: .custom(
        allows: { policy.allowsRetry(after: $0, attempt: $1) }, delay: { policy.delay(for: $0) }),
      shouldRetry: { policy.allowsRetry(after: $0, attempt: 0) })
    self.maxRetryAfter = maxRetryAfter
  }
}

extension PrismRetryPolicy {
  /// Asks the policy about any error of the library.
  func allowsRetry(after error: any Error, attempt: Int) -> Bool {
    let failure: PrismNetworkFailure
    switch error {
    case let error as PrismNetworkFailure: failure = error
    case is HTTPError, is NetworkError, is URLError: failure = PrismNetworkFailure(error, url: nil)
    default:
      if error is NonRetriableError { return false }
      return shouldRetry(for: error, attempt: attempt)
    }
    return PrismNetworkFailure.$asked.withValue(failure) { shouldRetry(for: failure.error, attempt: attempt) }
  }
}
