/// A lock for asynchronous callers, which get it in the order in which they asked for it. A value: its owner resumes what
/// it returns, outside of its own lock.
struct TurnQueue {
  typealias Turn = CheckedContinuation<Void, any Error>

  private(set) var isTaken = false
  private var waiters = WaiterQueue<Void>()

  /// The number of callers that wait.
  var count: Int { waiters.count }

  /// Takes the turn if nobody has it; returns whether the caller has it now.
  mutating func takeFree() -> Bool {
    guard !isTaken else { return false }
    isTaken = true
    return true
  }

  /// Takes the turn, or waits for it in the queue; returns whether the caller has it now.
  mutating func take(_ turn: Turn, id: UInt64) -> Bool {
    if takeFree() { return true }
    waiters.append(turn, id: id)
    return false
  }

  /// Passes the turn on; returns the next caller, which has it now.
  mutating func passOn() -> Turn? {
    let next = waiters.popFirst()
    isTaken = next != nil
    return next
  }

  /// Removes a caller that waits and returns it; `nil` if it does not wait.
  mutating func remove(_ id: UInt64) -> Turn? { waiters.remove(id) }

  /// Removes and returns all callers that wait. The one that has the turn keeps it.
  mutating func removeAll() -> [Turn] { waiters.removeAll() }
}
