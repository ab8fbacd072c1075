/// The waiters of a piece of work that several callers share. A value: its owner resumes and cancels what it returns,
/// outside of its lock.
struct FlightState<Waiter> {
  enum Departure {
    /// Other waiters remain.
    case left(Waiter)
    /// It was the last waiter.
    case leftLast(Waiter)
    /// The waiter has its result already, or has not joined.
    case unknown
  }

  private var waiters: [UInt64: Waiter] = [:]
  /// Whether a caller may still join.
  private(set) var isOpen = true

  var count: Int { waiters.count }

  /// Adds a waiter. Returns `false` if the work has ended or was cancelled.
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

  /// Ends the work and returns the waiters that get its result.
  mutating func finish() -> [Waiter] {
    isOpen = false
    defer { waiters = [:] }
    return Array(waiters.values)
  }
}
