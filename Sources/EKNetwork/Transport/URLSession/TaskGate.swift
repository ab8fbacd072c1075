import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The part of a task that a ``TaskGate`` uses.
protocol GatedTask: AnyObject, Sendable {
  /// Whether a delegate callback of the task may still be answered, on Linux.
  var takesAnswers: Bool { get }
  func resume()
  func suspend()
  func cancel()
}

extension URLSessionTask: GatedTask {
  var takesAnswers: Bool { state == .running }
}

/// A gate that serialises all calls to a task.
///
/// FoundationNetworking crashes the process when a redirect or a challenge is answered after the task was cancelled. So
/// on Linux cancelling and answering exclude each other, and nothing is answered after the first cancellation.
///
/// Sendable, unchecked: `task`, `isCancelled` and `isSuspended` are only accessed with `lock` held. The lock may be
/// held while Foundation waits for its own work queue: nothing on that queue ever takes it.
final class TaskGate: @unchecked Sendable {
  private let lock = NSLock()
  private var task: (any GatedTask)?
  private var isCancelled = false
  private var isSuspended = false

  /// Starts the task, unless the exchange has been cancelled in the meantime.
  func start(_ task: any GatedTask) {
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

  /// Runs `answer`, which calls a completion handler of Foundation's, unless it is too late for that. On Apple's
  /// platforms it never is: there each handler has to be called, which has no effect after a cancellation.
  func answer(_ answer: () -> Void) {
    #if canImport(Darwin)
      answer()
    #else
      lock.withLock {
        // The user's own delegate can cancel the task as well, bypassing this gate.
        guard !isCancelled, let task, task.takesAnswers else { return }
        answer()
      }
    #endif
  }

  /// Releases the task, which is over.
  func close() {
    lock.withLock { task = nil }
  }

  /// Suspends or resumes the task, depending on what `wanted` returns at this moment. Two threads with different
  /// decisions can arrive here in any order: the latest decision holds in the end, and each `suspend` is balanced by a
  /// `resume`.
  func follow(_ wanted: () -> Bool) {
    lock.withLock {
      let wanted = wanted()
      guard let task, wanted != isSuspended else { return }
      isSuspended = wanted
      if wanted { task.suspend() } else { task.resume() }
    }
  }
}
