import Foundation

/// A value protected by a lock, on which tasks and threads can wait: every change re-evaluates the conditions of the
/// waiters.
// Every variable is accessed only while `lock` is held.
final class Monitor<State: Sendable>: @unchecked Sendable {
  /// A waiting task. The timeout or cancellation may come before it is suspended, so it is announced first.
  private enum Waiter {
    case announced
    case abandoned
    case suspended(@Sendable (State) -> Bool, CheckedContinuation<Bool, Never>)
  }

  private let lock = NSCondition()
  private var state: State
  private var waiters: [UInt64: Waiter] = [:]
  private var nextWaiter: UInt64 = 0
  private var blockedThreads = 0

  init(_ state: State) { self.state = state }

  /// Reads or changes the state. `body` must not call back into this monitor.
  func withLock<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
    lock.lock()
    defer { lock.unlock() }
    let result = try body(&state)
    if blockedThreads > 0 { lock.broadcast() }
    if !waiters.isEmpty { resumeSatisfied() }
    return result
  }

  /// Suspends until the condition holds. Returns false if the timeout expires or the task is cancelled first.
  func wait(timeout: Duration, until condition: @escaping @Sendable (State) -> Bool) async -> Bool {
    let id = announce()
    // An unstructured task, because the waiter must return at once when its condition holds.
    let alarm = Task { [weak self] in
      try await Task.sleep(for: timeout)
      self?.abandon(id)
    }
    defer { alarm.cancel() }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { suspend(id, until: condition, $0) }
    } onCancel: {
      abandon(id)
    }
  }

  /// Blocks the calling thread until the condition holds. Returns false if the timeout expires first.
  func waitBlocking(timeout: Duration, until condition: (State) -> Bool) -> Bool {
    let deadline = Date(timeIntervalSinceNow: timeout.seconds)
    lock.lock()
    defer { lock.unlock() }
    blockedThreads += 1
    defer { blockedThreads -= 1 }
    while !condition(state) {
      if !lock.wait(until: deadline) { return condition(state) }
    }
    return true
  }

  private func announce() -> UInt64 {
    lock.lock()
    defer { lock.unlock() }
    nextWaiter += 1
    waiters[nextWaiter] = .announced
    return nextWaiter
  }

  private func suspend(
    _ id: UInt64, until condition: @escaping @Sendable (State) -> Bool, _ continuation: CheckedContinuation<Bool, Never>
  ) {
    lock.lock()
    defer { lock.unlock() }
    let isSatisfied = condition(state)
    if case .announced = waiters[id], !isSatisfied {
      waiters[id] = .suspended(condition, continuation)
    } else {
      waiters[id] = nil
      continuation.resume(returning: isSatisfied)
    }
  }

  private func abandon(_ id: UInt64) {
    lock.lock()
    defer { lock.unlock() }
    switch waiters[id] {
    case .announced:
      waiters[id] = .abandoned
    case .suspended(_, let continuation):
      waiters[id] = nil
      continuation.resume(returning: false)
    case .abandoned, nil:
      break
    }
  }

  // Resuming only enqueues the task, so doing it under the lock runs no other code.
  private func resumeSatisfied() {
    for (id, waiter) in waiters {
      guard case .suspended(let condition, let continuation) = waiter, condition(state) else { continue }
      waiters[id] = nil
      continuation.resume(returning: true)
    }
  }
}

extension Duration {
  /// The duration in seconds.
  var seconds: Double {
    Double(components.seconds) + Double(components.attoseconds) / 1e18
  }

  /// The duration in milliseconds for poll(2), rounded up so that a wait is never too short.
  var pollMilliseconds: Int32 {
    Int32(max(0, min((seconds * 1000).rounded(.up), Double(Int32.max))))
  }
}
