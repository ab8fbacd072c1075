import Foundation

/// The field lines of a request, as they are written to the connection, without `Host` and `Content-Length`.
struct HeaderBlock: Sendable {
  /// The lines, each with its line end.
  let bytes: [UInt8]
  /// The request's own `Host`; `nil` for that of the URL.
  let host: String?
  /// Whether the connection must not be used for another request (RFC 9112 §9.6).
  let closes: Bool

  /// - Parameter fields: Valid fields, no name twice.
  init(_ fields: [(name: String, value: String)]) {
    var bytes: [UInt8] = []
    var (host, closes) = (String?.none, false)
    bytes.reserveCapacity(fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 })
    for (name, value) in fields {
      if HeaderSyntax.isSame(name, "host"), name.utf8.count == 4 {
        host = value
        continue
      }
      if HeaderSyntax.isSame(name, "connection"), name.utf8.count == 10 {
        closes = closes || FieldList.members(value).contains { $0.lowercased() == "close" }
      }
      Self.append(name, value, to: &bytes)
    }
    self.bytes = bytes
    self.host = host
    self.closes = closes
  }

  fileprivate static func append(_ name: String, _ value: String, to bytes: inout [UInt8]) {
    bytes.append(contentsOf: name.utf8)
    bytes.append(contentsOf: ": ".utf8)
    // Only cookies carry bytes that are not text.
    if let carried = ObsoleteText.bytes(value) { bytes += carried } else { bytes.append(contentsOf: value.utf8) }
    bytes.append(contentsOf: "\r\n".utf8)
  }
}

/// The head of a request (RFC 9112 §3).
enum RequestHead {
  /// What ends the authority of a URL (RFC 3986 §3.2).
  private static let endOfAuthority = ByteSet("/?#")

  /// - Parameters:
  ///   - host: The `Host` of the URL (§3.2).
  ///   - isForwarded: Whether a proxy forwards the request, which has the whole URL then (§3.2.2).
  ///   - length: The length of the body; `nil` if there is none, or if it is chunked, as the fields then say.
  static func bytes(
    method: String, url: URL, host: String, isForwarded: Bool = false, block: HeaderBlock, length: Int64?
  ) -> [UInt8] {
    var bytes: [UInt8] = []
    let text = url.absoluteString
    bytes.reserveCapacity(block.bytes.count + text.utf8.count + 64)
    bytes.append(contentsOf: method.utf8)
    bytes.append(UInt8(ascii: " "))
    if isForwarded { bytes.append(contentsOf: "http://\(host)".utf8) }
    appendTarget(of: text, to: &bytes)
    bytes.append(contentsOf: " HTTP/1.1\r\n".utf8)
    HeaderBlock.append("Host", block.host ?? host, to: &bytes)
    bytes += block.bytes
    if let length { HeaderBlock.append("Content-Length", "\(length)", to: &bytes) }
    bytes.append(contentsOf: "\r\n".utf8)
    return bytes
  }

  /// Returns the `Host` of a request to an origin (RFC 9112 §3.2), which has no default port.
  static func host(of origin: Origin) -> String {
    let host = HostSyntax.unbracketed(origin.host)
    // RFC 6874 §4: a zone is only meaningful on this machine.
    let literal = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host.prefix { $0 != "%" })]" : host
    let isDefaultPort = origin.port == Origin.defaultPort(isSecure: origin.scheme == "https")
    return isDefaultPort ? literal : "\(literal):\(origin.port)"
  }

  /// Appends the target in its origin form (RFC 9112 §3.2.1): the path and the query of a URL, without dot segments,
  /// which a URL of the user may still have (RFC 3986 §5.2.4).
  static func appendTarget(of url: String, to bytes: inout [UInt8]) {
    let text = Array(url.utf8)
    var start = 0
    if let colon = text.firstIndex(of: UInt8(ascii: ":")), text[(colon + 1)...].starts(with: "//".utf8) {
      start = text[(colon + 3)...].firstIndex { endOfAuthority.contains($0) } ?? text.count
    }
    let end = text[start...].firstIndex(of: UInt8(ascii: "#")) ?? text.count
    let query = text[start..<end].firstIndex(of: UInt8(ascii: "?")) ?? end
    var path = text[start..<query]
    if hasDotSegments(path) { path = ServerURL.withoutDotSegments(path) }
    if path.first != UInt8(ascii: "/") { bytes.append(UInt8(ascii: "/")) }
    appendEncoded(path, to: &bytes)
    appendEncoded(text[query..<end], to: &bytes)
  }

  private static func hasDotSegments(_ path: ArraySlice<UInt8>) -> Bool {
    zip(path, path.dropFirst()).contains { $0 == UInt8(ascii: "/") && $1 == UInt8(ascii: ".") }
  }

  /// Whatever a URL contains, a blank or a line end must not end the target.
  private static func appendEncoded(_ part: ArraySlice<UInt8>, to bytes: inout [UInt8]) {
    guard !part.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return bytes.append(contentsOf: part) }
    for byte in part {
      if byte > 0x20, byte < 0x7F { bytes.append(byte) } else { PercentEncoding.appendEncoded(byte, to: &bytes) }
    }
  }
}
