import Foundation

/// The URLs that servers send in header fields, such as `Location`.
///
/// Servers send what RFC 3986 forbids, and `URL(string:)` then encodes every `%` once more, so that another resource is
/// requested. Here only what is forbidden is encoded, and where RFC 3986 has no rule the one of the WHATWG URL standard
/// applies, which is what other clients follow.
enum ServerURL {
  /// The schemes whose URLs have an authority, and in which clients read `\` as `/` (WHATWG URL, "special scheme").
  private static let special: Set<String> = ["http", "https", "ws", "wss", "ftp"]
  /// The characters of a scheme (RFC 3986 §3.1).
  private static let scheme = ByteSet.alphanumerics(and: "+-.")
  /// The characters of a user, besides encoded ones (RFC 3986 §3.2.1).
  private static let user = ByteSet.alphanumerics(and: "-._~!$&'()*+,;=:")
  /// The characters of a query or a fragment, besides encoded ones (RFC 3986 §3.4).
  private static let query = ByteSet.alphanumerics(and: "-._~!$&'()*+,;=:@/?")

  /// Returns the absolute URL of a reference (RFC 3986 §5.2); `nil` if it has an invalid host or port, or has no scheme
  /// and there is no base. An empty reference is the base without its fragment (§4.4).
  static func resolve(_ reference: String, against base: URL? = nil) -> URL? {
    guard let base else { return Parts(cleaned(reference), scheme: nil).url }
    let start = Parts(Array(base.absoluteString.utf8), scheme: nil)
    var parts = Parts(cleaned(reference), scheme: start.scheme)
    parts.resolve(against: start)
    return parts.url
  }

  /// Returns the bytes without surrounding blanks, and without tabs and line breaks (WHATWG URL, "basic URL parser").
  private static func cleaned(_ text: String) -> [UInt8] {
    var bytes = text.utf8[...]
    while let first = bytes.first, first <= 0x20 { bytes.removeFirst() }
    while let last = bytes.last, last <= 0x20 { bytes.removeLast() }
    return bytes.filter { $0 != 0x09 && $0 != 0x0a && $0 != 0x0d }
  }

  /// Returns a path without dot segments (RFC 3986 §5.2.4). An encoded dot is a dot (§6.2.2.2; WHATWG URL, "double-dot
  /// URL path segment").
  static func withoutDotSegments(_ path: ArraySlice<UInt8>) -> ArraySlice<UInt8> { Parts.withoutDotSegments(path) }

  /// The components of a URL or a reference (RFC 3986 §3), not yet encoded.
  private struct Parts {
    var scheme: ArraySlice<UInt8>?
    var authority: ArraySlice<UInt8>?
    var path: ArraySlice<UInt8>
    var query: ArraySlice<UInt8>?
    var fragment: ArraySlice<UInt8>?

    /// - Parameter base: The scheme of the base.
    init(_ text: [UInt8], scheme base: ArraySlice<UInt8>?) {
      var rest = text[...]
      let colon = rest.firstIndex { !ServerURL.scheme.contains($0) }
      if let colon, rest[colon] == UInt8(ascii: ":"), let first = rest.first, Self.isLetter(first) {
        scheme = rest[..<colon]
        rest = rest[(colon + 1)...]
      }
      let isSpecial = (scheme ?? base).map { special.contains(Self.lowercased($0)) } ?? false
      if let hash = rest.firstIndex(of: UInt8(ascii: "#")) {
        fragment = rest[(hash + 1)...]
        rest = rest[..<hash]
      }
      if let mark = rest.firstIndex(of: UInt8(ascii: "?")) {
        query = rest[(mark + 1)...]
        rest = rest[..<mark]
      }
      if isSpecial { for index in rest.indices where rest[index] == UInt8(ascii: "\\") { rest[index] = Self.slash } }
      if rest.starts(with: [Self.slash, Self.slash]) {
        rest = rest.dropFirst(2)
        let end = rest.firstIndex(of: Self.slash) ?? rest.endIndex
        authority = rest[..<end]
        rest = rest[end...]
      } else if isSpecial, let own = scheme, let base, Self.lowercased(own) == Self.lowercased(base) {
        // RFC 3986 §5.2.2: "http:path" is relative for clients that are not strict, which all are.
        scheme = nil
      }
      path = rest
    }

