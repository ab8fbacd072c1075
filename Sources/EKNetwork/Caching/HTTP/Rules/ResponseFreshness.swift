import Foundation

/// How long a response may be used without asking the server, and how old it is (RFC 9111 §4.2).
struct ResponseFreshness: Sendable, Equatable {
  /// No heuristic keeps anything for longer than a day: after that, it is a guess about a guess.
  static let longestHeuristic: Double = 86_400
  /// RFC 9110 §15.1: the status codes for which a cache may invent a lifetime, but for 206 and 501's kin that it lists.
  static let heuristicStatuses: Set<Int> = [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501]

  /// Seconds; 0 when the response is stale from the beginning.
  let lifetime: Double
  /// Whether the server gave the lifetime itself.
  let isExplicit: Bool
  /// RFC 9111 §4.2.3, `corrected_initial_age`.
  let initialAge: Double
  let responseTime: Date

  init(status: Int, fields: CacheFields, directives: CacheDirectives, requestTime: Date, responseTime: Date) {
    let date = fields.values("date").first.flatMap { HTTPDate.parse($0, now: responseTime) }
    (lifetime, isExplicit) = Self.lifetime(
      status: status, fields: fields, directives: directives, date: date ?? responseTime, now: responseTime)
    // §4.2.3. A server's clock that is ahead of ours makes nothing younger.
    let apparentAge = max(0, date.map { responseTime.timeIntervalSince($0) } ?? 0)
    let correctedAge = Double(Self.age(fields)) + max(0, responseTime.timeIntervalSince(requestTime))
    initialAge = max(apparentAge, correctedAge)
    self.responseTime = responseTime
  }

  /// §4.2.3, `current_age`, in seconds.
  func age(at now: Date) -> Double { initialAge + max(0, now.timeIntervalSince(responseTime)) }

  /// How much longer it is fresh, in seconds; negative: how long it has been stale. A clock that was set back by more
  /// than a minute tells nothing any more: stale.
  func remaining(at now: Date) -> Double {
    let rest = lifetime - age(at: now)
    return now.timeIntervalSince(responseTime) < -60 ? min(rest, -1) : rest
  }

  /// §5.1. Of a list the first member counts; what is no number is ignored.
  private static func age(_ fields: CacheFields) -> Int64 {
    guard let value = fields.values("age").first, let first = FieldList.members(value).first else { return 0 }
    return DeltaSeconds.parse(first) ?? 0
  }

  /// §4.2.1, for a private cache.
  private static func lifetime(
    status: Int, fields: CacheFields, directives: CacheDirectives, date: Date, now: Date
  ) -> (Double, isExplicit: Bool) {
    if let maxAge = directives.maxAge { return (Double(maxAge.orStale), true) }
    let expires = fields.values("expires")
    if let first = expires.first {
      // §5.3: an invalid date, above all "0", is a time in the past.
      guard let time = HTTPDate.parse(first, now: now) else { return (0, true) }
      return (max(0, time.timeIntervalSince(date)), true)
    }
    // §4.2.2: a tenth of the time for which it has not changed.
    guard heuristicStatuses.contains(status) || directives.isPublic,
      let modified = fields.values("last-modified").first.flatMap({ HTTPDate.parse($0, now: now) })
    else { return (0, false) }
    return (min(max(0, date.timeIntervalSince(modified) / 10), longestHeuristic), false)
  }
}
