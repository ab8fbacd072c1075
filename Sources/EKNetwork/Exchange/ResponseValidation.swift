import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Makes the error for a response outside 2xx.
enum ResponseValidation {
  /// Returns the request's own error, if it can make one from the body; otherwise ``NetworkError/unauthorized`` for 401
  /// and ``HTTPError`` for everything else.
  static func error(of response: CollectedResponse, errorDecoder: ((Data) -> Error?)?) -> any Error {
    if let error = errorDecoder?(response.data) { return error }
    guard let http = response.head.urlResponse as? HTTPURLResponse else { return NetworkError.invalidResponse }
    if http.statusCode == 401 { return NetworkError.unauthorized }
    return HTTPError(statusCode: http.statusCode, data: response.data, headers: http.headerDictionary)
  }
}
