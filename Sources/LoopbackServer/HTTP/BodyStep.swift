extension LoopbackServer {
  /// One thing that a server does while it receives a body.
  public enum BodyStep: Sendable {
    /// Sends `100 Continue` now. Steps send it only where it stands; no step, no response to the expectation.
    case sendContinue
    /// Reads on when that many bytes of the body, framing included, have been received in all, or the body ends.
    case read(total: Int)
    /// Reads the rest in pieces of at most that many bytes, with a pause after each.
    case trickle(chunk: Int, every: Duration)
    /// Reads nothing until the gate is open.
    case wait(Gate)
    /// Opens a gate: the test learns that the steps before it are done.
    case open(Gate)
    /// Reads nothing for a while.
    case delay(Duration)
    /// Reads nothing more until the client leaves or the server stops.
    case stall
    /// From here on the bytes are counted and not kept.
    case discard
    /// Closes the connection (FIN, or RST where bytes are unread, as the system does).
    case close
    /// Resets the connection (RST).
    case reset
  }
}
