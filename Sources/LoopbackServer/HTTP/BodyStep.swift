extension LoopbackServer {
  /// A step that the server performs while it receives a body.
  public enum BodyStep: Sendable {
    /// Sends `100 Continue` now. With steps, it is only sent where this step occurs; without this step the expectation
    /// gets no response.
    case sendContinue
    /// Reads until `total` bytes of the body, framing included, have been received in all, or the body ends.
    case read(total: Int)
    /// Reads the rest in pieces of at most `chunk` bytes, with a pause after each.
    case trickle(chunk: Int, every: Duration)
    /// Reads nothing until the gate is open.
    case wait(Gate)
    /// Opens a gate, to notify the test that the steps before it are done.
    case open(Gate)
    /// Reads nothing for a duration.
    case delay(Duration)
    /// Reads nothing more until the client disconnects or the server stops.
    case stall
    /// Counts the following bytes without keeping them.
    case discard
    /// Closes the connection (FIN, or RST if bytes are unread, as the system does).
    case close
    /// Resets the connection (RST).
    case reset
  }
}
