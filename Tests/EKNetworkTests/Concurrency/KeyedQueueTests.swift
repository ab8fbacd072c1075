import Testing

@testable import EKNetwork

struct KeyedQueueTests {
  /// Tasks that wait for a number each, in their order.
  private func wait(_ count: Int, in queue: Locked<WaiterQueue<Int>>) async -> [Task<Int, any Error>] {
    var tasks: [Task<Int, any Error>] = []
    for id in 0..<count {
      tasks.append(
        Task {
          try await withCancellableContinuation { waiter in
            queue.withLock { $0.append(waiter, id: UInt64(id)) }
            return true
          } leave: {
            queue.withLock { $0.remove(UInt64(id)) }
          }
        })
      while queue.withLock({ $0.count }) <= id { await Task.yield() }
    }
    return tasks
  }

  @Test func waitersAreServedInOrder() async throws {
    let queue = Locked(WaiterQueue<Int>())
    let tasks = await wait(70, in: queue)
    for number in 0..<70 { queue.withLock { $0.popFirst() }?.resume(returning: number) }
    for (number, task) in tasks.enumerated() { #expect(try await task.value == number) }
    #expect(queue.withLock { $0.popFirst() } == nil)
    #expect(queue.withLock { $0.count } == 0)
  }

  @Test func cancelledWaitersLeaveAndServedOnesKeepValues() async throws {
    let queue = Locked(WaiterQueue<Int>())
    let tasks = await wait(40, in: queue)
    for number in 0..<20 { queue.withLock { $0.popFirst() }?.resume(returning: number) }
    for task in tasks { task.cancel() }
    for task in tasks[20...] { await #expect(throws: CancellationError.self) { try await task.value } }
    for (number, task) in tasks[..<20].enumerated() { #expect(try await task.value == number) }
    #expect(queue.withLock { $0.count } == 0)
  }

  @Test func onlyTheCancelledWaiterLeaves() async throws {
    let queue = Locked(WaiterQueue<Int>())
    let tasks = await wait(4, in: queue)
    queue.withLock { $0.popFirst() }?.resume(returning: 0)
    tasks[2].cancel()
    await #expect(throws: CancellationError.self) { try await tasks[2].value }
    for _ in 0..<2 { queue.withLock { $0.popFirst() }?.resume(returning: 7) }
    #expect(try await [tasks[0].value, tasks[1].value, tasks[3].value] == [0, 7, 7])
  }

  @Test func allWaitersCanBeRemovedAtOnce() async throws {
    let queue = Locked(WaiterQueue<Int>())
    let tasks = await wait(3, in: queue)
    queue.withLock { $0.popFirst() }?.resume(returning: 0)
    for waiter in queue.withLock({ $0.removeAll() }) { waiter.resume(returning: 7) }
    var values: [Int] = []
    for task in tasks { values.append(try await task.value) }
    #expect(values == [0, 7, 7])
    #expect(queue.withLock { $0.removeAll() }.isEmpty)
  }

  @Test func cancelledTaskDoesNotEnter() async {
    let entered = Locked(false)
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      try await withCancellableContinuation { (waiter: CheckedContinuation<Void, any Error>) in
        entered.withLock { $0 = true }
        waiter.resume()
        return false
      } leave: {
        nil
      }
    }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(!entered.withLock { $0 })
  }
}
