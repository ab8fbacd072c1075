import Foundation

/// The times that a rate limiter needs, of any clock: as durations since it was made.
struct RateLimitClock: Sendable {
  let now: @Sendable () -> Duration
  let sleep: @Sendable (_ until: Duration) async throws -> Void
  /// What dates in header fields are compared with.
  let date: @Sendable () -> Date

  init<C: Clock>(_ clock: C, date: @escaping @Sendable () -> Date = { Date() }) where C.Duration == Duration {
    let start = clock.now
    now = { start.duration(to: clock.now) }
    sleep = { try await clock.sleep(until: start.advanced(by: $0), tolerance: nil) }
    self.date = date
  }
}
