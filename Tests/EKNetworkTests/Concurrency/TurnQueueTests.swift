import Testing

@testable import EKNetwork

struct TurnQueueTests {
  /// Tasks that take a turn each, in their order.
  private func callers(_ count: Int, of queue: Locked<TurnQueue>) async -> [Task<Void, any Error>] {
    var tasks: [Task<Void, any Error>] = []
    for id in 0..<count {
      tasks.append(
        Task {
          try await withCancellableContinuation { turn in
            guard queue.withLock({ $0.take(turn, id: UInt64(id)) }) else { return true }
            turn.resume()
            return false
          } leave: {
            queue.withLock { $0.remove(UInt64(id)) }
          }
        })
      while queue.withLock({ !$0.isTaken || $0.count < id }) { await Task.yield() }
    }
    return tasks
  }

  @Test func oneCallerAtATimeHasTheTurn() async throws {
    let queue = Locked(TurnQueue())
    let tasks = await callers(3, of: queue)
    try await tasks[0].value
    #expect(queue.withLock { !$0.takeFree() })
    for task in tasks[1...] {
      let next = queue.withLock { $0.passOn() }
      #expect(next != nil)
      next?.resume()
      try await task.value
    }
    #expect(queue.withLock { $0.passOn() } == nil)
    #expect(queue.withLock { $0.takeFree() })
  }

  @Test func cancelledCallerLeavesTheQueue() async throws {
    let queue = Locked(TurnQueue())
    let tasks = await callers(3, of: queue)
    tasks[1].cancel()
    await #expect(throws: CancellationError.self) { try await tasks[1].value }
    #expect(queue.withLock { $0.count } == 1)
    queue.withLock { $0.passOn() }?.resume()
    try await tasks[2].value
    #expect(queue.withLock { $0.passOn() } == nil)
  }
}
