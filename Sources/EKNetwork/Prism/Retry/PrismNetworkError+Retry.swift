extension PrismNetworkError {
  /// Returns whether another attempt may succeed where one failed with this error, and does no harm.
  static func isTransient(_ error: any Error) -> Bool {
    if error.isCancellation || error is NonRetriableError || error is DecodingError { return false }
    if PrismNetworkFailure.forbidsRepetition { return false }
    let details = PrismNetworkFailure.current.flatMap { $0.error == error as? PrismNetworkError ? $0 : nil }
    if let details, !details.isHarmlessToRepeat { return false }
    // The server has processed the request: the response could not be decoded.
    if let status = details?.statusCode, (200..<300).contains(status) { return false }
    switch error as? PrismNetworkError {
    case .invalidURL, .unauthorized, .forbidden, .badRequest, .noCache: return false
    // 404, 409, 422 and a body that cannot be decoded will be the same next time.
    case .invalidResponse: return details?.underlyingError.map { RetryPolicy.isTransient($0) } ?? false
    case .noConnectivity, .serverError, nil: return true
    }
  }
}
