/// Who waits for a piece of work that several callers share. A value: its owner resumes and cancels what it gives,
/// outside of its lock.
struct FlightState<Waiter> {
  enum Departure {
    /// Others still wait.
    case left(Waiter)
    /// It was the last one: the work has no caller left.
    case leftLast(Waiter)
    /// It has its result already, or has not joined.
    case unknown
  }

  private var waiters: [UInt64: Waiter] = [:]
  /// Whether a caller may still join.
  private(set) var isOpen = true

  var count: Int { waiters.count }

  /// `false` when the work is over or was given up.
  mutating func join(_ waiter: Waiter, id: UInt64) -> Bool {
    guard isOpen else { return false }
    waiters[id] = waiter
    return true
  }

  mutating func leave(_ id: UInt64) -> Departure {
    guard let waiter = waiters.removeValue(forKey: id) else { return .unknown }
    guard waiters.isEmpty else { return .left(waiter) }
    isOpen = false
    return .leftLast(waiter)
  }

  /// The work is over: those who get its result.
  mutating func finish() -> [Waiter] {
    isOpen = false
    defer { waiters = [:] }
    return Array(waiters.values)
  }
}
