import Foundation

extension LoopbackServer.Response {
  /// A step that the server performs towards a client. Every step ends early if the client disconnects or the server
  /// stops; a client that closes its side of the connection (FIN) counts as disconnected.
  public enum Step: Sendable {
    /// Sends bytes.
    case send(Data)
    /// Sends text as UTF-8.
    case sendString(String)
    /// Sends one chunk with its framing.
    case chunk(Data)
    /// Sends the last chunk and the trailer fields.
    case endOfChunks(trailers: HeaderFields = [:])
    /// Waits until the gate is open.
    case wait(Gate)
    /// Opens a gate, to notify the test that the steps before it are done.
    case open(Gate)
    /// Sends nothing more until the client disconnects or the server stops.
    case stall
    /// Waits for a duration.
    case delay(Duration)
    /// Sends bytes in pieces of `chunk` bytes, with a pause after each.
    case trickle(Data, chunk: Int, every: Duration)
    /// Sends `bytes` bytes as fast as the client accepts them. The counter reports the progress.
    case flood(bytes: Int, of: UInt8 = 0x2E, counter: ByteCounter? = nil)
    /// Closes only the server's side (FIN); the client may continue to send.
    case halfClose
    /// Closes the connection (FIN).
    case close
    /// Resets the connection (RST).
    case reset
  }
}
