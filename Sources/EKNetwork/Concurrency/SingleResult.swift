/// A result that is awaited once. Cancelling the waiting task does not cancel the operation.
final class SingleResult: Sendable {
  private enum State {
    case pending
    case awaited(CheckedContinuation<Void, any Error>)
    case done((any Error)?)
  }

  private let state = Locked(State.pending)

  func finish(_ error: (any Error)?) {
    let continuation = state.withLock { state -> CheckedContinuation<Void, any Error>? in
      defer { state = .done(error) }
      if case .awaited(let continuation) = state { return continuation }
      return nil
    }
    if let error { continuation?.resume(throwing: error) } else { continuation?.resume() }
  }

  func value() async throws {
    if case .done(let error) = state.withLock({ $0 }) {
      if let error { throw error }
      return
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        let result = state.withLock { state -> Result<Void, any Error>? in
          if case .done(let error) = state { return error.map { .failure($0) } ?? .success(()) }
          state = .awaited(continuation)
          return nil
        }
        if let result { return continuation.resume(with: result) }
        if Task.isCancelled { leave() }
      }
    } onCancel: {
      leave()
    }
  }

  private func leave() {
    let continuation = state.withLock { state -> CheckedContinuation<Void, any Error>? in
      guard case .awaited(let continuation) = state else { return nil }
      state = .done(CancellationError())
      return continuation
    }
    continuation?.resume(throwing: CancellationError())
  }
}
