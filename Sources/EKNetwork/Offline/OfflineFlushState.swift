/// When a queue that empties itself does so. A value that decides and does nothing.
struct OfflineFlushState {
  private enum Phase {
    case idle
    case flushing
    /// For the end of the backoff.
    case waiting
  }

  /// The longest that a server's `Retry-After` is granted.
  private static let longestWish = Duration.seconds(300)

  private let backoff: any PrismRetryPolicy
  private var phase = Phase.idle
  private var failures = 0

  init(backoff: any PrismRetryPolicy) { self.backoff = backoff }

  /// A request has come. Whether to flush now: one that fails is not tried sooner because there are more.
  mutating func enqueued() -> Bool {
    guard phase == .idle else { return false }
    phase = .flushing
    return true
  }

  /// The network is back, or the wait is over. Whether to flush now.
  mutating func woken(countsFailures: Bool = true) -> Bool {
    if !countsFailures { failures = 0 }
    guard phase == .waiting else { return false }
    phase = .flushing
    return true
  }

  /// A flush has delivered everything. Whether to flush again, for what has come meanwhile.
  mutating func succeeded(isEmpty: Bool) -> Bool {
    failures = 0
    phase = isEmpty ? .idle : .flushing
    return !isEmpty
  }

  /// A flush that was asked for has delivered everything. Whether there is a wait to be ended, so that what comes next goes
  /// at once.
  mutating func flushed() -> Bool {
    guard phase == .waiting else { return false }
    (phase, failures) = (.idle, 0)
    return true
  }

  /// A flush has stopped at a request that could not be delivered yet. How long to wait.
  mutating func failed(retryAfter: Duration?) -> Duration {
    phase = .waiting
    defer { if failures < .max { failures += 1 } }
    return max(backoff.delay(for: failures), min(retryAfter ?? .zero, Self.longestWish), .zero)
  }

  /// The flush was cancelled.
  mutating func cancelled() { phase = .idle }
}
