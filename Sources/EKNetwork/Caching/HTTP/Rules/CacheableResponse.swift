import Foundation

/// Whether a response may be stored, and is worth it (RFC 9111 §3).
enum CacheableResponse {
  /// The final status codes that this cache understands, for `must-understand` (§5.2.2.3).
  private static let understood: Set<Int> = [
    200, 201, 202, 203, 204, 205, 300, 301, 302, 303, 307, 308, 400, 403, 404, 405, 406, 408, 409, 410, 411, 412, 413,
    414, 415, 416, 417, 421, 422, 426, 428, 429, 451, 500, 501, 502, 503, 504, 505,
  ]

  static func mayBeStored(
    method: String, url: URL, request: CacheDirectives, status: Int, fields: CacheFields, response: CacheDirectives,
    freshness: ResponseFreshness
  ) -> Bool {
    guard !request.noStore, status >= 200 else { return false }
    switch status {
    // A part, and a verdict on a client's copy, are no representations. A request for credentials says what was wrong
    // with one request, and not what the next one shall be given.
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
      // RFC 9110 §9.3.3: with explicit freshness, and a Content-Location that says that this is what GET would return.
      guard freshness.isExplicit, let location = fields.value("content-location"),
        URL(string: location, relativeTo: url)?.absoluteString == url.absoluteString
      else { return false }
    default: return false
    }
    // §4.1: nothing matches it, ever.
    guard !VaryingFields.isUnmatchable(fields) else { return false }
    // §3: explicit permission, or a status code that is cacheable by default.
    guard
      freshness.isExplicit || response.isPublic || response.isPrivate
        || ResponseFreshness.heuristicStatuses.contains(status)
    else { return false }
    // What is stale at once and cannot be validated would never be used.
    return ResponseValidators(fields).exist || (freshness.lifetime > freshness.initialAge && !response.noCache)
  }
}
