import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension PrismNetworkError {
  /// Creates the error for a status code outside 2xx.
  init(status: Int) {
    self =
      switch status {
      case 400: .badRequest
      case 401: .unauthorized
      case 403: .forbidden
      case 408, 429, 500...599: .serverError
      default: .invalidResponse
      }
  }

  /// Creates the error for the code of a transport failure.
  init(code: URLError.Code) {
    self =
      switch code {
      case .badURL, .unsupportedURL: .invalidURL
      case .notConnectedToInternet, .networkConnectionLost, .cannotFindHost, .cannotConnectToHost, .dnsLookupFailed,
        .timedOut, .internationalRoamingOff, .callIsActive, .dataNotAllowed:
        .noConnectivity
      default: .invalidResponse
      }
  }
}
