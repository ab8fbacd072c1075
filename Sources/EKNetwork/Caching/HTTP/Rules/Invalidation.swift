import Foundation

/// The stored responses that an unsafe request invalidates (RFC 9111 §4.4).
enum Invalidation {
  /// RFC 9110 §9.2.1. Unknown methods are assumed to be unsafe.
  static func isSafe(_ method: String) -> Bool {
    method == "GET" || method == "HEAD" || method == "OPTIONS" || method == "TRACE"
  }

  /// Returns the URLs whose stored responses such a response invalidates: that of the request, and those in `Location`
  /// and `Content-Location` if they have the same origin (otherwise one site could empty another's cache).
  static func urls(method: String, url: URL, status: Int, fields: HeaderFieldList) -> [URL] {
    // §4.4: a "non-error response" has a 2xx or 3xx status code.
    guard !isSafe(method), (200..<400).contains(status) else { return [] }
    var urls = [url]
    // Of different values it is unknown which is meant: it costs little to request what has not changed.
    for value in fields.values("location") + fields.values("content-location") {
      guard let other = ServerURL.resolve(value, against: url), isSameOrigin(other, url), !urls.contains(other)
      else { continue }
      urls.append(other)
    }
    return urls
  }

  /// RFC 6454 §5: scheme, host and port.
  private static func isSameOrigin(_ first: URL, _ second: URL) -> Bool {
    func port(_ url: URL) -> Int { url.port ?? Origin.defaultPort(isSecure: url.scheme?.lowercased() == "https") }
    return first.scheme?.lowercased() == second.scheme?.lowercased()
      && first.host?.lowercased() == second.host?.lowercased() && port(first) == port(second)
  }
}
