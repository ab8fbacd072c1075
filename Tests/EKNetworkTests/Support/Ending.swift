import LoopbackServer

@testable import EKNetwork

/// Runs work in a task of its own, and returns its result; `nil` if it has not ended in time, as nothing that waits for
/// itself ever does.
func ending<Value: Sendable>(
  within limit: Duration = .seconds(180), _ work: @escaping @Sendable () async throws -> Value
) async -> Result<Value, any Error>? {
  let (task, hasEnded) = started(work)
  guard await hasEnded.wait(timeout: limit) else {
    task.cancel()
    return nil
  }
  return await task.result
}

/// Returns the result of a task after it was cancelled; `nil` if that has not ended it.
func endingWhenCancelled<Value: Sendable>(
  within limit: Duration = .seconds(180), once hasBegun: Gate, _ work: @escaping @Sendable () async throws -> Value
) async -> Result<Value, any Error>? {
  let (task, hasEnded) = started(work)
  guard await hasBegun.wait(timeout: limit) else { return nil }
  task.cancel()
  return await hasEnded.wait(timeout: limit) ? await task.result : nil
}

private func started<Value: Sendable>(
  _ work: @escaping @Sendable () async throws -> Value
) -> (task: Task<Value, any Error>, hasEnded: Gate) {
  let hasEnded = Gate()
  let task = Task {
    defer { hasEnded.open() }
    return try await work()
  }
  return (task, hasEnded)
}

/// Code that does not return, whatever is cancelled, until the end of its test.
final class Deaf: Sendable {
  let hasBegun = Gate()
  private let waiters = Locked<[CheckedContinuation<Void, Never>]?>([])

  deinit { release() }

  func wait() async {
    await withCheckedContinuation { continuation in
      let isOver = waiters.withLock { waiters in
        waiters?.append(continuation)
        return waiters == nil
      }
      hasBegun.open()
      if isOver { continuation.resume() }
    }
  }

  func release() {
    let all = waiters.withLock { waiters in
      defer { waiters = nil }
      return waiters
    }
    for waiter in all ?? [] { waiter.resume() }
  }
}

extension Result {
  var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
