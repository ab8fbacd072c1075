/// The circuit of an origin: closed while it responds, open for a while after several consecutive failures, then
/// half-open for one trial request.
struct CircuitState<Instant: InstantProtocol> where Instant.Duration == Duration {
  private enum State {
    case closed(failures: Int)
    case open(until: Instant)
    case trying(Int)
  }

  /// The decision about a request.
  enum Verdict: Equatable {
    case go
    /// The request may be sent, as the trial.
    case tryOut
    /// The request would have to wait this long; zero while a trial is under way.
    case refuse(Duration)
  }

  private let threshold: Int
  private let cooldown: Duration
  private var state = State.closed(failures: 0)

  init(threshold: Int, cooldown: Duration) {
    self.threshold = max(1, threshold)
    self.cooldown = cooldown
  }

  /// Whether there is no state to keep.
  var isUnused: Bool { if case .closed(0) = state { true } else { false } }

  /// When a trial request may be sent; `nil` unless the circuit is open.
  var cooldownEnd: Instant? { if case .open(let end) = state { end } else { nil } }

  /// - Parameter trial: The number of the request if it becomes the trial; no other request has had it.
  mutating func arrived(at now: Instant, trial: Int) -> Verdict {
    switch state {
    case .closed: return .go
    case .trying: return .refuse(.zero)
    case .open(let end):
      guard end <= now else { return .refuse(now.duration(to: end)) }
      state = .trying(trial)
      return .tryOut
    }
  }

  mutating func succeeded() { state = .closed(failures: 0) }

  mutating func failed(trial: Int? = nil, at now: Instant) {
    switch state {
    case .closed(let failures) where failures + 1 < threshold: state = .closed(failures: failures + 1)
    case .closed: state = .open(until: now.advanced(by: cooldown))
    case .trying(let number) where number == trial: state = .open(until: now.advanced(by: cooldown))
    // The request was sent before the circuit opened.
    case .open, .trying: break
    }
  }

  /// Records the end of a request that says nothing about the server.
  mutating func abandoned(trial: Int? = nil, at now: Instant) {
    if case .trying(let number) = state, number == trial { state = .open(until: now) }
  }
}
