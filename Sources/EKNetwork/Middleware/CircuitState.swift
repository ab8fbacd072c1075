/// Whether an origin is asked: closed as long as it responds, open for a while once it has failed several times in a
/// row, then open but for one request that tries.
struct CircuitState<Instant: InstantProtocol> where Instant.Duration == Duration {
  private enum State {
    case closed(failures: Int)
    case open(until: Instant)
    case trying(Int)
  }

  /// What becomes of a request.
  enum Verdict: Equatable {
    case go
    /// It may go, as the one that tries.
    case tryOut
    /// It would have to wait so long, zero while another tries.
    case refuse(Duration)
  }

  private let threshold: Int
  private let cooldown: Duration
  private var state = State.closed(failures: 0)

  init(threshold: Int, cooldown: Duration) {
    self.threshold = max(1, threshold)
    self.cooldown = cooldown
  }

  /// Whether there is nothing to remember.
  var isUnused: Bool { if case .closed(0) = state { true } else { false } }

  /// - Parameter trial: The number that it gets if it is the one that tries: no other request has had it.
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
    // Sent before it opened.
    case .open, .trying: break
    }
  }

  /// The request ended without saying anything about the server.
  mutating func abandoned(trial: Int? = nil, at now: Instant) {
    if case .trying(let number) = state, number == trial { state = .open(until: now) }
  }
}
