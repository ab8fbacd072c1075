/// A first-in, first-out queue of waiters. A value: its owner resumes what it returns, outside of its lock.
struct WaiterQueue<Value: Sendable> {
  typealias Waiter = CheckedContinuation<Value, any Error>

  // The first `start` have been resumed: removing each from the front would move all that follow.
  private var waiters: [(id: UInt64, waiter: Waiter?)] = []
  private var start = 0

  var count: Int { waiters.count - start }

  mutating func append(_ waiter: Waiter, id: UInt64) { waiters.append((id, waiter)) }

  mutating func popFirst() -> Waiter? {
    guard start < waiters.count else { return nil }
    defer { skip() }
    return waiters[start].waiter
  }

  /// Removes a waiter and returns it; `nil` if it is not in the queue.
  mutating func remove(_ id: UInt64) -> Waiter? {
    guard let index = waiters[start...].firstIndex(where: { $0.id == id }) else { return nil }
    return waiters.remove(at: index).waiter
  }

  mutating func removeAll() -> [Waiter] {
    defer { self = WaiterQueue() }
    return waiters[start...].compactMap(\.waiter)
  }

  private mutating func skip() {
    waiters[start].waiter = nil
    start += 1
    guard start > 32, start * 2 > waiters.count else { return }
    waiters.removeFirst(start)
    start = 0
  }
}
