/// A sliding window over the times of the last requests, which limits their number in any period.
///
/// Not a token bucket, which allows twice as many within one period. Times are durations since a fixed start.
struct SendWindow: Sendable {
  private let limit: Int
  private let period: Duration
  // A ring buffer once it is full: the newest replaces the oldest.
  private var times: ContiguousArray<Duration> = []
  private var oldest = 0

  init(limit: Int, period: Duration) {
    self.limit = max(1, limit)
    self.period = period
  }

  /// Returns the earliest time for a request with others ahead of it.
  ///
  /// - Parameter position: The number of requests ahead; 0 for the next one.
  func opening(position: Int = 0, at now: Duration) -> Duration {
    let laps = position / limit
    let before = times.count + position % limit - limit
    guard before >= 0 else { return now + period * laps }
    return max(now, time(before) + period) + period * laps
  }

  mutating func record(_ now: Duration) {
    if times.count < limit {
      times.append(now)
    } else {
      times[oldest] = now
      oldest = (oldest + 1) % limit
    }
  }

  /// Returns whether it delays no request, as if nothing had been sent.
  func isIdle(at now: Duration) -> Bool {
    times.isEmpty || time(times.count - 1) + period <= now
  }

  private func time(_ index: Int) -> Duration { times[(oldest + index) % times.count] }
}
