/// The two clocks of an exchange: how long it may stand still, and when it has to be over.
struct TaskTimeouts {
  private let idle: Duration?
  private let deadline: ContinuousClock.Instant?
  private var lastActivity: ContinuousClock.Instant

  init(idle: Duration?, deadline: ContinuousClock.Instant?, now: ContinuousClock.Instant) {
    self.idle = idle
    self.deadline = deadline
    lastActivity = now
  }

  /// Something went over the wire, in either direction.
  mutating func noteActivity(_ now: ContinuousClock.Instant) { lastActivity = now }

  /// When to look again; `nil` if there is nothing to look for. An instant that has passed means: time is up.
  ///
  /// Activity only moves a date, no timer: one that fires early is armed again with what this says then.
  var expiry: ContinuousClock.Instant? {
    switch (idle, deadline) {
    case (let idle?, let deadline?): min(lastActivity + idle, deadline)
    case (let idle?, nil): lastActivity + idle
    case (nil, let deadline): deadline
    }
  }
}
