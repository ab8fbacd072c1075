import Foundation

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
    if let maxAge = directives.maxAge { return (Double(maxAge.orStale), true) }
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

extension HTTPDate {
  private static let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// Returns the date as an IMF-fixdate (RFC 9110 §5.6.7), in whole seconds.
  static func text(_ date: Date) -> String {
    // Years 1970 to 9999, which have four digits.
    let seconds = Int64(min(max(0, date.timeIntervalSince1970), 253_402_300_799))
    let (days, time) = (Int(seconds / 86_400), Int(seconds % 86_400))
    // Converts days to a civil date, with years that begin in March so that a leap day is the last day of its year.
    let shifted = days + 719_468
    let era = shifted / 146_097
    let dayOfEra = shifted % 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let month = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * month + 2) / 5 + 1
    let monthOfYear = month < 10 ? month + 2 : month - 10
    let year = yearOfEra + era * 400 + (monthOfYear < 2 ? 1 : 0)
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(weekdays[days % 7]), \(two(day)) \(months[monthOfYear]) \(year) "
      + "\(two(time / 3600)):\(two(time / 60 % 60)):\(two(time % 60)) GMT"
  }
}
