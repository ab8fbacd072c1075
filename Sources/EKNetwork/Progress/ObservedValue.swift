/// A value that any thread may set, and whose changes any number of tasks may await.
///
/// Nothing is stored for those who iterate: each remembers the version that it has seen, and only one that waits is
/// known here, by its continuation.
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

    /// Whether there is something to return, or an end.
    func isReady(after version: UInt64?) -> Bool { isFinished || current.version != version }
  }

  private let state: Locked<State>

  init(_ value: Value) {
    state = Locked(State(current: Version(value: value, version: 0)))
  }

  var current: Value { state.withLock { $0.current.value } }

  /// How many tasks wait for a change.
  var waiterCount: Int { state.withLock { $0.waiters.count } }

  /// Changes the value, and wakes those who wait when it is another one. `change` runs under the lock.
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

  /// The newest value once its version is another than `version`; `nil` at the end or when the task is cancelled.
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
          // Asked under the lock: a cancellation that is not seen here finds the waiter that is added here.
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
