import Dispatch

/// Passes one request's byte counts, from any thread, through a meter to a progress.
final class ProgressReporter: Sendable {
  /// A function that runs a closure after a delay.
  typealias Schedule = @Sendable (Duration, @escaping @Sendable () -> Void) -> Void

  private let progress: NetworkProgress
  private let request: UInt64
  private let meter = Locked(ProgressMeter())
  private let now: @Sendable () -> ContinuousClock.Instant
  private let schedule: Schedule

  /// Creates a reporter, and resets the progress to 0.
  init(
    _ progress: NetworkProgress,
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
    schedule: @escaping Schedule = ProgressReporter.scheduleOnGlobalQueue
  ) {
    self.progress = progress
    self.now = now
    self.schedule = schedule
    request = progress.reset()
  }

  /// The closure that a transport calls with the number of body bytes sent so far.
  var onSend: @Sendable (_ sent: Int64, _ total: Int64?) -> Void {
    { self.sent($0, of: $1) }
  }

  /// The closure that a transport calls with the number of body bytes received so far.
  var onReceive: @Sendable (_ received: Int64, _ total: Int64?) -> Void {
    { self.received($0, of: $1) }
  }

  func sent(_ bytes: Int64, of total: Int64?) {
    let now = now()
    perform(meter.withLock { $0.sent(bytes, of: total, at: now) })
  }

  func received(_ bytes: Int64, of total: Int64?) {
    let now = now()
    perform(meter.withLock { $0.received(bytes, of: total, at: now) })
  }

  /// Prepares for the request to be sent again.
  func restarted() {
    meter.withLock { $0.restarted() }
  }

  /// Marks the request as successful. On Linux the progress is 1 when this returns.
  func succeeded() {
    perform(meter.withLock { $0.succeeded() })
  }

  /// Called outside the lock: two threads may arrive here out of order, and the later update is kept.
  private func perform(_ action: ProgressMeter.Action) {
    switch action {
    case .none: break
    case .publish(var update):
      update.request = request
      progress.advance(to: update)
    case .flush(let delay):
      schedule(delay) { [weak self] in
        guard let self else { return }
        let now = self.now()
        self.perform(self.meter.withLock { $0.flush(at: now) })
      }
    }
  }

  /// Not on the main queue, whose thread may be blocked until the request ends.
  static let scheduleOnGlobalQueue: Schedule = { delay, action in
    let milliseconds = Int(delay / .milliseconds(1))
    DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + .milliseconds(milliseconds + 1), execute: action)
  }
}
