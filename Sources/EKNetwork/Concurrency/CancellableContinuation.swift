/// Suspends until the continuation is resumed; cancelling the task takes it back.
///
/// - Parameters:
///   - enter: Resumes the continuation, or puts it where it will be found, and says whether it did the latter.
///   - leave: Takes it back from there; `nil` when it was resumed meanwhile.
nonisolated(nonsending) func withCancellableContinuation<Value: Sendable>(
  enter: (CheckedContinuation<Value, any Error>) -> Bool,
  leave: @escaping @Sendable () -> CheckedContinuation<Value, any Error>?
) async throws -> Value {
  try await withTaskCancellationHandler {
    try await withCheckedThrowingContinuation { continuation in
      if Task.isCancelled { return continuation.resume(throwing: CancellationError()) }
      // The handler may have run before the continuation was there to be found.
      if enter(continuation), Task.isCancelled { leave()?.resume(throwing: CancellationError()) }
    }
  } onCancel: {
    leave()?.resume(throwing: CancellationError())
  }
}
