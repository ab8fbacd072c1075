/// Decides, interval by interval, whether a peer is alive. It is when anything moves in either direction: bytes come
/// in, frames of a message go out, or the system gets rid of what it was given.
struct KeepAliveState {
  enum Action { case wait, ping, end }

  private var received: Int?
  private var sent: Int?
  private var unsent = 0
  private var isPinged = false

  /// An interval has passed.
  ///
  /// - Parameters:
  ///   - received: How many times something has come.
  ///   - sent: How many frames of messages the system has taken.
  ///   - unsent: How many bytes the system has taken that have not arrived; 0 where that is not known.
  ///   - isHeld: Whether nothing is read because messages wait for their reader: a peer that is not listened to cannot
  ///     be heard.
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
