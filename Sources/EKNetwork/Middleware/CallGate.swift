/// Allows one `next` of a call at a time to use the caller's request, and none after the call has ended.
final class CallGate: Sendable {
  private struct State {
    var cancel: (@Sendable () -> Void)?
    var isClosed = false
    var closing: CheckedContinuation<Void, Never>?
  }

  private let state = Locked(State())

  /// Runs the work of one `next`, which is cancelled when its task is cancelled or the call has ended.
  func run<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
    let task = try state.withLock { state in
      guard state.cancel == nil, !state.isClosed else { throw NetworkMiddlewareError.overlappingCalls }
      let task = Task {
        defer { self.leave() }
        return try await work()
      }
      state.cancel = { task.cancel() }
      return task
    }
    return try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      task.cancel()
    }
  }

  private func leave() {
    state.withLock { state in
      state.cancel = nil
      defer { state.closing = nil }
      return state.closing
    }?.resume()
  }

  /// Closes the gate and waits until the request, which is only borrowed, is no longer in use. Work that middleware has
  /// left running in its own task is cancelled.
  func close() async {
    await withCheckedContinuation { continuation in
      let cancel = state.withLock { state in
        state.isClosed = true
        if state.cancel != nil { state.closing = continuation }
        return state.cancel
      }
      if let cancel { cancel() } else { continuation.resume() }
    }
  }
}
