import Foundation

/// The text that says which request an error is about, and how the server has responded.
struct FailedExchange {
  private static let excerptLength = 256

  var method: String?
  var url: URL?
  var status: Int?
  var contentType: String?
  var data: Data?
  /// Whether the beginning of the body is shown. That of a success may contain what it was requested for, such as a token.
  var quotesBody = true

  /// `GET https://example.com/users/42`.
  var request: String { [method, url?.redactedForLog].compactMap(\.self).joined(separator: " ") }

  /// `GET https://example.com/users/42, status 404; application/json, 34 bytes: {…}`, as far as it is known.
  var text: String {
    var parts: [String] = []
    let exchange = [request.isEmpty ? nil : request, status.map { "status \($0)" }].compactMap(\.self)
    if !exchange.isEmpty { parts.append(exchange.joined(separator: ", ")) }
    let type = contentType.map { Self.inOneLine($0.mediaType.prefix(80)) + ", " } ?? ""
    if let data {
      parts.append("\(type)\(data.count) bytes" + (quotesBody ? Self.excerpt(of: data).map { ": \($0)" } ?? "" : ""))
    }
    return parts.joined(separator: "; ")
  }

  /// Returns the beginning of a text in one line; `nil` if there is none, or it is not text.
  private static func excerpt(of data: Data) -> String? {
    var text = String(decoding: data.prefix(excerptLength), as: UTF8.self)
    let isCut = data.count > excerptLength
    // The limit may be inside a character.
    if isCut, text.last == "\u{FFFD}" { text.removeLast() }
    guard !text.isEmpty, !text.unicodeScalars.contains(where: { $0 == "\u{FFFD}" || $0 == "\0" }) else { return nil }
    return inOneLine(text) + (isCut ? "…" : "")
  }

  static func inOneLine(_ text: some StringProtocol) -> String {
    var line = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      switch scalar.properties.generalCategory {
      // A server must not be able to forge a line of a log, or to change the direction of the rest.
      case .control, .format, .lineSeparator, .paragraphSeparator: line.append(" ")
      default: line.append(scalar)
      }
    }
    return String(line)
  }
}

extension Redacted where Self: LocalizedError {
  // The reason may be one that a server has sent.
  var redacted: String { FailedExchange.inOneLine(errorDescription ?? "") }
}

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

  var requestMethod: String? { undecodable?.method }

  private var undecodable: UndecodableResponse? { context.flatMap(UndecodableResponse.init(in:)) }

  var context: Context? {
    switch self {
    case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context),
      .dataCorrupted(let context):
      context
    @unknown default: nil
    }
  }

  /// Where the response could not be decoded, and why: `Path: users[0].id. Expected to decode Int but found a string.`
  var reason: String? {
    guard let context else { return nil }
    let path = context.codingPath.map { $0.intValue.map { "[\($0)]" } ?? ".\($0.stringValue)" }.joined()
    let reason = UndecodableResponse(in: context)?.reason ?? context.debugDescription
    // Names may be those that a server has sent.
    return FailedExchange.inOneLine(path.isEmpty ? reason : "Path: \(path.trimmingPrefix(".")). \(reason)")
  }

  func with(_ change: (Context) -> Context) -> DecodingError {
    switch self {
    case .typeMismatch(let type, let context): .typeMismatch(type, change(context))
    case .valueNotFound(let type, let context): .valueNotFound(type, change(context))
    case .keyNotFound(let key, let context): .keyNotFound(key, change(context))
    case .dataCorrupted(let context): .dataCorrupted(change(context))
    @unknown default: self
    }
  }

  func about(_ response: HTTPURLResponse, data: Data, method: String) -> DecodingError {
    let url = response.url?.withoutCredentials
    let exchange = FailedExchange(
      method: method, url: url, status: response.statusCode,
      contentType: response.headerDictionary.field("Content-Type"), data: data, quotesBody: false
    ).text
    let received = NetworkResponse(
      statusCode: response.statusCode, headerFields: HeaderFieldList(response), data: data, url: url)
    return with { context in
      let undecodable = UndecodableResponse(response: received, method: method, reason: context.debugDescription)
      return Context(
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
  /// The decoder's own description, which the error's begins with.
  let reason: String

  // What the response is about is in the error's own description.
  var description: String { "see DecodingError.response" }
  var debugDescription: String { description }

  /// Returns an underlying error that contains this one. The decoder's own `NSError` keeps its domain, code and details.
  func added(to cause: (any Error)?) -> any Error {
    guard let cause else { return self }
    guard type(of: cause) is NSError.Type else { return cause }
    let error = cause as NSError
    return NSError(
      domain: error.domain, code: error.code, userInfo: error.userInfo.merging([Self.key: self]) { old, _ in old })
  }
}

extension UndecodableResponse {
  fileprivate init?(in context: DecodingError.Context) {
    guard let error = context.underlyingError,
      let own = error as? Self ?? (error as NSError).userInfo[Self.key] as? Self
    else { return nil }
    self = own
  }
}
