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
    // A partial response and a 304 are not complete representations. 401 and 407 are about the credentials of one
    // request, and say nothing about the next.
    guard !request.noStore, status >= 200, ![206, 304, 401, 407].contains(status) else { return false }
    if response.mustUnderstand {
      guard understood.contains(status) else { return false }
    } else if response.noStore {
      return false
    }
    switch method {
    case "GET": break
    case "POST":
      // RFC 9110 §9.3.3: only with explicit freshness and a Content-Location that says that GET would return the same, which
      // that of an error does not (§8.7).
      guard (200..<300).contains(status), freshness.isExplicit, let location = try? fields.single("content-location"),
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
  /// The most lines of each field that count: each is looked up on the disk, and no server needs to send more.
  private static let maximumLines = 8

  /// Returns the URLs whose stored responses such a response invalidates: that of the request, and those in `Location`
  /// and `Content-Location` if they have the same origin (otherwise one site could empty another's cache).
  static func urls(method: String, url: URL, status: Int, fields: HeaderFieldList) -> [URL] {
    // §4.4: a "non-error response" has a 2xx or 3xx status code.
    guard !HTTPMethod.isSafe(method), (200..<400).contains(status) else { return [] }
    var urls = [url]
    // Of different values it is unknown which is meant: it costs little to request what has not changed.
    let lines = ["location", "content-location"].flatMap { fields.values($0).prefix(maximumLines) }
    for value in lines {
      guard let other = ServerURL.resolve(value, against: url), Origin(other) == Origin(url), !urls.contains(other)
      else { continue }
      urls.append(other)
    }
    return urls
  }
}

/// The freshness lifetime and the age of a response (RFC 9111 §4.2).
struct ResponseFreshness: Sendable, Equatable {
  /// The longest heuristic lifetime, in seconds: one day.
  static let longestHeuristic: Double = 86_400
  /// The heuristically cacheable status codes of RFC 9110 §15.1, except 206.
  static let heuristicStatuses: Set<Int> = [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501]

  /// The freshness lifetime in seconds; 0 if the response is stale from the beginning.
  let lifetime: Double
  /// Whether the server specified the lifetime.
  let isExplicit: Bool
  /// RFC 9111 §4.2.3, `corrected_initial_age`.
  let initialAge: Double
  let responseTime: Date

  init(status: Int, fields: HeaderFieldList, directives: CacheDirectives, requestTime: Date, responseTime: Date) {
    let date = fields.values("date").first.flatMap { HTTPDate.parse($0, now: responseTime) }
    (lifetime, isExplicit) = Self.lifetime(
      status: status, fields: fields, directives: directives, date: date ?? responseTime, now: responseTime)
    // §4.2.3. If the server's clock is ahead of ours, the response does not become younger.
    let apparentAge = max(0, date.map { responseTime.timeIntervalSince($0) } ?? 0)
    let correctedAge = Double(Self.age(fields)) + max(0, responseTime.timeIntervalSince(requestTime))
    initialAge = max(apparentAge, correctedAge)
    self.responseTime = responseTime
  }

  /// Returns `current_age` (§4.2.3), in seconds.
  func age(at now: Date) -> Double { initialAge + max(0, now.timeIntervalSince(responseTime)) }

  /// Returns the remaining freshness lifetime in seconds; negative if the response is stale. After the clock was set
  /// back by more than a minute, the age is unknown and the response counts as stale.
  func remaining(at now: Date) -> Double {
    let rest = lifetime - age(at: now)
    return now.timeIntervalSince(responseTime) < -60 ? min(rest, -1) : rest
  }

  /// §5.1. Of a list the first member counts; an invalid number is ignored.
  private static func age(_ fields: HeaderFieldList) -> Int64 {
    guard let value = fields.values("age").first, let first = FieldList.members(value).first else { return 0 }
    return DeltaSeconds.parse(first) ?? 0
  }

  /// §4.2.1, for a private cache.
  private static func lifetime(
    status: Int, fields: HeaderFieldList, directives: CacheDirectives, date: Date, now: Date
  ) -> (Double, isExplicit: Bool) {
    if let maxAge = directives.maxAge { return (Double(maxAge), true) }
    let expires = fields.values("expires")
    if let first = expires.first {
      // §5.3: an invalid date, above all "0", is a time in the past.
      guard let time = HTTPDate.parse(first, now: now) else { return (0, true) }
      return (max(0, time.timeIntervalSince(date)), true)
    }
    // §4.2.2: a tenth of the time since the last modification.
    guard heuristicStatuses.contains(status) || directives.isPublic,
      let modified = fields.values("last-modified").first.flatMap({ HTTPDate.parse($0, now: now) })
    else { return (0, false) }
    return (min(max(0, date.timeIntervalSince(modified) / 10), longestHeuristic), false)
  }
}
