import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A WebSocket that is opened again whenever it is lost.
///
/// It begins to connect when it is made, and is a sequence of the messages of all its connections; ``events`` tells
/// what happens to them. The wait before an attempt doubles, with jitter, while attempts fail. There is no other
/// connection after a close code that means the end (``WebSocketReconnectPolicy/finalCodes``), a refusal of the
/// handshake that would be repeated (any status but 408, 425, 429 and 5xx other than 501 and 505), a certificate that
/// is not trusted, or ``close(code:reason:)``. Dropping the last reference ends it, and so does cancelling the task that
/// reads. What is not read is not received, and a lost connection is noticed by who reads: read, if only to ignore it.
///
/// Messages are sent at most once. One that the system has taken is not sent again, also when its connection is lost
/// before the peer has read it; one that was not taken whole, of which no peer sees a part, is sent on the next
/// connection. Who must know that the peer has a message lets the peer answer.
///
/// ```swift
/// let socket = ReconnectingWebSocket(to: URL(string: "wss://example.com/chat")!)
/// Task { for await event in socket.events { show(event) } }
/// try await socket.send("Hello")
/// for try await message in socket { print(message) }
/// ```
public final class ReconnectingWebSocket: Sendable, AsyncSequence {
  /// What it is made of.
  public typealias Element = WebSocketMessage

  /// What happens to the connections, for one reader; the latest 64 are kept for it. Ends after
  /// ``WebSocketEvent/ended(_:)``.
  public let events: AsyncStream<WebSocketEvent>
  private let connection: ReconnectingConnection

  /// Begins to connect.
  ///
  /// - Parameters:
  ///   - url: With the scheme `ws` or `wss`; `http` and `https` mean the same.
  ///   - protocols: Subprotocols, the preferred first.
  ///   - options: Of each connection. Defaults to ``WebSocketOptions/keptAlive``, so that a dead peer is noticed.
  ///   - reconnect: How long to wait before a new connection, when to give up, what to keep.
  public convenience init(
    to url: URL, protocols: [String] = [], options: WebSocketOptions = .keptAlive,
    reconnect: WebSocketReconnectPolicy = WebSocketReconnectPolicy()
  ) {
    self.init(protocols: protocols, options: options, reconnect: reconnect) { URLRequest(url: url) }
  }

  /// Begins to connect, with a request that is made for each connection: a token in it can be a fresh one.
  ///
  /// - Parameters:
  ///   - protocols: Subprotocols, the preferred first.
  ///   - options: Of each connection. Defaults to ``WebSocketOptions/keptAlive``, so that a dead peer is noticed.
  ///   - reconnect: How long to wait before a new connection, when to give up, what to keep.
  ///   - request: The URL and the header fields, as for `WebSocket.connect`. An error that
  ///     ``RetryPolicy/isTransient(_:)`` does not know is the end.
  public init(
    protocols: [String] = [], options: WebSocketOptions = .keptAlive,
    reconnect: WebSocketReconnectPolicy = WebSocketReconnectPolicy(),
    request: @escaping @Sendable () async throws -> URLRequest
  ) {
    let (events, continuation) = AsyncStream.makeStream(
      of: WebSocketEvent.self, bufferingPolicy: .bufferingNewest(64))
    self.events = events
    connection = ReconnectingConnection(policy: reconnect, clock: options.clock, events: continuation) {
      try await WebSocket.connect(to: request(), protocols: protocols, options: options)
    }
    connection.start()
  }

  deinit { connection.abandon() }

  /// Sends a message and returns when the system has taken it: at once, or on the next connection. Messages go in the
  /// order of the calls.
  ///
  /// Cancelled while it waits, it is not sent; while it is being sent, it may be. See ``ReconnectingWebSocket`` for
  /// what a loss does to it.
  /// - Throws: ``WebSocketError/sendQueueFull``; when it is over, what ended it, or
  ///   ``WebSocketError/closed(code:reason:)``; `CancellationError`.
  public func send(_ message: WebSocketMessage) async throws { try await connection.send(message) }

  /// Sends text.
  public func send(_ text: String) async throws { try await connection.send(.text(text)) }

  /// Sends bytes.
  public func send(_ data: Data) async throws { try await connection.send(.binary(data)) }

  /// The next message, from whichever connection; `nil` when it was closed by ``close(code:reason:)``, or by the server
  /// with ``WebSocketCloseCode/normalClosure``.
  ///
  /// - Throws: What ended it: a ``WebSocketError``, a `URLError`, what makes the request. `CancellationError`, and it is
  ///   closed.
  public func receive() async throws -> WebSocketMessage? { try await connection.receive() }

  /// Ends it, and waits for the connection's end, at most the close timeout. What waits to be sent is not sent.
  /// Cancelling ends the connection at once.
  ///
  /// - Parameters:
  ///   - code: Defaults to ``WebSocketCloseCode/normalClosure``.
  ///   - reason: At most 123 bytes of UTF-8.
  /// - Throws: ``WebSocketError/invalidControlFrame`` when the code or the reason must not be sent.
  public func close(code: WebSocketCloseCode = .normalClosure, reason: String = "") async throws {
    guard code.isSendable, reason.utf8.count <= 123 else { throw WebSocketError.invalidControlFrame }
    try await connection.close(code, reason)
  }

  /// Reads messages. Several iterators share them.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let socket: ReconnectingWebSocket

    /// As ``ReconnectingWebSocket/receive()``.
    public mutating func next() async throws -> WebSocketMessage? { try await socket.receive() }
  }

  /// An iterator over what arrives from now on.
  public func makeAsyncIterator() -> Iterator { Iterator(socket: self) }
}
