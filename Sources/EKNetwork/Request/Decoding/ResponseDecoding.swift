import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// From the bytes of a successful response to the request's response type.
enum ResponseDecoding {
  /// Decodes with `decoder`, or with the request's own where it is `nil`.
  ///
  /// `EmptyResponse` and `StatusCodeResponse` are recognised here and not only through the constrained extensions of
  /// `NetworkRequest`: those are not picked for a generic request type (`struct Plain<R: Decodable>: NetworkRequest`).
  static func decode<T: NetworkRequest>(
    _ request: T, data: Data, response: @autoclosure () -> URLResponse, decoder: JSONDecoder?
  ) throws -> T.Response {
    if data.isEmpty, let handler = request.emptyResponseHandler, let http = response() as? HTTPURLResponse {
      return try handler(http)
    }
    if T.Response.self == EmptyResponse.self, let value = EmptyResponse() as? T.Response {
      return value
    }
    if T.Response.self == StatusCodeResponse.self, let http = response() as? HTTPURLResponse,
      let value = StatusCodeResponse(http) as? T.Response
    {
      return value
    }
    if data.isEmpty {
      throw request.emptyResponseHandler == nil ? NetworkError.emptyResponse : NetworkError.invalidResponse
    }
    // Bytes that are wanted as such are not JSON.
    if T.Response.self == Data.self, let value = data as? T.Response { return value }
    return try (decoder ?? request.jsonDecoder).decode(T.Response.self, from: data)
  }
}
