extension PrismNetworkError {
  /// Whether another attempt may fare better than one that met this error.
  static func mayPass(_ error: any Error) -> Bool {
    if error.isCancellation || error is NonRetriableError { return false }
    return switch error as? PrismNetworkError {
    case .invalidURL, .unauthorized, .forbidden, .badRequest, .noCache: false
    case .noConnectivity, .serverError, .invalidResponse, nil: true
    }
  }
}

extension Duration {
  /// The duration in seconds; fractions of a nanosecond may be lost.
  var inSeconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) * 1e-18
  }
}
