import Foundation

extension LoopbackServer {
  /// A request as it was received.
  public struct Request: Sendable {
    /// The method, as received.
    public let method: String
    /// The request target, as received: usually path and query.
    public let target: String
    /// The path as received, still percent-encoded; for an absolute target, its path.
    public let path: String
    /// The part after the first `?`, still percent-encoded.
    public let query: String?
    /// `HTTP/1.1` or `HTTP/1.0`.
    public let version: String
    /// The header fields in order.
    public let headers: HeaderFields
    /// The bytes from the request line to the empty line, exactly as received.
    public let head: Data
    /// The content of the body, without chunk framing.
    public internal(set) var body = Data()
    /// The body exactly as received, with chunk framing and trailer fields.
    public internal(set) var rawBody = Data()
    /// The trailer fields of a chunked body.
    public internal(set) var trailers = HeaderFields()
    /// The number of bytes of content received, including those that were not kept.
    public internal(set) var bodyByteCount = 0
    /// Whether the whole body was received. False if the client disconnected before the end, and in an `onHead`
    /// closure.
    public internal(set) var isComplete = false
    /// The number of its connection, counted from 0 in the order of acceptance.
    public let connection: Int
    /// The index of the request on its connection, counted from 0.
    public let indexOnConnection: Int
    /// The time when the head was received.
    public let receivedAt: ContinuousClock.Instant

    init(head: RequestHead, connection: Int, index: Int) {
      method = head.method
      target = head.target
      version = head.version
      headers = head.fields
      self.head = head.raw
      self.connection = connection
      indexOnConnection = index
      receivedAt = .now
      var rest = Substring(head.target)
      // RFC 9112, section 3.2.2: requests to a proxy use the absolute form.
      if !rest.hasPrefix("/"), let scheme = rest.range(of: "://") {
        rest = rest[scheme.upperBound...]
        rest = rest[(rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex)...]
      }
      let parts = rest.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
      path = parts.first.map(String.init) ?? ""
      query = parts.count > 1 ? String(parts[1]) : nil
    }

    /// Returns the value of the first field with a name; case is ignored.
    public func header(_ name: String) -> String? { headers[name] }

    /// The query, decoded as a form: both `+` and `%20` are spaces.
    public var queryItems: [URLQueryItem] { Self.formItems(query ?? "") }

    /// Returns the value of the first query item with a name.
    public func queryValue(_ name: String) -> String? { queryItems.first { $0.name == name }?.value }

    /// The body, decoded as `application/x-www-form-urlencoded`.
    public var formItems: [URLQueryItem] { Self.formItems(text) }

    /// The body as UTF-8 text.
    public var text: String { String(decoding: body, as: UTF8.self) }

    /// Decodes the body from JSON.
    public func json<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
      try JSONDecoder().decode(type, from: body)
    }

    private static func formItems(_ text: String) -> [URLQueryItem] {
      text.split(separator: "&").map { pair in
        let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        return URLQueryItem(name: formDecoded(parts[0]), value: parts.count > 1 ? formDecoded(parts[1]) : nil)
      }
    }

    private static func formDecoded(_ text: Substring) -> String {
      let spaced = text.replacingOccurrences(of: "+", with: " ")
      return spaced.removingPercentEncoding ?? spaced
    }
  }
}
