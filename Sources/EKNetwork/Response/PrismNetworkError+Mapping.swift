import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension PrismNetworkError {
  /// What a status outside 2xx means.
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

  /// What the code of a failed transport means.
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
