import Foundation
import Synchronization

/// Measures continuous work in many concurrent tasks while all of them are running. Starting and finishing the tasks
/// does not count: for 20,000 tasks that is as much work as a second of requests.
final class SteadyLoad: Sendable {
  private let units = Atomic(0)
  private let isOver = Atomic(false)

  /// Runs `body` repeatedly in `width` tasks, and measures after each task has completed it twice.
  ///
  /// - Parameter seconds: The time to measure, after a warm-up of a quarter of it, but at most half a second.
  func measure(
    width: Int, seconds: Double, _ body: @escaping @Sendable (_ task: Int) async throws -> Int
  ) async throws -> Measurement {
    try await measure(width: width, seconds: seconds) { task, counts in
      while counts(try await body(task)) {}
    }
  }

  /// Measures loops that call `counts` after each repetition with the units it has done, and end when it returns `false`.
  func measure(
    width: Int, seconds: Double,
    _ loop: @escaping @Sendable (_ task: Int, _ counts: @Sendable (Int) -> Bool) async throws -> Void
  ) async throws -> Measurement {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<width {
        group.addTask { [self] in
          // A task that fails ends the measurement as well.
          defer { isOver.store(true, ordering: .relaxed) }
          try await loop(task) {
            units.add($0, ordering: .relaxed)
            return !isOver.load(ordering: .relaxed)
          }
        }
      }
      let measurement = await withCheckedContinuation { (continuation: CheckedContinuation<Measurement, Never>) in
        Thread.detachNewThread { [self] in
          continuation.resume(returning: sample(width: width, seconds: seconds))
        }
      }
      try await group.waitForAll()
      return measurement
    }
  }

  /// Takes the measurement on its own thread, because the tasks occupy the threads of the runtime.
  private func sample(width: Int, seconds: Double) -> Measurement {
    Thread.sleep(forTimeInterval: min(0.5, seconds / 4))
    while units.load(ordering: .relaxed) < 2 * width, !isOver.load(ordering: .relaxed) {
      Thread.sleep(forTimeInterval: 0.01)
    }
    let start = Measurement.Start()
    let before = units.load(ordering: .relaxed)
    let end = ContinuousClock.now + .seconds(seconds)
    while .now < end, !isOver.load(ordering: .relaxed) { Thread.sleep(forTimeInterval: 0.01) }
    let measured = start.measured(units.load(ordering: .relaxed) - before)
    isOver.store(true, ordering: .relaxed)
    return measured
  }
}
