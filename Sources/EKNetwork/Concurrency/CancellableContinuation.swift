/// Suspends until the continuation is resumed; when the task is cancelled, it is resumed with `CancellationError`.
///
/// - Parameters:
///   - enter: Resumes the continuation and returns `false`, or stores it and returns `true`.
///   - leave: Removes and returns the stored continuation; `nil` if it has been resumed.
nonisolated(nonsending) func withCancellableContinuation<Value: Sendable>(
  enter: (CheckedContinuation<Value, any Error>) -> Bool,
  leave: @escaping @Sendable () -> CheckedContinuation<Value, any Error>?
) async throws -> Value {
  try await withTaskCancellationHandler {
    try await withCheckedThrowingContinuation { continuation in
      if Task.isCancelled { return continuation.resume(throwing: CancellationError()) }
      // The handler may have run before the continuation was stored.
      if enter(continuation), Task.isCancelled { leave()?.resume(throwing: CancellationError()) }
    }
  } onCancel: {
    leave()?.resume(throwing: CancellationError())
  }
}

/// Runs code of the user in a task of its own, so that it does not keep a caller whose task is cancelled: the code is
/// then cancelled, and left behind if it has not ended soon. What it returns later is released.
///
/// - Parameter patience: How long to wait for the code once it was cancelled, so that most code has ended, and has
///   recorded its end, when its caller continues. Defaults to a tenth of a second.
nonisolated(nonsending) func withPromptCancellation<Value: Sendable>(
  patience: Duration = .milliseconds(100), _ work: @escaping @Sendable () async throws -> Value
) async throws -> Value {
  let shared = Locked<(waiter: CheckedContinuation<Value, any Error>?, task: Task<Void, Never>?)>((nil, nil))
  @Sendable func takeWaiter() -> CheckedContinuation<Value, any Error>? { shared.withLock { $0.waiter.take() } }
  return try await withCancellableContinuation { continuation in
    shared.withLock { run in
      run.waiter = continuation
      run.task = Task {
        let result: Result<Value, any Error>
        do { result = .success(try await work()) } catch { result = .failure(error) }
        takeWaiter()?.resume(with: result)
      }
    }
    return true
  } leave: {
    shared.withLock { $0.task }?.cancel()
    guard patience > .zero else { return takeWaiter() }
    Task.detached {
      try? await Task.sleep(for: patience)
      takeWaiter()?.resume(throwing: CancellationError())
    }
    return nil
  }
}

/// Runs code of the user, which is cancelled with the caller, or at a deadline with an error, and then not waited for.
nonisolated(nonsending) func withPromptCancellation<Value: Sendable>(
  by deadline: ContinuousInstant?, error: any Error, _ work: @escaping @Sendable () async throws -> Value
) async throws -> Value {
  guard let deadline else { return try await withPromptCancellation(patience: .zero, work) }
  let task = Task { try await withPromptCancellation(patience: .zero, work) }
  return try await TimeLimit.run(deadline - .now, clock: ContinuousClock(), error: error, stop: { task.cancel() }) {
    try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      task.cancel()
    }
  }
}

/// A result that is awaited once. Cancelling the waiting task does not cancel the operation.
final class SingleResult: Sendable {
  private typealias Outcome = Result<Void, any Error>

  private let state = Locked<(result: Outcome?, waiter: CheckedContinuation<Void, any Error>?)>((nil, nil))

  func finish(_ error: (any Error)?) {
    let result = error.map { .failure($0) } ?? Outcome.success(())
    let waiter = state.withLock { state in
      state.result = result
      return state.waiter.take()
    }
    waiter?.resume(with: result)
  }

  func value() async throws {
    if let result = state.withLock({ $0.result }) { return try result.get() }
    try await withCancellableContinuation { continuation in
      let result = state.withLock { state in
        if state.result == nil { state.waiter = continuation }
        return state.result
      }
      if let result { continuation.resume(with: result) }
      return result == nil
    } leave: { [state] in
      state.withLock { $0.waiter.take() }
    }
  }
}
