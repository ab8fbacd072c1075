/// Decides at each interval whether a peer is alive. It is if there is progress in either direction: bytes are
/// received, frames of a message are sent, or the system transmits bytes that it has accepted. The first interval
/// has none before it to compare with: a peer that is silent from the start is pinged after two intervals and given up
/// after three.
struct KeepAliveState {
  enum Action { case wait, ping, end }

  private var received: Int?
  private var sent: Int?
  private var unsent = 0
  private var isPinged = false

  /// Returns what to do after an interval.
  ///
  /// - Parameters:
  ///   - received: The number of successful reads.
  ///   - sent: The number of message frames that the system has accepted.
  ///   - unsent: The number of accepted bytes that have not arrived; 0 if that is unknown.
  ///   - isHeld: Whether nothing is read because the queue is full: the silence says nothing about the peer then.
  mutating func tick(received: Int, sent: Int, unsent: Int, isHeld: Bool) -> Action {
    let hasMoved = received != self.received || sent != self.sent || unsent < self.unsent
    self.received = received
    self.sent = sent
    self.unsent = unsent
    if hasMoved || isHeld {
      isPinged = false
      return .wait
    }
    if isPinged { return .end }
    isPinged = true
    return .ping
  }
}
