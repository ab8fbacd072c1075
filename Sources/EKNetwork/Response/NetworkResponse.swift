import Foundation

/// A response as it was received: its head, its whole body, and its trailers.
public struct NetworkResponse: ResponseHeaderFields, Redacted, Sendable, Equatable {
  /// The status code.
  public let statusCode: Int
  /// The header fields in order, repeated ones separate. What a `URLSession` has received is sorted by name, and joined.
  public let headerFields: HeaderFieldList
  /// The body, with content codings removed.
  public let data: Data
  /// The trailer fields (RFC 9110 §6.5), which follow a chunked body, or that of HTTP/2: checksums, for example, or the status
  /// of gRPC. They are the server's word like the header fields, but must not be mixed with them. Always empty if a
  /// `URLSession` performs the request.
  public let trailers: HeaderFieldList
  /// The URL that responded, after redirects; `nil` if it is not known.
  public let url: URL?
  /// The protocol's version, such as `"HTTP/1.1"` or `"HTTP/2"`; `nil` if a `URLSession` performs the request.
  public let protocolVersion: String?
  /// The reason phrase of the status line (RFC 9112 §4); empty where there is none, as in HTTP/2.
  public let reasonPhrase: String

  /// Creates a response as the library would return it, for tests.
  public init(
    statusCode: Int, headerFields: HeaderFieldList = HeaderFieldList(), data: Data = Data(),
    trailers: HeaderFieldList = HeaderFieldList(), url: URL? = nil, protocolVersion: String? = nil,
    reasonPhrase: String = ""
  ) {
    self.statusCode = statusCode
    self.headerFields = headerFields
    self.data = data
    self.trailers = trailers
    self.url = url
    self.protocolVersion = protocolVersion
    self.reasonPhrase = reasonPhrase
  }

  /// Whether the status is 2xx (RFC 9110 §15.3).
  public var isSuccess: Bool { StatusCodes.successful.contains(statusCode) }

  /// Returns the value of a header field; names are case-insensitive, and the values of a repeated field are joined with
  /// `", "`.
  public func value(forHTTPHeaderField name: String) -> String? { headerFields.value(for: name) }

  /// Returns the target of the first link with a relation type, such as `"next"`, in the `Link` fields (RFC 8288), resolved
  /// against ``url``; `nil` if there is none.
  public func link(_ relation: String) -> URL? { headerFields.link(relation, base: url) }

  /// The URL, the status, and the type and size of the body: `"https://example.com/users/42, status 200; application/json, 34
  /// bytes"`. Of the query only the names are shown, of the fields and the body nothing more.
  public var description: String { redacted }

  var redacted: String {
    FailedExchange(
      url: url, status: statusCode, contentType: headerFields.value(for: "Content-Type"), data: data, quotesBody: false
    ).text
  }

  /// Decodes the body as JSON.
  ///
  /// - Parameters:
  ///   - type: The type of the value.
  ///   - decoder: The decoder. Defaults to a new `JSONDecoder`.
  public func decode<Value: Decodable>(
    _ type: Value.Type = Value.self, with decoder: JSONDecoder = JSONDecoder()
  ) throws -> Value {
    try decoder.decode(type, from: data)
  }
}

/// A decoded response with its head.
public struct DecodedResponse<Value>: ResponseHeaderFields {
  /// The value of the body.
  public let value: Value
  /// The status code.
  public let statusCode: Int
  /// The header fields in order, repeated ones separate. What a `URLSession` has received is sorted by name, and joined.
  public let headerFields: HeaderFieldList
  /// The URL that responded, after redirects; `nil` if it is not known.
  public let url: URL?

  /// Creates a response as the library would return it, for tests.
  public init(
    value: Value, statusCode: Int = 200, headerFields: HeaderFieldList = HeaderFieldList(), url: URL? = nil
  ) {
    self.value = value
    self.statusCode = statusCode
    self.headerFields = headerFields
    self.url = url
  }

