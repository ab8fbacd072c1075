import Foundation

extension LoopbackServer {
  /// A connection that is passed to a closure for raw reading and writing. It must be used on the thread that received
  /// it.
  public struct ByteStream {
    private let connection: Connection

    init(connection: Connection) { self.connection = connection }

    /// Returns the next bytes, at most `limit`; blocks until there are some. `nil` if the client has disconnected or
    /// the server stops.
    public func read(upTo limit: Int = 64 << 10) -> Data? { connection.readRaw(upTo: limit) }

    /// Sends bytes, blocking. Returns false if the client has disconnected.
    @discardableResult
    public func write(_ data: Data) -> Bool { (try? connection.send(data)) != nil }

    /// Blocks until the gate is open. Returns false if the client disconnects or the server stops first.
    public func wait(for gate: Gate) -> Bool { connection.socket.wait(for: gate, timeout: nil) == .signalled }

    /// Blocks for a duration. Returns false if the client disconnects or the server stops meanwhile.
    public func wait(_ duration: Duration) -> Bool { (try? connection.wait(duration)) != nil }

    /// Closes the server's side (FIN); the client may continue to send.
    public func endWriting() { connection.socket.shutDownSending() }

    /// Resets the connection (RST).
    public func reset() { connection.socket.reset() }
  }
}
