import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What a ``TaskGate`` needs of a task.
protocol GatedTask: AnyObject, Sendable {
  /// Whether a question of its delegate's may still be answered, on Linux.
  var takesAnswers: Bool { get }
  func resume()
  func suspend()
  func cancel()
}

extension URLSessionTask: GatedTask {
  var takesAnswers: Bool { state == .running }
}

/// Stands between a task and all that use it.
///
/// FoundationNetworking crashes the process when a redirect or a challenge is answered after the task was cancelled. So
/// on Linux cancelling and answering take turns, and after the first cancellation nothing is answered any more.
///
/// Sendable, unchecked: `task`, `isCancelled` and `isSuspended` are reached with `lock` held alone. The lock may be held while
/// Foundation waits for its own work queue: nothing on that queue ever takes it.
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

  /// Runs `answer`, which calls a completion handler of Foundation's, unless it is too late for that. On Apple's systems
  /// it never is: there each handler has to be called, and after a cancellation nothing comes of it.
  func answer(_ answer: () -> Void) {
    #if canImport(Darwin)
      answer()
    #else
      lock.withLock {
        // The user's own delegate can cancel the task as well, past this gate.
        guard !isCancelled, let task, task.takesAnswers else { return }
        answer()
      }
    #endif
  }

  /// The task is over.
  func close() {
    lock.withLock { task = nil }
  }

  /// Suspends or resumes the task, as `wanted` says at this moment. Two threads that want different things can come
  /// here in any order: what holds in the end is what was decided last, and each `suspend` has its `resume`.
  func follow(_ wanted: () -> Bool) {
    lock.withLock {
      let wanted = wanted()
      guard let task, wanted != isSuspended else { return }
      isSuspended = wanted
      if wanted { task.suspend() } else { task.resume() }
    }
  }
}