  /// Returns the value of a header field; names are case-insensitive, and the values of a repeated field are joined with
  /// `", "`.
  public func value(forHTTPHeaderField name: String) -> String? { headerFields.value(for: name) }

  /// Returns the target of the first link with a relation type, such as `"next"`, in the `Link` fields (RFC 8288), resolved
  /// against ``url``; `nil` if there is none.
  public func link(_ relation: String) -> URL? { headerFields.link(relation, base: url) }
}

extension DecodedResponse: Sendable where Value: Sendable {}
extension DecodedResponse: Equatable where Value: Equatable {}

// The value may be a token.
extension DecodedResponse: Redacted {
  var redacted: String { "\(FailedExchange(url: url, status: statusCode).text); \(Value.self)" }
}

/// A response that precedes the final one (RFC 9110 §15.2), such as 100 or 103, whose `Link` fields name what the final one
/// will need (RFC 8297).
public struct InterimResponse: ResponseHeaderFields, Sendable, Equatable {
  /// The status code, from 100 to 199.
  public let statusCode: Int
  /// The header fields.
  public let headerFields: HeaderFieldList

  /// Creates a response as the library passes it on, for tests.
  public init(statusCode: Int, headerFields: HeaderFieldList = HeaderFieldList()) {
    self.statusCode = statusCode
    self.headerFields = headerFields
  }
}

extension InterimResponse: Redacted {
  var redacted: String { FailedExchange(status: statusCode).text }
}

/// A response whose value a call need not use: `send` does not warn if it is unused. Types of your own may conform as well.
public protocol DiscardableResponse: Decodable {}

/// The response of a request that only succeeds or fails. Any body is ignored.
public struct EmptyResponse: DiscardableResponse, Decodable, Equatable, Sendable {
  /// Creates the only value.
  public init() {}

  /// Succeeds for any payload.
  public init(from decoder: any Decoder) throws {}
}

/// The response of a request whose result is in the status code and the header fields. Any body is ignored.
public struct StatusCodeResponse: DiscardableResponse, Decodable, ResponseHeaderFields, Equatable, Sendable {
  /// The status code.
  public let statusCode: Int
  /// The header fields; the values of a repeated field are joined with `", "`.
  public let headers: [String: String]
  private var received = ReceivedFields()

  /// Creates a response as the library would make it, for tests.
  public init(statusCode: Int, headers: [String: String]) {
    self.statusCode = statusCode
    self.headers = headers
  }

  /// Creates a response with header fields as in `HTTPURLResponse.allHeaderFields`.
  @_disfavoredOverload
  public init(statusCode: Int, headers: [AnyHashable: Any]) {
    self.init(statusCode: statusCode, headers: [String: String](headerFields: headers))
  }

  /// Returns the value of a header field; names are case-insensitive.
  public func value(forHTTPHeaderField name: String) -> String? { headers.field(name) }

  private enum CodingKeys: String, CodingKey { case statusCode, headers }

  /// Decodes `{"statusCode": 204}`, with or without `headers`.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    statusCode = try container.decode(Int.self, forKey: .statusCode)
    headers = try container.decodeIfPresent([String: String].self, forKey: .headers) ?? [:]
  }

  init(_ response: HTTPURLResponse) {
    self.init(statusCode: response.statusCode, headers: response.headerDictionary)
    received = ReceivedFields(response: response)
  }

  /// The header fields in order, repeated ones separate if they were received so.
  public var headerFields: HeaderFieldList { received.list(or: headers) }
}

extension StatusCodeResponse: Redacted {
  var redacted: String { FailedExchange(url: received.url, status: statusCode).text }
}

extension HTTPURLResponse {
  var headerDictionary: [String: String] { [String: String](headerFields: allHeaderFields) }
}

extension [String: String] {
  init(headerFields: [AnyHashable: Any]) {
    self.init(minimumCapacity: headerFields.count)
    for (name, value) in headerFields {
      if let name = name as? String { self[name] = value as? String ?? "\(value)" }
    }
  }
}
