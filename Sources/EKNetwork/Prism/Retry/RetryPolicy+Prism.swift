import Foundation

extension RetryPolicy {
  /// Creates the policy of a ``NetworkRequest`` from a ``PrismRetryPolicy``.
  ///
  /// The policy is called with errors as an adapter would call it: a `URLError`, an ``HTTPError`` and
  /// ``NetworkError/unauthorized`` are passed as the corresponding ``PrismNetworkError``, with their details in
  /// ``PrismNetworkFailure/current``; an error from the request's `errorDecoder` is passed unchanged, with the status, the
  /// header fields and the body of its response there.
  ///
  /// - Parameters:
  ///   - policy: The policy that decides whether and when. A delay of more than a year is shortened to a year.
  ///   - maxRetryAfter: The longest `Retry-After` that is honoured, in seconds. Defaults to 60.
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
  /// Returns the policy's decision about any error of the library.
  func allowsRetry(after error: any Error, attempt: Int) -> Bool {
    let failure: PrismNetworkFailure
    switch error {
    case let error as PrismNetworkFailure: failure = error
    case is HTTPError, is NetworkError, is URLError: failure = PrismNetworkFailure(causedBy: error, url: nil)
    default:
      if error is NonRetriableError { return false }
      guard let refusal = RetryPolicy.refusal else { return shouldRetry(for: error, attempt: attempt) }
      // The request's own error: its response goes along with it.
      let failure = PrismNetworkFailure(
        error as? PrismNetworkError ?? PrismNetworkError(status: refusal.statusCode), because: error,
        statusCode: refusal.statusCode, headers: refusal.headers, data: refusal.data)
      return PrismNetworkFailure.$taskLocalFailure.withValue(failure) { shouldRetry(for: error, attempt: attempt) }
    }
    if failure.underlyingError is NonRetriableError { return false }
    return PrismNetworkFailure.$taskLocalFailure.withValue(failure) {
      shouldRetry(for: failure.error, attempt: attempt)
    }
  }
}
