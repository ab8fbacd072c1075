import Foundation

/// The identity of the sender of a request: what a response may depend on besides the requested resource. Whatever is
/// shared between requests, or kept for a later one, is keyed by it.
///
/// It is a digest of every header field that may tell one user from another, wherever the field comes from: the
/// request, its URL, the token, the session, the cookies. The fields cannot be recovered from it. A field counts unless
/// it is known not to identify the user: two requests with the same identity come from the same user, but the reverse
/// does not always hold.
struct RequestIdentity: Hashable, Sendable {
  /// The SHA-256 digest in hexadecimal digits.
  let text: String

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

  /// The neutral fields by which a server may choose between several representations (RFC 9110 §12).
  static let negotiated: Set<String> = [
    "accept", "accept-charset", "accept-encoding", "accept-language", "origin", "referer", "user-agent",
  ]

  /// - Parameters:
  ///   - fields: The header fields of the request as it is sent.
  ///   - neutral: The names that do not count, in lower case. Defaults to ``neutral``.
  ///   - session: Other properties of the session that tell users apart, in this order.
  init(fields: [String: String], without neutral: Set<String> = Self.neutral, session: [String?] = []) {
    var lines: [String] = []
    for (name, value) in fields {
      let name = name.lowercased()
      if !neutral.contains(name) { lines.append("\(name):\(value)") }
    }
    lines.sort()
    // Names and values cannot contain a line break, and an empty line ends them, so the text is unambiguous.
    lines.append("")
    lines += session.map { $0 ?? "" }
    text = SHA256.hexadecimal(Array(lines.joined(separator: "\n").utf8))
  }
}
