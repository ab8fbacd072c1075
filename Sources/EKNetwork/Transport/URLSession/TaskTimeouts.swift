/// The two timeouts of an exchange: how long it may be idle, and when it has to be finished.
struct TaskTimeouts {
  private let idle: Duration?
  private let deadline: ContinuousClock.Instant?
  private var lastActivity: ContinuousClock.Instant

  init(idle: Duration?, deadline: ContinuousClock.Instant?, now: ContinuousClock.Instant) {
    self.idle = idle
    self.deadline = deadline
    lastActivity = now
  }

  /// Notes that bytes were transferred, in either direction.
  mutating func noteActivity(_ now: ContinuousClock.Instant) { lastActivity = now }

  /// The next time to check; `nil` if there is nothing to check. An instant in the past means that the time is up.
  ///
  /// Activity only moves this instant, not the timer: a timer that fires early is scheduled again for the new instant.
  var expiry: ContinuousClock.Instant? {
    switch (idle, deadline) {
    case (let idle?, let deadline?): min(lastActivity + idle, deadline)
    case (let idle?, nil): lastActivity + idle
    case (nil, let deadline): deadline
    }
  }
}
