/// Whether an origin is asked: closed as long as it responds, open for a while once it has failed several times in a
/// row, then open but for one request that tries.
struct CircuitState<Instant: InstantProtocol> where Instant.Duration == Duration {
  private enum State {
    case closed(failures: Int)
    case open(until: Instant)
    case trying
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

  /// `nil` if the request may go; else how long it would have to wait, zero while another is trying.
  mutating func refusal(at now: Instant) -> Duration? {
    switch state {
    case .closed: return nil
    case .trying: return .zero
    case .open(let end):
      guard end <= now else { return now.duration(to: end) }
      state = .trying
      return nil
    }
  }

  mutating func succeeded() { state = .closed(failures: 0) }

  mutating func failed(at now: Instant) {
    switch state {
    case .closed(let failures) where failures + 1 < threshold: state = .closed(failures: failures + 1)
    case .closed, .trying: state = .open(until: now.advanced(by: cooldown))
    // Sent before it opened.
    case .open: break
    }
  }

  /// The request ended without saying anything about the server.
  mutating func abandoned(at now: Instant) {
    if case .trying = state { state = .open(until: now) }
  }
}
