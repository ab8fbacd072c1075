import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Makes the error for a response outside 2xx.
enum ResponseValidation {
  /// Returns the request's own error, if it can make one from the response; otherwise ``NetworkError/unauthorized`` for 401
  /// and ``HTTPError`` for everything else.
  static func error<T: NetworkRequest>(of response: CollectedResponse, to request: T) -> any Error {
    if let decoder = request.responseErrorDecoder, let error = decoder(NetworkResponse(response)) { return error }
    if let error = request.errorDecoder?(response.data) { return error }
    guard let error = httpError(of: response, method: request.methodName) else { return NetworkError.invalidResponse }
    return error.statusCode == 401 ? NetworkError.unauthorized : error
  }

  /// Returns the error for a response, whatever the request makes of it; `nil` if the response is not HTTP.
  static func httpError(of response: CollectedResponse, method: String?) -> HTTPError? {
    (response.head.urlResponse as? HTTPURLResponse).map { HTTPError($0, data: response.data, method: method) }
  }
}
