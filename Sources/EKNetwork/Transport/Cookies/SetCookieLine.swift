import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A `Set-Cookie` line, parsed by the rules of RFC 6265bis §5.6.
///
/// `HTTPCookie.cookies(withResponseHeaderFields:for:)` is not used: on Linux a line with certain non-ASCII characters
/// in a name crashes the process.
struct SetCookieLine: Equatable {
  /// The contexts in which a cookie is sent (§5.6.7).
  enum SameSite: String {
    case strict, lax, none
  }

  /// The maximum length of name and value together (§5.6). A longer cookie is ignored.
  static let largestPair = 4096
  /// The maximum length of an attribute. A longer one is ignored.
  static let largestAttribute = 1024

  private(set) var name: String
  private(set) var value: String
  private(set) var expires: Date?
  private(set) var maxAge: Int?
  private(set) var domain: String?
  private(set) var path: String?
  private(set) var isSecure = false
  private(set) var isHTTPOnly = false
  private(set) var sameSite: SameSite?

  /// Returns `nil` for a line that sets no cookie.
  init?(_ line: String) {
    // A control character can only be an attack on whatever parses the cookie next.
    guard !line.utf8.contains(where: { ($0 < 0x20 && $0 != 0x09) || $0 == 0x7f }) else { return nil }
    var parts = line.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)[...]
    guard let pair = parts.popFirst(), pair.count <= 2 * Self.largestPair else { return nil }
    guard let (name, value) = Self.pair(pair), let value, !name.isEmpty,
      name.utf8.count + value.utf8.count <= Self.largestPair
    else { return nil }
    self.name = name
    self.value = value
    for part in parts where part.count <= Self.largestAttribute {
      if let (name, value) = Self.pair(part) { apply(name.lowercased(), value ?? "") }
    }
  }

  private mutating func apply(_ name: String, _ value: String) {
    switch name {
    case "expires": expires = CookieDate.parse(value) ?? expires
    case "max-age": maxAge = CookieDate.maximumAge(value) ?? maxAge
    case "domain":
      let domain = (value.hasPrefix(".") ? String(value.dropFirst()) : value).lowercased()
      if !domain.isEmpty { self.domain = domain }
    case "path": path = value.hasPrefix("/") ? value : nil
    case "secure": isSecure = true
    case "httponly": isHTTPOnly = true
    case "samesite": sameSite = SameSite(rawValue: value.lowercased())
    default: break
    }
  }

  private static func pair(_ part: Substring.UTF8View.SubSequence) -> (name: String, value: String?)? {
    guard let equals = part.firstIndex(of: UInt8(ascii: "=")) else {
      return Substring(part).trimmed.map { ($0, nil) }
    }
    guard let name = Substring(part[..<equals]).trimmed else { return nil }
    return (name, Substring(part[part.index(after: equals)...]).trimmed ?? "")
  }

  /// Splits a field that Foundation has joined with commas, which dates contain as well: a comma is a separator if a
  /// token and an equals sign follow it.
  static func split(joined: String) -> [String] {
    let bytes = Array(joined.utf8)
    var lines: [String] = []
    var start = 0
    for index in bytes.indices where bytes[index] == UInt8(ascii: ",") && startsPair(bytes[(index + 1)...]) {
      lines.append(String(decoding: bytes[start..<index], as: UTF8.self))
      start = index + 1
    }
    lines.append(String(decoding: bytes[start...], as: UTF8.self))
    return lines
  }

  private static func startsPair(_ bytes: ArraySlice<UInt8>) -> Bool {
    let rest = bytes.drop { $0 == 0x20 || $0 == 0x09 }
    // Longer names exist in theory; the limit keeps a head full of commas from taking quadratic time.
    let token = rest.prefix(largestPair / 16).prefix(while: HeaderSyntax.token.contains)
    return !token.isEmpty && rest.dropFirst(token.count).drop { $0 == 0x20 || $0 == 0x09 }.first == UInt8(ascii: "=")
  }
}

extension Substring {
  /// The text without blanks at both ends; `nil` if nothing is left.
  fileprivate var trimmed: String? {
    let blanks: (Character) -> Bool = { $0 == " " || $0 == "\t" }
    var rest = self.drop(while: blanks)
    while let last = rest.last, blanks(last) { rest.removeLast() }
    return rest.isEmpty ? nil : String(rest)
  }
}
