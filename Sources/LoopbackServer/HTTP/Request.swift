import Foundation

extension LoopbackServer {
  /// A request as it came over the wire.
  public struct Request: Sendable {
    /// The method, as written.
    public let method: String
    /// The request target, as written: usually path and query.
    public let target: String
    /// The path as it came, still percent-encoded; for an absolute target, its path.
    public let path: String
    /// What stands behind the first `?`, still percent-encoded.
    public let query: String?
    /// `HTTP/1.1` or `HTTP/1.0`.
    public let version: String
    /// The header fields in order.
    public let headers: HeaderFields
    /// The bytes from the request line to the empty line, exactly as they came.
    public let head: Data
    /// The body's content; chunk framing is removed.
    public internal(set) var body = Data()
    /// The body exactly as it came, with chunk framing and trailer fields.
    public internal(set) var rawBody = Data()
    /// The trailer fields of a chunked body.
    public internal(set) var trailers = HeaderFields()
    /// How many bytes of content were received, also when they were not kept.
    public internal(set) var bodyByteCount = 0
    /// Whether the whole body was received. False when the client left half-way and in an `onHead` closure.
    public internal(set) var isComplete = false
    /// Which connection it came on, counted from 0 in the order of acceptance.
    public let connection: Int
    /// Which request it was on that connection, counted from 0.
    public let indexOnConnection: Int
    /// When the head had been received.
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
      // RFC 9112, section 3.2.2: a proxy is sent the absolute form.
      if !rest.hasPrefix("/"), let scheme = rest.range(of: "://") {
        rest = rest[scheme.upperBound...]
        rest = rest[(rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex)...]
      }
      let parts = rest.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
      path = parts.first.map(String.init) ?? ""
      query = parts.count > 1 ? String(parts[1]) : nil
    }

    /// The value of the first field of that name, whatever its case.
    public func header(_ name: String) -> String? { headers[name] }

    /// The query, decoded as a form: `+` and `%20` are spaces.
    public var queryItems: [URLQueryItem] { Self.formItems(query ?? "") }

    /// The first value of a query item of that name.
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
