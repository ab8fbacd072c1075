import Foundation

/// Writes the parts of a request without the secrets in them, so that different ones still differ and equal ones are
/// equal.
///
/// A recorder and a replay with the same salt write the same request identically, by which a recorded response is
/// found.
struct HARRedaction: Codable, Sendable, Equatable {
  static let hidden = "<redacted>"
  private static let prefix = "redacted-"
  /// The number of bytes that are hashed at a time, so that a long body is not copied as a whole.
  private static let block = 65_536
  /// Fields whose values are URLs.
  private static let urlFields: Set<String> = ["location", "content-location", "referer"]
  /// Fields with a challenge of the server (RFC 9110 §11.6.1, §11.7.1), which is no secret of the user: in a replay, a
  /// password is only sent in response to it.
  private static let challengeFields: Set<String> = ["www-authenticate", "proxy-authenticate"]

  /// Makes the digests of one recording different from those of any other.
  let salt: String
  let hidesSecrets: Bool

  func digest(_ data: Data) -> String {
    var digest = salt
    var rest = data[...]
    repeat {
      digest = SHA256.hexadecimal(Array("\(digest)\n".utf8) + rest.prefix(Self.block))
      rest = rest.dropFirst(Self.block)
    } while !rest.isEmpty
    return String(digest.prefix(32))
  }

  /// Returns a pseudonym of a value, the same for equal values. A pseudonym is returned unchanged: a redirect to a URL
  /// whose values are hidden leads to what was recorded for it.
  func pseudonym(_ value: Substring) -> String {
    guard hidesSecrets, !value.isEmpty, !Self.isPseudonym(value) else { return String(value) }
    // `%7E` and `~` are equivalent.
    let text = value.removingPercentEncoding ?? String(value)
    return Self.prefix + digest(Data(text.utf8)).prefix(16)
  }

  private static func isPseudonym(_ value: Substring) -> Bool {
    let digits = value.dropFirst(prefix.count)
    return value.hasPrefix(prefix) && digits.utf8.count == 16
      && digits.utf8.allSatisfy { $0.isDigit || (0x61...0x66).contains($0) }
  }

  /// Returns the URL in the form in which it is written and compared.
  func url(_ url: URL) -> String { (url.normalized?.url ?? url).text(hiding: pseudonym) ?? Self.hidden }

  /// - Parameter url: The base of a relative URL in the value.
  func field(_ name: String, _ value: String, of url: URL?) -> String {
    guard hidesSecrets else { return value }
    let name = name.lowercased()
    if Self.urlFields.contains(name) {
      return ServerURL.resolve(value, against: url).map { self.url($0) } ?? Self.hidden
    }
    if name == "link" { return link(value, of: url) }
    if Self.challengeFields.contains(name) { return value }
    if SecretFields.contains(name) || name == "refresh" { return Self.hidden }
    // In fields of others there are URLs as well, as in `Destination`, `HX-Redirect` or `Reporting-Endpoints`.
    let scheme = value.range(of: "://").map { value[..<$0.lowerBound] }
    // RFC 3986 §3.1.
    let isURL = scheme?.allSatisfy { $0.isLetter || $0.isNumber || "+-.".contains($0) } == true
    guard isURL || value.hasPrefix("/") else { return Self.hasSecretURL(value) ? Self.hidden : value }
    guard value.contains(where: { "?@#".contains($0) }) else { return value }
    // Of several URLs, the first has the others in its path.
    guard let one = ServerURL.resolve(value, against: url), !Self.hasSecretURL(one.path) else { return Self.hidden }
    return self.url(one)
  }

  /// Returns whether a URL among other text has a user, or a query item or a fragment with a value.
  private static func hasSecretURL(_ text: String) -> Bool {
    text.split { " \t\"<>".contains($0) }.contains { word in
      word.contains("://") && (word.contains("@") || word.contains { "?#".contains($0) } && word.contains("="))
    }
  }

  /// Returns the value of a `Link` field, whose URLs are in angle brackets (RFC 8288 §3). One elsewhere, as in `anchor` (§3.2),
  /// makes it hidden as a whole.
  private func link(_ value: String, of url: URL?) -> String {
    var outside = ""
    let text = value.split(separator: "<", omittingEmptySubsequences: false).enumerated().map { index, part in
      let end = index > 0 ? part.firstIndex(of: ">") : nil
      outside += part[(end ?? part.startIndex)...]
      guard let end else { return String(part) }
      let target = ServerURL.resolve(String(part[..<end]), against: url).map { self.url($0) } ?? Self.hidden
      return target + part[end...]
    }.joined(separator: "<")
    return outside.contains { "?@".contains($0) } ? Self.hidden : text
  }

  /// Returns the fingerprint of the value of a secret field; for Basic credentials that of the user only, because a
  /// password may be short enough to be found by brute force.
  func fingerprint(_ value: String) -> String {
    var known = value
    let words = value.split(whereSeparator: \.isWhitespace)
    if words.first?.lowercased() == "basic" {
      let text = words.dropFirst().joined()
      // Some clients leave the padding out. What is no base64 may contain a password all the same.
      let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
      let decoded = Data(base64Encoded: text + padding) ?? Data()
      known = "basic " + String(decoding: decoded.prefix { $0 != UInt8(ascii: ":") }, as: UTF8.self)
    }
    return String(digest(Data(known.utf8)).prefix(16))
  }
}
