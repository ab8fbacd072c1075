import Foundation

/// The reasons why a request through a ``PrismNetworkClient`` failed.
///
/// The cause (the status, the body, the underlying error) is in ``PrismNetworkFailure``. A cancelled request throws
/// `CancellationError` instead.
public enum PrismNetworkError: LocalizedError, CustomStringConvertible, Equatable, Hashable, CaseIterable, Sendable {
  /// The endpoint's components do not form a URL, or not one that can be loaded.
  case invalidURL
  /// There is no connection, it was lost, or the host was not found or did not respond in time.
  case noConnectivity
  /// 401: the server does not accept the credentials.
  case unauthorized
  /// 403: the server refuses the request.
  case forbidden
  /// 400, or a request that cannot be sent: a forbidden header field, a body that cannot be encoded.
  case badRequest
  /// 408, 429 or 5xx: the server is temporarily unable to respond.
  case serverError
  /// Any other status outside 2xx, a response that cannot be decoded, an incomplete exchange, or an error of middleware.
  case invalidResponse
  /// Nothing is stored for the request.
  case noCache

  /// A description of the error, the same as its `localizedDescription`.
  public var description: String {
    switch self {
    case .invalidURL: "The URL is not valid."
    case .noConnectivity: "The server cannot be reached, or the connection was lost."
    case .unauthorized: "Authentication is required."
    case .forbidden: "Access is denied."
    case .badRequest: "The request is not valid."
    case .serverError: "The server failed."
    case .invalidResponse: "The response is not valid."
    case .noCache: "There is no stored response."
    }
  }

  /// A description of the error.
  public var errorDescription: String? { description }

  /// The reason for the error.
  public var failureReason: String? {
    switch self {
    case .invalidURL: "Scheme, host, port, path and query do not make a URL that can be loaded."
    case .noConnectivity: "There is no connection, it was lost, or the host was not found or did not respond in time."
    case .unauthorized: "The server did not accept the credentials of the request, or it had none."
    case .forbidden: "The server understood the request and refuses it."
    case .badRequest: "The server rejected the request as invalid, or it could not be built."
    case .serverError: "The server is overloaded, restarting or failing."
    case .invalidResponse: "The response has an unexpected status, cannot be decoded or is incomplete."
    case .noCache: "Nothing was stored for this request, or it was removed."
    }
  }

  /// A suggestion for recovery.
  public var recoverySuggestion: String? {
    switch self {
    case .invalidURL: "Check the host, the path and the query items of the endpoint."
    case .noConnectivity: "Check the network connection and try again."
    case .unauthorized: "Sign in again."
    case .forbidden: "Ask for access, or use another account."
    case .badRequest: "Check the parameters, headers and body of the request."
    case .serverError: "Try again later."
    case .invalidResponse: "Check that the app and the server agree on the format, or try again later."
    case .noCache: "Load the data from the network."
    }
  }

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