    /// Resolves a reference (RFC 3986 §5.2.2).
    mutating func resolve(against base: Parts) {
      if scheme == nil {
        scheme = base.scheme
        if authority == nil {
          authority = base.authority
          guard !path.isEmpty else {
            path = base.path
            query = query ?? base.query
            return
          }
          // §5.2.3
          let folder = base.path.lastIndex(of: Self.slash).map { base.path[...$0] } ?? [Self.slash]
          if path.first != Self.slash { path = folder + path }
        }
      }
      if authority != nil { path = Self.withoutDotSegments(path) }
    }

    /// The URL, with everything encoded that has to be.
    var url: URL? {
      guard let scheme else { return nil }
      var text = Array(scheme) + [UInt8(ascii: ":")]
      if let authority {
        text += [Self.slash, Self.slash]
        let isSpecial = special.contains(Self.lowercased(scheme))
        guard Self.append(authority: authority, isSpecial: isSpecial, to: &text) else { return nil }
      }
      Self.append(path, to: &text, allowed: PercentEncoding.path)
      for (mark, part) in [(UInt8(ascii: "?"), query), (UInt8(ascii: "#"), fragment)] {
        guard let part else { continue }
        text.append(mark)
        Self.append(part, to: &text, allowed: ServerURL.query)
      }
      let string = String(decoding: text, as: UTF8.self)
      // Foundation encodes what it does not accept: then it was not meant for a URL.
      guard let url = URL(string: string), url.absoluteString == string else { return nil }
      return url
    }

    static func withoutDotSegments(_ path: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
      guard path.contains(UInt8(ascii: ".")) || path.contains(UInt8(ascii: "%")) else { return path }
      let segments = path.split(separator: slash, omittingEmptySubsequences: false)
      var kept: [ArraySlice<UInt8>] = []
      for (index, segment) in segments.enumerated() {
        let dots = dots(in: segment)
        if dots == 2, kept.count > 1 { kept.removeLast() }
        if dots == nil { kept.append(segment) } else if index == segments.count - 1 { kept.append([]) }
      }
      return ArraySlice(kept.joined(separator: [slash]))
    }

    /// Returns 1 or 2 for a segment that consists of so many dots.
    private static func dots(in segment: ArraySlice<UInt8>) -> Int? {
      guard !segment.isEmpty, segment.count <= 6 else { return nil }
      let dots = lowercased(segment).replacingOccurrences(of: "%2e", with: ".")
      return dots == "." ? 1 : dots == ".." ? 2 : nil
    }

    /// Returns whether the authority is valid (RFC 3986 §3.2). The last `@` ends the user, as for every client.
    private static func append(authority: ArraySlice<UInt8>, isSpecial: Bool, to text: inout [UInt8]) -> Bool {
      var host = authority
      if let end = authority.lastIndex(of: UInt8(ascii: "@")) {
        append(authority[..<end], to: &text, allowed: ServerURL.user)
        text.append(UInt8(ascii: "@"))
        host = authority[(end + 1)...]
      }
      var port: ArraySlice<UInt8> = []
      let end = host.lastIndex(of: UInt8(ascii: "]")) ?? host.startIndex
      if let colon = host[end...].lastIndex(of: UInt8(ascii: ":")) {
        port = host[colon...]
        host = host[..<colon]
        guard port.count == 1 || UInt16(String(decoding: port.dropFirst(), as: UTF8.self)) != nil else { return false }
      }
      let name = String(decoding: host, as: UTF8.self).removingPercentEncoding
      // What is encoded in a host of other schemes stays so: it may be the path of a socket.
      if let name, !name.utf8.allSatisfy({ $0 < 0x80 }), isSpecial || host.contains(where: { $0 >= 0x80 }) {
        // Foundation writes an internationalised name in ASCII (RFC 5891 §4.4), and would parse one with an encoded `/` or
        // `@` as more than a host.
        guard HostSyntax.isValid(name),
          let ascii = URL(string: "http://\(name)/")?.absoluteString.dropFirst("http://".count).dropLast(),
          ascii.utf8.allSatisfy({ $0 < 0x80 })
        else { return false }
        text += Array(ascii.utf8)
      } else {
        text += host
      }
      text += port
      return true
    }

    /// Appends a component, in which encoded characters stay as they are.
    private static func append(_ part: ArraySlice<UInt8>, to text: inout [UInt8], allowed: ByteSet) {
      for index in part.indices {
        let byte = part[index]
        if allowed.contains(byte) || PercentEncoding.byte(in: part, at: index) != nil {
          text.append(byte)
        } else {
          PercentEncoding.appendEncoded(byte, to: &text)
        }
      }
    }

    private static let slash = UInt8(ascii: "/")

    private static func lowercased(_ bytes: ArraySlice<UInt8>) -> String {
      String(decoding: bytes, as: UTF8.self).lowercased()
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }
  }
}
