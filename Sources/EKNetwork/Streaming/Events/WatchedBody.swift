import Foundation

/// The body of an event stream, which fails with `URLError.timedOut` after too long a silence. Time during which no
/// reader waits does not count as silence.
final class WatchedBody: WrappingBody {
  private struct State {
    var heartbeat: HeartbeatState
    /// The elapsed time at which a reader began to wait; `nil` while none waits.
    var waitingSince: Duration?
    /// The elapsed time at which bytes last arrived.
    var lastArrival = Duration.zero
    var isTimedOut = false
    var isInterrupted = false
    var isOver = false
    var watch: Task<Void, Never>?
  }

  private static let shortestPause = Duration.milliseconds(100)

  let body: any TransportBody
  private let elapsed: ElapsedTime
  private let sleep: @Sendable (Duration) async throws -> Void
  private let state: Locked<State>

  init(_ body: any TransportBody, heartbeat: HeartbeatState, clock: any Clock<Duration>) {
    self.body = body
    elapsed = clock.stopwatch()
    sleep = { try await clock.sleep(for: $0.sleepable) }
    state = Locked(State(heartbeat: heartbeat))
  }

  deinit { state.withLock { $0.watch }?.cancel() }

  func receivedComment() { state.withLock { $0.heartbeat.receivedComment() } }

  var isInterrupted: Bool { state.withLock { $0.isInterrupted } }

  /// Ends the exchange for a reader that reads on: what has arrived is still read, and what has not will not arrive. A server
  /// without IDs would not send it again.
  func interrupt() {
    let isOver = state.withLock { state in
      // Another call may have ended it, and its reader may not have noticed yet.
      if !state.isOver { state.isInterrupted = true }
      return state.isOver
    }
    guard !isOver else { return }
    body.stopReceiving()
    finish()
  }

  func next() async throws -> Data? {
    begin()
    do {
      let chunk = try await body.next()
      let now = elapsed.duration
      state.withLock { state in
        state.heartbeat.received(after: now - state.lastArrival)
        state.lastArrival = now
        state.waitingSince = nil
      }
      if chunk == nil { finish() }
      return chunk
    } catch {
      let isTimedOut = state.withLock { $0.isTimedOut }
      finish()
      throw isTimedOut && !Task.isCancelled ? URLError(.timedOut) : error
    }
  }

  func cancel(because error: any Error) {
    body.cancel(because: error)
    finish()
  }

  private func begin() {
    let now = elapsed.duration
    let isFirst = state.withLock { state in
      state.waitingSince = now
      guard state.watch == nil, !state.isOver else { return false }
      // Pauses are measured from the first wait.
      state.lastArrival = now
      return true
    }
    guard isFirst else { return }
    let task = Task { [weak self, sleep] in
      while let wait = self?.timeUntilNextCheck() {
        guard (try? await sleep(wait)) != nil else { return }
      }
    }
    let isLate = state.withLock { state in
      state.watch = task
      return state.isOver
    }
    if isLate { task.cancel() }
  }

  /// Returns how long to sleep until the silence could be too long, whatever arrives meanwhile; `nil` when the body has
  /// ended or timed out.
  private func timeUntilNextCheck() -> Duration? {
    let now = elapsed.duration
    let (wait, expires): (Duration?, Bool) = state.withLock { state in
      guard !state.isOver else { return (nil, false) }
      // Detecting a heartbeat shortens the maximum silence.
      let shortest = state.heartbeat.shortestAllowance
      // While nobody reads, a very short silence must not be looked for all the time.
      guard let since = state.waitingSince else { return (max(shortest, Self.shortestPause), false) }
      let rest = state.heartbeat.allowance - (now - max(since, state.lastArrival))
      guard rest <= .zero else { return (min(rest, shortest), false) }
      state.isTimedOut = true
      return (nil, true)
    }
    if expires { body.cancel(because: URLError(.timedOut)) }
    return wait
  }

  private func finish() {
    let watch = state.withLock { state in
      state.isOver = true
      return state.watch
    }
    watch?.cancel()
  }
}
