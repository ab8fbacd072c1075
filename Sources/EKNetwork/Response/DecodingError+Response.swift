import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension DecodingError {
  /// The response that could not be decoded, with its status, URL, header fields and body; `nil` for an error that was not made by
  /// the library's own decoding of a response, and for one whose ``Context/underlyingError`` is of a type of your own.
  ///
  /// The context's `debugDescription` says the same in one line, without the query's values and the body: `"… (GET
  /// https://example.com/users/42, status 200; text/html, 512 bytes)"`.
  ///
  /// ```swift
  /// do {
  ///   user = try await manager.send(GetUser(id: 42))
  /// } catch let error as DecodingError {
  ///   report(error, body: error.response?.data)
  /// }
  /// ```
  public var response: NetworkResponse? { undecodable?.response }

  /// The method of the request, like ``response``.
  var requestMethod: String? { undecodable?.method }

  private var undecodable: UndecodableResponse? {
    switch self {
    case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context),
      .dataCorrupted(let context):
      UndecodableResponse(in: context)
    @unknown default: nil
    }
  }

  /// Returns the same error, with another context.
  func with(_ change: (Context) -> Context) -> DecodingError {
    switch self {
    case .typeMismatch(let type, let context): .typeMismatch(type, change(context))
    case .valueNotFound(let type, let context): .valueNotFound(type, change(context))
    case .keyNotFound(let key, let context): .keyNotFound(key, change(context))
    case .dataCorrupted(let context): .dataCorrupted(change(context))
    @unknown default: self
    }
  }

  /// Returns the same error, which says what could not be decoded.
  func about(_ response: HTTPURLResponse, data: Data, method: String) -> DecodingError {
    let url = response.url?.withoutCredentials
    let exchange = FailedExchange(
      method: method, url: url, status: response.statusCode,
      contentType: response.headerDictionary.field("Content-Type"),
      data: data, quotesBody: false
    ).text
    let undecodable = UndecodableResponse(
      response: NetworkResponse(
        statusCode: response.statusCode, headerFields: HeaderFieldList(response), data: data, url: url),
      method: method, text: exchange)
    return with { context in
      Context(
        codingPath: context.codingPath, debugDescription: "\(context.debugDescription) (\(exchange))",
        underlyingError: undecodable.added(to: context.underlyingError))
    }
  }
}

/// What a `DecodingError` is about, in its underlying error. Its description has no header fields and no body, because errors
/// are printed and logged.
private struct UndecodableResponse: Error, CustomStringConvertible, CustomDebugStringConvertible {
  private static let key = "EKNetwork.UndecodableResponse"

  let response: NetworkResponse
  let method: String
  let text: String

  var description: String { text }
  var debugDescription: String { text }

  init(response: NetworkResponse, method: String, text: String) {
    self.response = response
    self.method = method
    self.text = text
  }

  init?(in context: DecodingError.Context) {
    guard let error = context.underlyingError else { return nil }
    if let own = error as? Self {
      self = own
    } else if let own = (error as NSError).userInfo[Self.key] as? Self {
      self = own
    } else {
      return nil
    }
  }

  /// Returns an underlying error that contains this one. The decoder's own `NSError` keeps its domain, code and details.
  func added(to cause: (any Error)?) -> any Error {
    guard let cause else { return self }
    guard type(of: cause) is NSError.Type else { return cause }
    let error = cause as NSError
    return NSError(
      domain: error.domain, code: error.code, userInfo: error.userInfo.merging([Self.key: self]) { old, _ in old })
  }
}
