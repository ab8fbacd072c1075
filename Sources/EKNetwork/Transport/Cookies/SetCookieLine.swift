import Foundation

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
  /// Whether name and value are UTF-8. Otherwise each of their characters is one byte (ISO 8859-1).
  private(set) var isUTF8: Bool
  private(set) var expires: Date?
  private(set) var maxAge: Int?
  private(set) var domain: String?
  private(set) var path: String?
  private(set) var isSecure = false
  private(set) var isHTTPOnly = false
  private(set) var sameSite: SameSite?

  /// Returns `nil` for a line that sets no cookie.
  init?(bytes line: [UInt8]) {
    // A control character can only be an attack on whatever parses the cookie next.
    guard !line.contains(where: { ($0 < 0x20 && $0 != 0x09) || $0 == 0x7f }) else { return nil }
    var parts = line.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)[...]
    guard let pair = parts.popFirst(), pair.count <= 2 * Self.largestPair else { return nil }
    guard case (let name, let value?) = Self.pair(pair), !name.isEmpty, name.count + value.count <= Self.largestPair
    else { return nil }
    // Both, or neither: the pair is written as one.
    if let name = Self.utf8(name), let value = Self.utf8(value) {
      (self.name, self.value, isUTF8) = (name, value, true)
    } else {
      (self.name, self.value, isUTF8) = (Self.latin1(name), Self.latin1(value), false)
    }
    for part in parts where part.count <= Self.largestAttribute {
      let (name, value) = Self.pair(part)
      apply(Self.latin1(name).lowercased(), value.map { Self.utf8($0) ?? Self.latin1($0) } ?? "")
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

  private static func pair(_ part: ArraySlice<UInt8>) -> (name: ArraySlice<UInt8>, value: ArraySlice<UInt8>?) {
    guard let equals = part.firstIndex(of: UInt8(ascii: "=")) else { return (part.trimmingBlanks(), nil) }
    return (part[..<equals].trimmingBlanks(), part[(equals + 1)...].trimmingBlanks())
  }

  private static func utf8(_ bytes: ArraySlice<UInt8>) -> String? {
    let text = bytes.withUnsafeBytes { String(utf8Bytes: $0) }
    return text.flatMap { ObsoleteText.isCarried(in: $0) ? nil : $0 }
  }

  private static func latin1(_ bytes: ArraySlice<UInt8>) -> String {
    String(String.UnicodeScalarView(bytes.lazy.map { Unicode.Scalar($0) }))
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
    let rest = bytes.drop(while: HeaderSyntax.isBlank)
    // Longer names exist in theory; the limit keeps a head full of commas from taking quadratic time.
    let token = rest.prefix(largestPair / 16).prefix(while: HeaderSyntax.token.contains)
    return !token.isEmpty && rest.dropFirst(token.count).drop(while: HeaderSyntax.isBlank).first == UInt8(ascii: "=")
  }
}

extension CookieDate {
  static func parse(_ text: String) -> Date? { seconds(text).map { Date(timeIntervalSince1970: $0) } }
}
