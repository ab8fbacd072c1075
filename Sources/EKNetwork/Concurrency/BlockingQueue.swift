import Dispatch

/// A serial queue for work that blocks on the disk, so that it does not block a thread of the cooperative pool.
struct BlockingQueue: Sendable {
  private let queue: DispatchQueue

  init(label: String) { queue = DispatchQueue(label: label) }

  /// Runs the work after that of earlier calls, and waits until it is done.
  func run<Success: Sendable, Failure: Error>(
    _ work: @escaping @Sendable () throws(Failure) -> Success
  ) async throws(Failure) -> Success {
    let result = await withUnsafeContinuation { (continuation: UnsafeContinuation<Result<Success, Failure>, Never>) in
      queue.async { continuation.resume(returning: Result(catching: work)) }
    }
    return try result.get()
  }

  /// Runs the work after that of earlier calls. It is done even if the task is cancelled, which only ends the wait.
  func runToEnd(_ work: @escaping @Sendable () -> Void) async throws {
    let done = SingleResult()
    queue.async {
      work()
      done.finish(nil)
    }
    try await done.value()
  }
}
