import Foundation

/// What a host has to look like before a connection is made to it.
///
/// `URL.host` undoes percent-encoding, so that the host of `ws://127.0.0.1%2F.trusted.com/` ends in `.trusted.com`:
/// written into another URL, it ends at the slash. RFC 3986 §3.2.2 allows such a name, and no resolver does.
enum HostSyntax {
  /// Whether the host, its percent-encoding undone, is an IPv6 address without brackets, or a name without the
  /// characters that the URL Standard forbids in one (WHATWG URL §3.5).
  static func isValid(_ host: String) -> Bool {
    guard !host.isEmpty else { return false }
    if host.utf8.contains(UInt8(ascii: ":")) { return isIPv6(host) }
    // What a name is mapped to when it is looked up (RFC 5895): the full-width solidus is a solidus then.
    return isName(host)
      && (host.utf8.allSatisfy { $0 < 0x80 } || isName(host.precomposedStringWithCompatibilityMapping))
  }

  /// An IPv6 address as the sockets take it.
  static func unbracketed(_ host: String) -> String {
    host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
  }

  private static let forbidden = ByteSet(#"#%/:<>?@[\]^|"#)

  private static func isName(_ name: String) -> Bool {
    name.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F && !forbidden.contains($0) }
  }

  /// An address, with a zone or without (RFC 4007 §11).
  private static func isIPv6(_ host: String) -> Bool {
    let parts = host.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
    var address = in6_addr()
    guard !host.utf8.contains(0), inet_pton(AF_INET6, String(parts[0]), &address) == 1 else { return false }
    guard parts.count == 2 else { return true }
    return !parts[1].isEmpty && parts[1].utf8.allSatisfy { isName(String(UnicodeScalar($0))) && $0 < 0x80 }
  }
}
