import Foundation

extension LoopbackServer {
  /// A connection handed over to a closure, byte by byte. It is used on the thread that was given it.
  public struct ByteStream {
    private let connection: Connection

    init(connection: Connection) { self.connection = connection }

    /// The next bytes, at most that many; blocks until there are some. `nil` when the client has left or the server
    /// stops.
    public func read(upTo limit: Int = 64 << 10) -> Data? { connection.readRaw(upTo: limit) }

    /// Sends bytes, blocking. Returns false when the client has left.
    @discardableResult
    public func write(_ data: Data) -> Bool { (try? connection.send(data)) != nil }

    /// Blocks until the gate is open. Returns false when the client has left or the server stops before.
    public func wait(for gate: Gate) -> Bool { connection.socket.wait(for: gate, timeout: nil) == .signalled }

    /// Blocks for a while. Returns false when the client has left or the server stops meanwhile.
    public func wait(_ duration: Duration) -> Bool { (try? connection.wait(duration)) != nil }

    /// Ends the server's side (FIN); the client may go on sending.
    public func endWriting() { connection.socket.shutDownSending() }

    /// Resets the connection (RST).
    public func reset() { connection.socket.reset() }
  }
}
