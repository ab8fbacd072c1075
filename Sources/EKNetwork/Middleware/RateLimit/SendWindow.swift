/// When the last requests were sent, so that no more than so many are within any period.
///
/// Not a bucket that refills: that one lets twice as many go within one period. Times are durations since some start.
struct SendWindow: Sendable {
  private let limit: Int
  private let period: Duration
  // A ring once it is full: the oldest gives its place to the newest.
  private var times: ContiguousArray<Duration> = []
  private var oldest = 0

  init(limit: Int, period: Duration) {
    self.limit = max(1, limit)
    self.period = period
  }

  /// The earliest time for a request that others go before.
  ///
  /// - Parameter position: How many; 0 is the next one.
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

  /// Whether it forbids nothing, as if nothing had been sent.
  func isIdle(at now: Duration) -> Bool {
    times.isEmpty || time(times.count - 1) + period <= now
  }

  private func time(_ index: Int) -> Duration { times[(oldest + index) % times.count] }
}
