import Foundation

extension LoopbackServer.Response {
  /// One thing that a server does to a client. Every step ends early when the client leaves or the server stops; a
  /// client that ends its side of the connection (FIN) counts as gone.
  public enum Step: Sendable {
    /// Sends bytes.
    case send(Data)
    /// Sends text as UTF-8.
    case sendString(String)
    /// Sends one chunk with its framing.
    case chunk(Data)
    /// Sends the last chunk and the trailer fields.
    case endOfChunks(trailers: HeaderFields = [:])
    /// Goes on when the gate is open.
    case wait(Gate)
    /// Opens a gate: the test learns that the steps before it are done.
    case open(Gate)
    /// Sends nothing more until the client leaves or the server stops.
    case stall
    /// Goes on after a while.
    case delay(Duration)
    /// Sends bytes in pieces of that many, with a pause after each.
    case trickle(Data, chunk: Int, every: Duration)
    /// Sends that many bytes as fast as the client takes them. The counter tells how far it has come.
    case flood(bytes: Int, of: UInt8 = 0x2E, counter: ByteCounter? = nil)
    /// Ends the server's side only (FIN); the client may go on sending.
    case halfClose
    /// Closes the connection (FIN).
    case close
    /// Resets the connection (RST).
    case reset
  }
}

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

  /// One thing that a server does while it receives a body.
  public enum BodyStep: Sendable {
    /// Sends `100 Continue` now. Steps send it only where it stands; no step, no answer to the expectation.
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
