/// A connection that carries bytes, with or without TLS: what a WebSocket is spoken over.
protocol ByteTransport: AnyObject, Sendable {
  /// Opens the connection.
  func open() async throws
  /// The next bytes, empty when the peer has ended the connection. One call at a time: what is not asked for stays with
  /// the system, which slows the peer down.
  func receive() async throws -> [UInt8]
  /// Sends bytes after those of earlier calls, and says when the system has taken them. After a call with `isLast`
  /// nothing more is sent: later calls complete with an error.
  func send(_ bytes: [UInt8], isLast: Bool, completion: @escaping @Sendable ((any Error)?) -> Void)
  /// How many bytes the system has taken that have not arrived at the peer; `nil` where that is not known.
  func unsentBytes() async -> Int?
  /// Ends the connection at once; whatever is under way fails.
  func cancel()
}

extension ByteTransport {
  func unsentBytes() async -> Int? { nil }
}
