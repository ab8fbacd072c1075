extension LoopbackServer {
  /// What to do when a head has been received and its body has not.
  public enum HeadDecision: Sendable {
    /// Answers `Expect: 100-continue`, reads the body and calls the handler.
    case readBody
    /// Takes these steps, then reads the rest of the body and calls the handler.
    case steps([BodyStep])
    /// Answers at once; the handler is not called. With `.keepAlive` the rest of the body is read and thrown away
    /// afterwards, else the connection is closed as the response says.
    case respond(Response)
  }
}
