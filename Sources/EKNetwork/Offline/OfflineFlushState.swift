/// Decides when a queue flushes automatically. A value type without side effects.
struct OfflineFlushState {
  private enum Phase {
    case idle
    case flushing
    /// Waiting for the end of the backoff.
    case waiting
  }

  /// The maximum for a server's `Retry-After`.
  private static let maximumRetryAfter = Duration.seconds(300)

  private let backoff: any PrismRetryPolicy
  private var phase = Phase.idle
  private var failures = 0

  init(backoff: any PrismRetryPolicy) { self.backoff = backoff }

  /// Records a new request and returns whether to flush now: more requests do not shorten the wait after a failure.
  mutating func enqueued() -> Bool {
    guard phase == .idle else { return false }
    phase = .flushing
    return true
  }

  /// Records that the network is back or the wait is over, and returns whether to flush now.
  mutating func woken(countsFailures: Bool = true) -> Bool {
    if !countsFailures { failures = 0 }
    guard phase == .waiting else { return false }
    phase = .flushing
    return true
  }

  /// Records that a flush has delivered everything, and returns whether to flush again for requests that came
  /// meanwhile.
  mutating func succeeded(isEmpty: Bool) -> Bool {
    failures = 0
    phase = isEmpty ? .idle : .flushing
    return !isEmpty
  }

  /// Records that an explicit flush has delivered everything, and returns whether to end a wait, so that the next
  /// request is sent at once.
  mutating func flushed() -> Bool {
    guard phase == .waiting else { return false }
    (phase, failures) = (.idle, 0)
    return true
  }

  /// Records that a flush has stopped at a request that could not be delivered yet, and returns how long to wait.
  mutating func failed(retryAfter: Duration?) -> Duration {
    phase = .waiting
    defer { if failures < .max { failures += 1 } }
    return max(backoff.delay(for: failures), min(retryAfter ?? .zero, Self.maximumRetryAfter), .zero)
  }

  /// Records that the flush was cancelled.
  mutating func cancelled() { phase = .idle }
}
