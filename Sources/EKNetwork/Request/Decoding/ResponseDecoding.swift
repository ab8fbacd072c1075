import Foundation

enum ResponseDecoding {
  /// Returns whether the response type has nothing of the body in it.
  static func ignoresContent<T: NetworkRequest>(_ type: T.Type) -> Bool {
    T.Response.self == EmptyResponse.self || T.Response.self == StatusCodeResponse.self
  }

  /// Returns a closure that makes the value of a response without a body, for a type that needs none.
  static func emptyResponseHandler<Value>(for type: Value.Type) -> ((HTTPURLResponse) throws -> Value)? {
    if type == EmptyResponse.self { return { _ in try value(EmptyResponse()) } }
    if type == StatusCodeResponse.self { return { try value(StatusCodeResponse($0)) } }
    return nil
  }

  private static func value<Value>(_ value: some Any) throws -> Value {
    guard let value = value as? Value else { throw NetworkError.emptyResponse }
    return value
  }

  static func decode<T: NetworkRequest>(
    _ request: T, data: Data, response: @autoclosure () -> URLResponse, decoder: JSONDecoder?
  ) throws -> T.Response {
    guard needsDecoder(T.Response.self, data) else {
      return try undecoded(request, data: data, response: response, decoder: decoder)
    }
    do {
      return try (decoder ?? request.jsonDecoder).decode(T.Response.self, from: data)
    } catch let error as DecodingError {
      throw describe(error, of: request, data, response())
    }
  }

  /// Returns the error for the user, which says what it is about.
  static func describe<T: NetworkRequest>(
    _ error: DecodingError, of request: T, _ data: Data, _ response: URLResponse
  ) -> DecodingError {
    (response as? HTTPURLResponse).map { error.about($0, data: data, method: request.methodName) } ?? error
  }

  static func needsDecoder(_ type: Any.Type, _ data: Data) -> Bool {
    !data.isEmpty && !isResponse(type, EmptyResponse.self) && !isResponse(type, StatusCodeResponse.self)
      && !isResponse(type, Data.self)
  }

  /// Not inlined: a function that uses the optional of a generic type looks that type up whenever it is called.
  @inline(never)
  private static func undecoded<T: NetworkRequest>(
    _ request: T, data: Data, response: () -> URLResponse, decoder: JSONDecoder?
  ) throws -> T.Response {
    if data.isEmpty, let handler = request.emptyResponseHandler, let http = response() as? HTTPURLResponse {
      return try handler(http)
    }
    if isResponse(T.Response.self, EmptyResponse.self), let value = EmptyResponse() as? T.Response { return value }
    if isResponse(T.Response.self, StatusCodeResponse.self), let http = response() as? HTTPURLResponse,
      let value = StatusCodeResponse(http) as? T.Response
    {
      return value
    }
    if data.isEmpty {
      throw request.emptyResponseHandler == nil ? NetworkError.emptyResponse : NetworkError.invalidResponse
    }
    // A response type of `Data` is not decoded as JSON.
    if isResponse(T.Response.self, Data.self), let value = data as? T.Response { return value }
    return try (decoder ?? request.jsonDecoder).decode(T.Response.self, from: data)
  }

  /// Whether a response type is another type or its optional. Comparing types is much cheaper than a cast.
  private static func isResponse<Other>(_ type: Any.Type, _ other: Other.Type) -> Bool {
    type == other || type == Other?.self
  }
}

/// The request types that are known to use the default `decodeResponse(data:response:)`.
///
/// The default needs no `URLResponse` if there is a body, and creating one costs a quarter of the rest of a small
/// request. And it needs nothing else of the request, so that another thread can decode. Whether a type has its own
/// implementation cannot be queried, but the default can record that it was called, which happens only if it is the
/// type's witness.
enum DefaultDecoding {
  /// What the default throws instead of decoding, if it is called to find out whether it is.
  struct IsUsed: Error {
    let decoder: JSONDecoder
  }

  private static let types = Locked<Set<ObjectIdentifier>>([])
  @TaskLocal private static var asked: ObjectIdentifier?

  static func isUsed<T: NetworkRequest>(by type: T.Type) -> Bool {
    types.withLock { $0.contains(ObjectIdentifier(type)) }
  }

  /// Calls a function that decodes with a request's own `decodeResponse(data:response:)`, or throws ``IsUsed``.
  static func asking<T: NetworkRequest, Value>(_ type: T.Type, _ decode: () throws -> Value) throws -> Value {
    try $asked.withValue(ObjectIdentifier(type), operation: decode)
  }

  /// The default's own call, for a response that has to be decoded unless `data` is empty.
  static func note<T: NetworkRequest>(_ request: T, _ data: Data) throws {
    types.withLock { _ = $0.insert(ObjectIdentifier(T.self)) }
    if asked == ObjectIdentifier(T.self), ResponseDecoding.needsDecoder(T.Response.self, data) {
      throw IsUsed(decoder: request.jsonDecoder)
    }
  }
}
