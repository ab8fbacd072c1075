@testable import EKNetwork

/// A clock whose sleeps return at once, and are recorded.
struct RecordingClock: Clock, Sendable {
  struct Instant: InstantProtocol {
    var offset: Duration
    func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    func duration(to other: Instant) -> Duration { other.offset - offset }
    static func < (lhs: Instant, rhs: Instant) -> Bool { lhs.offset < rhs.offset }
  }

  private let elapsed = Locked(Duration.zero)
  private let recorded = Locked<[Duration]>([])

  var now: Instant { Instant(offset: elapsed.withLock { $0 }) }
  var minimumResolution: Duration { .nanoseconds(1) }
  var sleeps: [Duration] { recorded.withLock { $0 } }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    try Task.checkCancellation()
    let duration = now.duration(to: deadline)
    elapsed.withLock { $0 += duration }
    recorded.withLock { $0.append(duration) }
  }
}

/// A clock that never advances: its sleeps end only by cancellation.
struct StoppedClock: Clock, Sendable {
  let isSleeping = AsyncStream<Void>.makeStream()

  var now: RecordingClock.Instant { RecordingClock.Instant(offset: .zero) }
  var minimumResolution: Duration { .nanoseconds(1) }

  func sleep(until deadline: RecordingClock.Instant, tolerance: Duration?) async throws {
    isSleeping.continuation.finish()
    for await _ in AsyncStream<Void>.makeStream().stream {}
    try Task.checkCancellation()
  }
}
