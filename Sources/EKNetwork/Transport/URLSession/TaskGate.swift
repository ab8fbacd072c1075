import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Stands between a task and everybody who wants something from it.
///
/// FoundationNetworking ends the process when a redirect or a challenge is answered after the task was cancelled. So
/// cancelling and answering take turns, and after the first cancellation nothing is answered any more.
///
/// Sendable, unchecked: `task` and `isCancelled` are reached with `lock` held alone. The lock may be held while
/// Foundation waits for its own work queue: nothing on that queue ever takes it.
final class TaskGate: @unchecked Sendable {
  private let lock = NSLock()
  private var task: URLSessionTask?
  private var isCancelled = false

  /// Starts the task, unless the exchange has been cancelled in the meantime.
  func start(_ task: URLSessionTask) {
    lock.withLock {
      guard !isCancelled else { return task.cancel() }
      self.task = task
      task.resume()
    }
  }

  /// Cancels the task, now or as soon as it starts.
  func cancel() {
    lock.withLock {
      guard !isCancelled else { return }
      isCancelled = true
      task?.cancel()
      task = nil
    }
  }

  /// Runs `answer`, which calls a completion handler of Foundation's, unless it is too late for that.
  func answer(_ answer: () -> Void) {
    lock.withLock {
      // The user's own delegate can cancel the task as well, past this gate.
      guard !isCancelled, let task, task.state == .running else { return }
      answer()
    }
  }

  /// The task is over.
  func close() {
    lock.withLock { task = nil }
  }

  #if canImport(Darwin)
    func suspend() { lock.withLock { task?.suspend() } }
    func resume() { lock.withLock { task?.resume() } }
  #endif
}
