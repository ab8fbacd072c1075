import Foundation

/// A type-erased clock for a rate limiter, whose times are durations since it was created.
struct RateLimitClock: Sendable {
  let now: @Sendable () -> Duration
  let sleep: @Sendable (_ until: Duration) async throws -> Void
  /// Returns the date that dates in header fields are compared with.
  let date: @Sendable () -> Date

  init<C: Clock>(_ clock: C, date: @escaping @Sendable () -> Date = { Date() }) where C.Duration == Duration {
    let start = clock.now
    now = { start.duration(to: clock.now) }
    sleep = { try await clock.sleep(until: start.advanced(by: $0), tolerance: nil) }
    self.date = date
  }
}
