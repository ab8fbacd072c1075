import Foundation

/// Who asks: what a response may depend on besides what is asked for. Whatever is shared between requests, or kept for a
/// later one, is keyed by it.
///
/// It is a digest of every field that may tell one user from another, wherever the field came from: the request, its
/// URL, the token, the session, the cookies. Nothing can be read from it. A field that is not known to say nothing of
/// the user counts: two requests with the same identity come from the same user, not always the other way round.
struct RequestIdentity: Hashable, Sendable {
  /// SHA-256 in hexadecimal digits.
  let text: String

  /// Fields that say what is asked for, or how, and nothing of who does: a key that needs them adds them.
  static let neutral: Set<String> = [
    "accept", "accept-charset", "accept-encoding", "accept-language", "cache-control", "connection",
    "content-encoding", "content-language", "content-length", "content-location", "content-type", "date", "expect",
    "host", "idempotency-key", "if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since",
    "keep-alive", "last-event-id", "origin", "pragma", "priority", "range", "referer", "request-id", "te",
    "traceparent", "tracestate", "transfer-encoding", "upgrade", "user-agent", "via", "x-correlation-id",
    "x-request-id",
  ]

  /// Those of them by which a server may choose between several representations (RFC 9110 §12).
  static let negotiated: Set<String> = [
    "accept", "accept-charset", "accept-encoding", "accept-language", "origin", "referer", "user-agent",
  ]

  /// - Parameters:
  ///   - fields: The header fields of the request as it is sent.
  ///   - neutral: The names that do not count, in lower case. Defaults to ``neutral``.
  ///   - session: What else the session does that tells users apart, in this order.
  init(fields: [String: String], without neutral: Set<String> = Self.neutral, session: [String?] = []) {
    var lines: [String] = []
    for (name, value) in fields {
      let name = name.lowercased()
      if !neutral.contains(name) { lines.append("\(name):\(value)") }
    }
    lines.sort()
    // Neither a name nor a value can hold a line break, and the empty line ends them: the text has one reading.
    lines.append("")
    lines += session.map { $0 ?? "" }
    text = SHA256.hexadecimal(Array(lines.joined(separator: "\n").utf8))
  }
}
