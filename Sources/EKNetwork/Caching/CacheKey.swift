import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What a stored response is a response to.
struct CacheKey: Sendable {
  let request: URLRequest
  /// Method and URL, and a hash of who asks and of the header fields and the body that go with them: another user, or
  /// another type or language, is another request. Tokens cannot be read from it.
  let text: String
  /// Whether the response may be for one user alone.
  let namesUser: Bool

  /// Fields that are different each time without making another response of it: names of one exchange, for logs.
  private static let ignored: Set<String> = [
    "x-request-id", "x-correlation-id", "request-id", "traceparent", "tracestate", "date",
  ]

  /// The key of a request as it is sent, with what its session adds.
  init(_ hop: HopRequest) {
    request = hop.own
    namesUser = hop.namesUser
    let sent = hop.urlRequest
    var lines: [String] = []
    for (name, value) in sent.allHTTPHeaderFields ?? [:] {
      let name = name.lowercased()
      if !Self.ignored.contains(name) { lines.append("\(name):\(value)\n") }
    }
    lines.sort()
    // Neither a name nor a value can hold a line break, and the empty line ends them: the text has one reading.
    let head = hop.identity.text + "\n" + lines.joined() + "\n"
    let hash = SHA256.hexadecimal(Array(head.utf8) + (sent.httpBody ?? Data()))
    text = "\(sent.httpMethod ?? "GET") \(sent.url?.withoutUser ?? "") \(hash)"
  }
}

extension URL {
  /// The text of the URL, without what it says of its user.
  fileprivate var withoutUser: String {
    guard user(percentEncoded: true) != nil || password(percentEncoded: true) != nil,
      var parts = URLComponents(url: self, resolvingAgainstBaseURL: true)
    else { return absoluteString }
    parts.percentEncodedUser = nil
    parts.percentEncodedPassword = nil
    return parts.string ?? ""
  }
}
