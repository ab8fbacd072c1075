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
