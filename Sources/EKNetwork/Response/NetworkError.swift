import Foundation

/// The errors of a request that do not come from the transport.
///
/// Transport failures are `URLError`, responses outside 2xx are ``HTTPError``.
public enum NetworkError: LocalizedError, Equatable {
  /// The URL could not be built, for example because the path contains a `..` segment.
  case invalidURL
  /// The multipart form could not be encoded.
  case invalidMultipartEncoding
  /// A successful response without a body, for a request without an `emptyResponseHandler`.
  case emptyResponse
  /// The server responded with 401, after a token refresh and a retry if there is a refresher.
  case unauthorized
  /// The session returned no response, or one that is not HTTP.
  case invalidResponse
  /// Both `body` and `multipartData` are set.
  case conflictingBodyTypes

  /// A description of the error.
  public var errorDescription: String? {
    switch self {
    case .invalidURL: "The request has no valid URL"
    case .invalidMultipartEncoding: "The multipart form cannot be encoded"
    case .emptyResponse: "The response has no body"
    case .unauthorized: "The server requires authentication"
    case .invalidResponse: "The response is not an HTTP response"
    case .conflictingBodyTypes: "The request has both a body and a multipart form"
    }
  }
}

/// An error for a response that the request does not accept, with its status code, header fields and body.
public struct HTTPError: LocalizedError, ResponseHeaderFields, Redacted, Sendable, Equatable {
  /// The status code.
  public let statusCode: Int
  /// The body, as received.
  public let data: Data
  /// The header fields; the values of a repeated field are joined with `", "`.
  public let headers: [String: String]
  private var received = ReceivedFields()

  /// Creates an error as the library would throw it, for tests.
  public init(statusCode: Int, data: Data, headers: [String: String]) {
    self.statusCode = statusCode
    self.data = data
    self.headers = headers
  }

  /// Creates an error with header fields as in `HTTPURLResponse.allHeaderFields`.
  @_disfavoredOverload
  public init(statusCode: Int, data: Data, headers: [AnyHashable: Any]) {
    self.init(statusCode: statusCode, data: data, headers: [String: String](headerFields: headers))
  }

  init(_ response: HTTPURLResponse, data: Data, method: String?) {
    self.init(statusCode: response.statusCode, data: data, headers: response.headerDictionary)
    received = ReceivedFields(response: response, method: method)
  }

  /// The method of the request, before any redirect; `nil` for an error that an initializer has created. It does not count
  /// in comparisons.
  public var method: String? { received.method }

  /// The URL that responded, after redirects, without user and password; `nil` for an error that an initializer has created. It
  /// does not count in comparisons.
  public var url: URL? { received.url }

  /// The header fields in order, repeated ones separate if they were received so.
  public var headerFields: HeaderFieldList { received.list(or: headers) }

  /// `"Request failed with status code …"`.
  public var errorDescription: String? { "Request failed with status code \(statusCode)" }

  /// The request, and the beginning of the body if it is text: `"GET https://example.com/users/42; application/json, 34
  /// bytes: {…}"`. Of the query only the names are shown.
  public var failureReason: String? { exchangeText.text }

  /// The ``errorDescription`` and the ``failureReason``, which is what `print` shows. That of a 407 names the proxy.
  public var description: String { redacted }

  var redacted: String {
    // RFC 9110 §15.5.8
    let sender = statusCode == 407 ? " (the proxy requires credentials)" : ""
    return "Request failed with status code \(statusCode)\(sender): \(exchangeText.text)"
  }

  private var exchangeText: FailedExchange {
    FailedExchange(method: method, url: url, contentType: headers.field("Content-Type"), data: data)
  }

  /// Returns the value of a header field; names are case-insensitive.
  public func value(forHTTPHeaderField name: String) -> String? { headers.field(name) }
}

/// An error that the default ``RetryPolicy`` never retries. Conform errors of your own domain to it.
public protocol NonRetriableError: Error {}

/// An error for a header field that RFC 9110 forbids, or that the library has to set itself. Nothing has been sent; if it is a
/// trailer field, the body without its end.
public struct InvalidHeaderError: LocalizedError, NonRetriableError, Equatable, Sendable {
  /// The reasons why a field is invalid.
  public enum Reason: Equatable, Sendable {
    /// The name is not a token (RFC 9110 §5.1): it is empty, or contains a space, a colon or another separator.
    case invalidName
    /// The value contains CR, LF, NUL or a control character other than the tab (RFC 9110 §5.5), or is invalid for the
    /// field: a WebSocket subprotocol that is not a token, or is listed twice (RFC 6455 §4.1).
    case invalidValue
    /// The library sets the field, or it cannot be set there.
    ///
    /// A request's own `Transfer-Encoding` could make it be read as two requests (RFC 9112 §11.2). `Content-Type` and
    /// `Content-Length` belong to a request, and not into ``RequestDefaults/headers``. The handshake of a WebSocket has
    /// fields of its own (RFC 6455 §4.1). In trailers, every field is refused that frames, routes or controls the message
    /// or authenticates its sender (RFC 9110 §6.5.1).
    case managedByLibrary
  }

  /// The name of the field, as the request gave it.
  public let field: String
  /// The reason why the field is invalid.
  public let reason: Reason

  /// Creates an error as the library would throw it, for tests.
  public init(field: String, reason: Reason) {
    self.field = field
    self.reason = reason
  }

  static let subprotocols = "Sec-WebSocket-Protocol"

  /// Returns the value of a field that can be sent, without surrounding blanks.
  static func checked(_ value: String, of name: String) throws(InvalidHeaderError) -> String {
    guard HeaderSyntax.isToken(name) else { throw InvalidHeaderError(field: name, reason: .invalidName) }
    guard let value = HeaderSyntax.trimmedValue(value) else {
      throw InvalidHeaderError(field: name, reason: .invalidValue)
    }
    return value
  }

  /// A description with the field, its control characters escaped, and the reason. It never includes the value, which
  /// may be secret.
  public var errorDescription: String? {
    switch reason {
    case .invalidName: "The header field name \"\(printableField)\" is not a token"
    case .invalidValue where field == Self.subprotocols: "A subprotocol is not a token, or is listed twice"
    case .invalidValue: "The value of the header field \"\(printableField)\" contains a control character"
    case .managedByLibrary where !field.isFieldName("transfer-encoding"):
      "The header field \"\(printableField)\" is set by the library, or cannot be set here"
    case .managedByLibrary: "The header field \"\(printableField)\" is set by the library"
    }
  }

  /// The name, truncated to 100 characters, none of which can start a new line in a log or move a terminal's cursor.
  private var printableField: String {
    var result = ""
    for scalar in field.unicodeScalars.prefix(100) {
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned:
        result += scalar.escaped(asASCII: true)
      default:
        result += scalar == "\"" || scalar == "\\" ? scalar.escaped(asASCII: true) : String(scalar)
      }
    }
    return field.unicodeScalars.count > 100 ? result + "…" : result
  }
}
