/// A value that any thread may set, and whose changes any number of tasks can await.
///
/// Nothing is stored per iteration: each remembers the version that it has seen, and only waiting ones are stored here,
/// as continuations.
final class ObservedValue<Value: Sendable & Equatable>: Sendable {
  struct Version: Sendable {
    var value: Value
    var version: UInt64
  }

  private struct State {
    var current: Version
    var isFinished = false
    var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
    var nextWaiter: UInt64 = 0

    mutating func takeWaiters() -> [UInt64: CheckedContinuation<Void, Never>] {
      defer { waiters = [:] }
      return waiters
    }

    /// Returns whether there is a newer value, or the end was reached.
    func isReady(after version: UInt64?) -> Bool { isFinished || current.version != version }
  }

  private let state: Locked<State>

  init(_ value: Value) {
    state = Locked(State(current: Version(value: value, version: 0)))
  }

  var current: Value { state.withLock { $0.current.value } }

  /// The number of tasks that wait for a change.
  var waiterCount: Int { state.withLock { $0.waiters.count } }

  /// Changes the value, and resumes the waiting tasks if it differs. `change` runs under the lock.
  func update(_ change: (inout Value) -> Void) {
    let waiters: [UInt64: CheckedContinuation<Void, Never>] = state.withLock { state in
      let old = state.current.value
      change(&state.current.value)
      guard state.current.value != old else { return [:] }
      state.current.version += 1
      return state.takeWaiters()
    }
    for waiter in waiters.values { waiter.resume() }
  }

  /// Ends every iteration, after the last value.
  func finish() {
    let waiters = state.withLock { state in
      state.isFinished = true
      return state.takeWaiters()
    }
    for waiter in waiters.values { waiter.resume() }
  }

  /// Returns the newest value once its version differs from `version`; `nil` at the end or when the task is cancelled.
  func next(after version: UInt64?, isolation: isolated (any Actor)?) async -> Version? {
    while !Task.isCancelled {
      let (next, isFinished) = state.withLock { state in
        (state.current.version != version ? state.current : nil, state.isFinished)
      }
      if let next { return next }
      if isFinished { return nil }
      await change(after: version, isolation: isolation)
    }
    return nil
  }

  private func change(after version: UInt64?, isolation: isolated (any Actor)?) async {
    let waiter = state.withLock { state in
      state.nextWaiter += 1
      return state.nextWaiter
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isReady = state.withLock { state in
          // Checked under the lock: a cancellation that is not seen here finds the waiter that is added here.
          if Task.isCancelled || state.isReady(after: version) { return true }
          state.waiters[waiter] = continuation
          return false
        }
        if isReady { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiters.removeValue(forKey: waiter) }?.resume()
    }
  }
}
