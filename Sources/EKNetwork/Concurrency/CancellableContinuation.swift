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
/// - Parameter patience: How long to wait for the code once it was cancelled. Code that is about to end then does so
///   before its caller continues. Defaults to zero.
nonisolated(nonsending) func withPromptCancellation<Value: Sendable>(
  patience: Duration = .zero, _ work: @escaping @Sendable () async throws -> Value
) async throws -> Value {
  let waiter = Locked<CheckedContinuation<Value, any Error>?>(nil)
  let running = Locked<Task<Void, Never>?>(nil)
  @Sendable func take() -> CheckedContinuation<Value, any Error>? {
    waiter.withLock { waiter in
      defer { waiter = nil }
      return waiter
    }
  }
  return try await withCancellableContinuation { continuation in
    waiter.withLock { $0 = continuation }
    let task = Task {
      let result: Result<Value, any Error>
      do { result = .success(try await work()) } catch { result = .failure(error) }
      take()?.resume(with: result)
    }
    running.withLock { $0 = task }
    return true
  } leave: {
    running.withLock { $0 }?.cancel()
    guard patience > .zero else { return take() }
    Task.detached {
      try? await Task.sleep(for: patience)
      take()?.resume(throwing: CancellationError())
    }
    return nil
  }
}
