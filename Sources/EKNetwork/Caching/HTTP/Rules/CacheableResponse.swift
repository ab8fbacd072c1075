import Foundation

/// The rules for whether a response may be stored, and is worth storing (RFC 9111 §3).
enum CacheableResponse {
  /// The final status codes that this cache understands, for `must-understand` (§5.2.2.3).
  private static let understood: Set<Int> = [
    200, 201, 202, 203, 204, 205, 300, 301, 302, 303, 307, 308, 400, 403, 404, 405, 406, 408, 409, 410, 411, 412, 413,
    414, 415, 416, 417, 421, 422, 426, 428, 429, 451, 500, 501, 502, 503, 504, 505,
  ]

  static func mayBeStored(
    method: String, url: URL, request: CacheDirectives, status: Int, fields: HeaderFieldList, response: CacheDirectives,
    freshness: ResponseFreshness, mode: CacheMode = .default
  ) -> Bool {
    guard !request.noStore, status >= 200 else { return false }
    switch status {
    // A partial response and a 304 are not complete representations. 401 and 407 are about the credentials of one
    // request, and say nothing about the next.
    case 206, 304, 401, 407: return false
    default: break
    }
    if response.mustUnderstand {
      guard understood.contains(status) else { return false }
    } else if response.noStore {
      return false
    }
    switch method {
    case "GET": break
    case "POST":
      // RFC 9110 §9.3.3: only with explicit freshness and a Content-Location that says that GET would return the same.
      guard freshness.isExplicit, let location = try? fields.single("content-location"),
        ServerURL.resolve(location, against: url).map(CacheLocation.key) == CacheLocation.key(of: url)
      else { return false }
    default: return false
    }
    // §4.1: no request ever matches it.
    guard !VaryingFields.isUnmatchable(fields) else { return false }
    // §3: explicit permission, or a status code that is cacheable by default.
    guard
      freshness.isExplicit || response.isPublic || response.isPrivate
        || ResponseFreshness.heuristicStatuses.contains(status)
    else { return false }
    // A part under the status of the whole (RFC 9110 §14.4) is not what the next request asks for.
    guard !isPart(fields) else { return false }
    if ResponseValidators(fields).exist || mode == .forceCache { return true }
    return !response.noCache
      && mayBeUsed(
        after: freshness.initialAge - freshness.lifetime, request, response, isExplicit: freshness.isExplicit)
  }

  /// Returns whether a response that cannot be validated may ever be used, given how stale it is on arrival; negative if
  /// it is fresh.
  private static func mayBeUsed(
    after staleness: Double, _ request: CacheDirectives, _ response: CacheDirectives, isExplicit: Bool
  ) -> Bool {
    if staleness < 0 { return true }
    if response.mustRevalidate { return false }
    // RFC 5861, and RFC 9111 §5.2.1.2.
    let windows = [response.staleWhileRevalidate, response.staleIfError, request.staleIfError, request.maxStale]
    // For requests that accept any staleness, only what its server speaks about is worth the space.
    return isExplicit || windows.contains { Double($0 ?? 0) > staleness }
  }

  /// Whether the fields say that the content is a part of the representation.
  private static func isPart(_ fields: HeaderFieldList) -> Bool {
    fields.values("content-range").contains {
      ContentRange($0)?.isPart(ofLength: fields.value("content-length").flatMap { Int64($0) }) == true
    }
  }
}

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
