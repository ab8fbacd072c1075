import Foundation

/// Which stored responses an unsafe request makes invalid (RFC 9111 §4.4).
enum Invalidation {
  /// RFC 9110 §9.2.1. Of a method that is not known, the worst is assumed.
  static func isSafe(_ method: String) -> Bool {
    method == "GET" || method == "HEAD" || method == "OPTIONS" || method == "TRACE"
  }

  /// The URLs whose stored responses are invalid after a response to such a request: the request's own, and those that
  /// `Location` and `Content-Location` name, of the same origin alone (else one site could empty another's cache).
  static func urls(method: String, url: URL, status: Int, fields: CacheFields) -> [URL] {
    // §4.4: a "non-error response" has a 2xx or 3xx status code.
    guard !isSafe(method), (200..<400).contains(status) else { return [] }
    var urls = [url]
    for name in ["location", "content-location"] {
      guard let value = fields.value(name), let other = URL(string: value, relativeTo: url)?.absoluteURL,
        isSameOrigin(other, url), !urls.contains(other)
      else { continue }
      urls.append(other)
    }
    return urls
  }

  /// RFC 6454 §5: scheme, host and port.
  private static func isSameOrigin(_ first: URL, _ second: URL) -> Bool {
    func port(_ url: URL) -> Int { url.port ?? (url.scheme?.lowercased() == "https" ? 443 : 80) }
    return first.scheme?.lowercased() == second.scheme?.lowercased()
      && first.host?.lowercased() == second.host?.lowercased() && port(first) == port(second)
  }
}
