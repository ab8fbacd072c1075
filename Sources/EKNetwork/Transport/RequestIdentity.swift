import Foundation

/// The identity of the sender of a request: who asks, and from where the response is trusted to come. Whatever is shared
/// between requests, or kept for a later one, is keyed by it, as a whole.
///
/// It is made by ``of(_:salt:)`` only, from a request as it is sent: the fields of the request itself, its URL, the
/// token, the session, the cookies, the client certificate and middleware all count, and no part can be left out. Its
/// parts are digests, from which the fields cannot be recovered. Two requests with the same identity come from the same
/// user, but the reverse does not always hold.
struct RequestIdentity: Hashable, Sendable {
  /// The credentials: every field whose name may be that of one, the client certificate, and the owner of a session or
  /// of middleware whose code may determine who the user is. `nil` if there are none.
  let credentials: String?
  /// The cookies; `nil` if there are none.
  let cookies: String?
  /// The authorities and keys that the session trusts instead of the system's, and what leads its connections elsewhere,
  /// such as a socket, addresses or a proxy: ``ConnectionIdentity/trust``; and the request's own `Host`, if it names another
  /// server than the URL.
  let trust: String?
  /// All other fields, except those that are known not to identify the user; `nil` if there are none.
  let others: String?

  private init(credentials: String?, cookies: String?, trust: String?, others: String? = nil) {
    self.credentials = credentials
    self.cookies = cookies
    self.trust = trust
    self.others = others
  }

  /// Returns the identity of a request as it is sent.
  ///
  /// - Parameter salt: A text that is part of every digest of a secret, for identities that are written to a file.
  static func of(_ hop: HopRequest, salt: String = "") -> RequestIdentity {
    var (credentials, others, cookies): ([String], [String], String?) = ([], [], nil)
    var trust = hop.connection?.trust
    for field in hop.identifyingFields {
      let (name, value) = (field.name.lowercased(), field.value)
      if name == "cookie" {
        cookies = value
      } else if name == "host" {
        // RFC 9112 §3.3: the authority of the target URI is that of this field.
        let host = value.lowercased()
        if host != Origin(hop.sent.url).map({ RequestHead.host(of: $0) }) {
          trust = Self.digest("\(trust ?? "")\n\(host)")
        }
      } else if OriginFields.contains(name) {
        credentials.append("\(name):\(value)\n")
      } else if !neutral.contains(name) {
        others.append("\(name):\(value)\n")
      }
    }
    // Neither a name nor a value can contain a line break, and an empty line ends them: the text is unambiguous.
    let session = hop.sessionParts
    if session.contains(where: { !$0.isEmpty }) { credentials.append("\n\(session.joined(separator: "\n"))") }
    func digest(_ lines: [String]) -> String? {
      lines.isEmpty ? nil : Self.digest(lines.sorted().joined(), salt: salt)
    }
    return RequestIdentity(
      credentials: digest(credentials), cookies: cookies.map { Self.digest($0, salt: salt) },
      trust: trust, others: digest(others))
  }

  /// Returns the identity that was written to a file, among others of the same trust. Other fields are not written:
  /// there, they count by `Vary`.
  static func recorded(credentials: String?, cookies: String?, for trust: String?) -> RequestIdentity {
    RequestIdentity(credentials: credentials, cookies: cookies, trust: trust)
  }

  /// Nobody, over connections that trust the system's authorities.
  static let anonymous = RequestIdentity(credentials: nil, cookies: nil, trust: nil)

  /// Whether the request has neither credentials nor cookies.
  var isAnonymous: Bool { credentials == nil && cookies == nil }

  /// Returns whether another identity is that of the same user, over connections of the same trust.
  func isSameUser(as other: RequestIdentity) -> Bool {
    credentials == other.credentials && cookies == other.cookies && trust == other.trust
  }

  /// The same text for the same identity.
  var text: String { [credentials, cookies, trust, others].map { $0 ?? "-" }.joined(separator: ".") }

  /// Returns a digest of a text that may be secret.
  static func digest(_ text: String, salt: String = "") -> String {
    String(SHA256.hexadecimal(Array((salt + text).utf8)).prefix(32))
  }

  // MARK: - Fields

  /// The header fields that describe the requested resource or the transfer, but not the user. A key that depends on
  /// them adds them.
  static let neutral: Set<String> = [
    "accept", "accept-charset", "accept-encoding", "accept-language", "cache-control", "connection",
    "content-encoding", "content-language", "content-length", "content-location", "content-type", "date", "expect",
    "host", "idempotency-key", "if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since",
    "keep-alive", "last-event-id", "origin", "pragma", "priority", "range", "referer", "request-id", "te",
    "traceparent", "tracestate", "transfer-encoding", "upgrade", "user-agent", "via", "x-correlation-id",
    "x-request-id",
  ]

  /// The neutral fields by which a server may choose between several representations (RFC 9110 §12), or resources (§7.2).
  private static let negotiated: Set<String> = [
    "accept", "accept-charset", "accept-encoding", "accept-language", "host", "origin", "referer", "user-agent",
  ]

  /// Returns a digest of the identity and of the fields that select one of several representations, for a part of a
  /// response in a file. Its form is that of earlier versions, whose files can still be resumed.
  static func ofRepresentation(_ hop: HopRequest) -> String {
    let neutral = neutral.subtracting(negotiated)
    var lines: [String] = []
    for field in hop.identifyingFields {
      let name = field.name.lowercased()
      if !neutral.contains(name) { lines.append("\(name):\(field.value)") }
    }
    lines.sort()
    lines.append("")
    lines += hop.sessionParts
    if let trust = hop.connection?.trust { lines.append(trust) }
    return SHA256.hexadecimal(Array(lines.joined(separator: "\n").utf8))
  }
}
