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

/// Which request types are known to decode by the library's own `decodeResponse(data:response:)`.
///
/// That one needs no `URLResponse` as long as there is a body, and making one costs a quarter of everything else that a
/// small request needs. Whether a type has an implementation of its own cannot be asked; but the default can note that
/// it was called, which it is only as the witness of its type.
enum DefaultDecoding {
  private static let types = Locked<Set<ObjectIdentifier>>([])

  static func isUsed<T: NetworkRequest>(by type: T.Type) -> Bool {
    types.withLock { $0.contains(ObjectIdentifier(type)) }
  }

  static func note<T: NetworkRequest>(_ type: T.Type) {
    types.withLock { _ = $0.insert(ObjectIdentifier(type)) }
  }
}
