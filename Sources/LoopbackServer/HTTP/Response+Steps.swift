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
