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

  /// Runs the work after that of earlier calls, and does not wait.
  func start(_ work: @escaping @Sendable () -> Void) { queue.async(execute: work) }

  /// Waits until the work of earlier calls is done, or until a time. Blocks the thread.
  func waitUntilDone(_ limit: DispatchTime) -> Bool {
    let isDone = DispatchSemaphore(value: 0)
    queue.async { isDone.signal() }
    return isDone.wait(timeout: limit) == .success
  }
}
