/// Those who wait for something, in their order. A value: its owner resumes what it gives, outside of its lock.
struct WaiterQueue<Value: Sendable> {
  typealias Waiter = CheckedContinuation<Value, any Error>

  // The first `start` have been resumed: removing each from the front would move all who are behind it.
  private var waiters: [(id: UInt64, waiter: Waiter?)] = []
  private var start = 0

  var count: Int { waiters.count - start }

  mutating func append(_ waiter: Waiter, id: UInt64) { waiters.append((id, waiter)) }

  mutating func popFirst() -> Waiter? {
    guard start < waiters.count else { return nil }
    defer { skip() }
    return waiters[start].waiter
  }

  /// Takes out who waits no more; `nil` when it is not, or no longer, there.
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
