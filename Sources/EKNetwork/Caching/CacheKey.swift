import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What a stored answer is an answer to.
struct CacheKey: Sendable {
  let request: URLRequest
  /// Method and URL, and a hash of the header fields and the body that go with them: whoever signs in as somebody else,
  /// or asks for another type or language, asks for something else. Tokens cannot be read from it.
  let text: String

  /// Fields that are different each time without making another answer of it: names of one exchange, for logs.
  private static let ignored: Set<String> = [
    "x-request-id", "x-correlation-id", "request-id", "traceparent", "tracestate", "user-agent", "date",
  ]

  /// - Parameter session: What the session adds to each request: its own header fields, and cookies.
  init(_ request: URLRequest, session: SessionDescription? = nil) {
    self.request = request
    var fields: [String: String] = [:]
    for (name, value) in session?.additionalHeaders ?? [] { fields[name.lowercased()] = value }
    var sent = request
    session?.cookies.apply(to: &sent)
    for (name, value) in sent.allHTTPHeaderFields ?? [:] { fields[name.lowercased()] = value }
    let lines = fields.filter { !Self.ignored.contains($0.key) }.sorted { $0.key < $1.key }
    // Neither a name nor a value can hold a line break, and the empty line ends them: the text has one reading.
    let bytes = Array((lines.map { "\($0.key):\($0.value)\n" }.joined() + "\n").utf8) + (request.httpBody ?? Data())
    text = "\(request.httpMethod ?? "GET") \(request.url?.absoluteString ?? "") \(SHA256.hexadecimal(bytes))"
  }
}
