import Testing

@testable import EKNetwork

/// A clock that stands still until a test advances it.
final class ManualClock: Clock, Sendable {
  typealias Instant = RecordingClock.Instant

  private struct Sleeper {
    let deadline: Instant
    let continuation: CheckedContinuation<Void, any Error>
  }

  private struct State {
    var now = Instant(offset: .zero)
    var sleepers: [Int: Sleeper] = [:]
    var next = 0
    var watchers: [(count: Int, continuation: CheckedContinuation<Bool, Never>)] = []

    mutating func takeReadyWatchers() -> [CheckedContinuation<Bool, Never>] {
      let ready = watchers.filter { $0.count <= sleepers.count }.map(\.continuation)
      watchers.removeAll { $0.count <= sleepers.count }
      return ready
    }
  }

  private let state = Locked(State())

  var now: Instant { state.withLock { $0.now } }
  var minimumResolution: Duration { .nanoseconds(1) }
  var sleeperCount: Int { state.withLock { $0.sleepers.count } }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    let id = state.withLock { state in
      state.next += 1
      return state.next
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        // Asked under the lock: a cancellation that is not seen here finds the sleeper that is added here.
        let (result, watchers): (Result<Void, any Error>?, [CheckedContinuation<Bool, Never>]) = state.withLock {
          if Task.isCancelled { return (.failure(CancellationError()), []) }
          if deadline <= $0.now { return (.success(()), []) }
          $0.sleepers[id] = Sleeper(deadline: deadline, continuation: continuation)
          return (nil, $0.takeReadyWatchers())
        }
        if let result { continuation.resume(with: result) }
        for watcher in watchers { watcher.resume(returning: true) }
      }
    } onCancel: {
      state.withLock { $0.sleepers.removeValue(forKey: id) }?.continuation.resume(throwing: CancellationError())
    }
  }

  /// Advances the time, and wakes the sleepers that are due.
  func advance(by duration: Duration) {
    let due = state.withLock { state in
      state.now = state.now.advanced(by: duration)
      let due = state.sleepers.filter { $0.value.deadline <= state.now }
      for id in due.keys { state.sleepers[id] = nil }
      return due.values.sorted { $0.deadline < $1.deadline }
    }
    for sleeper in due { sleeper.continuation.resume() }
  }

  /// Suspends until at least that many tasks sleep, or the caller is cancelled. The test fails if they do not within a
  /// minute.
  func waitForSleepers(_ count: Int = 1, sourceLocation: SourceLocation = #_sourceLocation) async {
    let isThere = await hasSleepers(count)
    #expect(isThere || Task.isCancelled, "not so many tasks sleep", sourceLocation: sourceLocation)
  }

  /// `false` when the caller is cancelled, or has waited for a minute.
  private func hasSleepers(_ count: Int) async -> Bool {
    let limit = Task {
      try await Task.sleep(for: .seconds(60))
      dropWatchers()
    }
    defer { limit.cancel() }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isThere: Bool? = state.withLock { state in
          if state.sleepers.count >= count { return true }
          if Task.isCancelled { return false }
          state.watchers.append((count, continuation))
          return nil
        }
        if let isThere { continuation.resume(returning: isThere) }
      }
    } onCancel: {
      dropWatchers()
    }
  }

  private func dropWatchers() {
    let watchers = state.withLock { state in
      defer { state.watchers = [] }
      return state.watchers
    }
    for watcher in watchers { watcher.continuation.resume(returning: false) }
  }
}
