import Foundation

/// The validation of a host before a connection is made to it.
///
/// `URL.host` decodes percent-encoding, so that the host of `ws://127.0.0.1%2F.trusted.com/` ends in `.trusted.com`:
/// written into another URL, it ends at the slash. RFC 3986 §3.2.2 allows such a name, but no resolver does.
enum HostSyntax {
  /// Returns whether the percent-decoded host is an IPv6 address without brackets, or a name without the characters
  /// that the URL Standard forbids in one (WHATWG URL §3.5).
  static func isValid(_ host: String) -> Bool {
    guard !host.isEmpty else { return false }
    if host.utf8.contains(UInt8(ascii: ":")) { return isIPv6(host) }
    // A name is mapped when it is looked up (RFC 5895): a full-width solidus becomes a solidus.
    return isName(host)
      && (host.utf8.allSatisfy { $0 < 0x80 } || isName(host.precomposedStringWithCompatibilityMapping))
  }

  /// Returns an IPv6 address without brackets, as sockets require it.
  static func unbracketed(_ host: String) -> String {
    host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
  }

  /// Returns whether a host is an IP address, without brackets, in any form that a resolver may take for one: any name
  /// whose last label is a number (WHATWG URL §3.5, "ends in a number checker"), such as `0x7f.1`.
  static func isAddress(_ host: String) -> Bool {
    if host.utf8.contains(UInt8(ascii: ":")) { return true }
    // A name is mapped when it is looked up (RFC 5895): full-width digits and dots become ordinary ones.
    let isASCII = host.utf8.allSatisfy { $0 < 0x80 }
    let name = isASCII ? host : host.precomposedStringWithCompatibilityMapping.replacingOccurrences(of: "。", with: ".")
    var labels = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    if labels.count > 1, labels.last?.isEmpty == true { labels.removeLast() }
    guard let last = labels.last, let first = last.first, first.isDigit else { return false }
    if last.allSatisfy(\.isDigit) { return true }
    return first == 0x30 && last.dropFirst().first.map { $0 | 0x20 } == UInt8(ascii: "x")
      && last.dropFirst(2).allSatisfy { PercentEncoding.value(ofDigit: $0) != nil }
  }

  /// Returns the bytes of an address without brackets and zone; `nil` for a name.
  static func address(_ text: String) -> [UInt8]? {
    guard !text.utf8.contains(0) else { return nil }
    let (family, count) = text.utf8.contains(UInt8(ascii: ":")) ? (AF_INET6, 16) : (AF_INET, 4)
    var bytes = [UInt8](repeating: 0, count: count)
    return bytes.withUnsafeMutableBytes { inet_pton(family, text, $0.baseAddress) } == 1 ? bytes : nil
  }

  private static let forbidden = ByteSet(#"#%/:<>?@[\]^|"#)

  private static func isName(_ name: String) -> Bool {
    name.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F && !forbidden.contains($0) }
  }

  /// Returns whether the host is an IPv6 address, with or without a zone (RFC 4007 §11).
  private static func isIPv6(_ host: String) -> Bool {
    let parts = host.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
    guard address(String(parts[0]))?.count == 16 else { return false }
    guard parts.count == 2 else { return true }
    return !parts[1].isEmpty && parts[1].utf8.allSatisfy { isName(String(UnicodeScalar($0))) && $0 < 0x80 }
  }
}
