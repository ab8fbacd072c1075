import Foundation

/// A WebSocket client connection (RFC 6455) with message compression (RFC 7692), on every platform.
///
/// It is an asynchronous sequence of the received messages, which ends after a clean close and throws a
/// ``WebSocketError`` otherwise. The library responds to pings automatically. Received messages wait in a queue of
/// limited size (``WebSocketOptions/maximumQueuedMessages``, ``WebSocketOptions/maximumQueuedBytes``); when it is full,
/// the library stops reading, so a slow reader slows the peer down. Releasing the last reference closes the connection,
/// and so does cancelling the task that reads.
///
/// ```swift
/// let socket = try await WebSocket.connect(to: URL(string: "wss://example.com/chat")!)
/// try await socket.send("Hello")
/// for try await message in socket { print(message) }
/// ```
public final class WebSocket: Sendable, AsyncSequence {
  /// The subprotocol that the server chose, if any.
  public let subprotocol: String?
  /// The header fields of the server's handshake response, with lowercase names.
  public let responseHeaders: [String: String]
  /// Whether message compression was negotiated.
  public let isCompressed: Bool
  let connection: WebSocketConnection

  private init(_ agreement: HandshakeResponse.Agreement, _ connection: WebSocketConnection) {
    subprotocol = agreement.subprotocol
    responseHeaders = agreement.headers
    isCompressed = agreement.compression != nil
    self.connection = connection
  }

  deinit { connection.abandon() }

  /// Opens a WebSocket.
  ///
  /// - Parameters:
  ///   - url: A URL with the scheme `ws` or `wss`, or the equivalent `http` or `https`.
  ///   - protocols: The subprotocols to offer, in order of preference.
  ///   - options: Limits, timeouts and compression.
  /// - Throws: ``WebSocketError``; a `URLError` for a failure below the handshake; `CancellationError`.
  public static func connect(
    to url: URL, protocols: [String] = [], options: WebSocketOptions = WebSocketOptions()
  ) async throws -> WebSocket {
    try await connect(to: URLRequest(url: url), protocols: protocols, options: options)
  }

  /// Opens a WebSocket with the header fields of a request, such as `Authorization`, and its `timeoutInterval` (see
  /// ``WebSocketOptions/connectTimeout``). The method and body of the request are ignored; redirects are not followed.
  ///
  /// - Throws: The same errors as ``connect(to:protocols:options:)-(URL,_,_)``; an ``InvalidHeaderError`` for a field
  ///   that the handshake sets itself.
  public static func connect(
    to request: URLRequest, protocols: [String] = [], options: WebSocketOptions = WebSocketOptions()
  ) async throws -> WebSocket {
    var options = options
    // Without zlib, compression cannot be negotiated.
    if MessageInflater(keepsContext: true) == nil { options.compression = nil }
    guard request.url != nil else { throw WebSocketError.invalidURL }
    let cookies = SessionCookies(storage: options.cookieStorage)
    let sent = try HopRequest(HTTPRequest(request), session: SessionSettings(cookies: cookies)).sent
    options.inheritTimeout(of: sent)
    let request = sent.urlRequest
    let nonce = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
    let handshake = try HandshakeRequest(request, protocols: protocols, options: options, nonce: nonce)
    let transport: any ByteTransport
    let agreement: HandshakeResponse.Agreement
    do {
      transport = try ByteTransports.make(handshake.address, options)
      agreement = try await Handshake.run(handshake, on: transport, options: options) { lines in
        cookies.store(setCookieLines: lines, for: sent.url, request: sent)
      }
    } catch let error as URLError {
      // The transport knows only the host and the port, and an option nothing of them.
      throw error.replacingURL(with: request.url)
    }
    let connection = WebSocketConnection(transport, agreement: agreement, options: options)
    connection.start(agreement)
    return WebSocket(agreement, connection)
  }

  /// Sends a message and returns when the system has accepted it, which it does as fast as the peer reads.
  ///
  /// If the task is cancelled while earlier messages are being sent, the message is not sent; if later, it is still
  /// sent completely.
  /// - Throws: ``WebSocketError`` if the connection is closed; `CancellationError`.
  public func send(_ message: WebSocketMessage) async throws { try await connection.send(message) }

  /// Sends a text message.
  public func send(_ text: String) async throws { try await connection.send(.text(text)) }

  /// Sends a binary message.
  public func send(_ data: Data) async throws { try await connection.send(.binary(data)) }

  /// Sends a ping and returns when the pong has arrived.
  ///
  /// - Throws: ``WebSocketError`` if the connection ends first; `CancellationError`.
  public func ping() async throws { try await connection.ping() }

  /// Returns the next message; `nil` after a clean close: one with the code 1000, 1001 or none, or one that this side
  /// started.
  ///
  /// - Throws: ``WebSocketError``; `CancellationError` when the task is cancelled, which closes the connection.
  public func receive() async throws -> WebSocketMessage? { try await connection.receive() }

  /// Closes the connection and waits for its end, at most for the close timeout. Messages that are in the queue
  /// can still be read. Cancelling the task ends the connection immediately.
  ///
  /// - Parameters:
  ///   - code: Defaults to ``WebSocketCloseCode/normalClosure``.
  ///   - reason: At most 123 bytes of UTF-8.
  /// - Throws: ``WebSocketError/invalidControlFrame`` if a close frame must not contain the code or the reason.
  public func close(code: WebSocketCloseCode = .normalClosure, reason: String = "") async throws {
    guard code.isSendable, reason.utf8.count <= 123 else { throw WebSocketError.invalidControlFrame }
    await connection.close(code, reason)
  }

  /// The code with which the connection ended: the peer's, the one sent in response to a protocol violation, or
  /// ``WebSocketCloseCode/abnormalClosure`` if there was no close frame. `nil` while the connection is open.
  public var closeCode: WebSocketCloseCode? { connection.outcome?.code }

  /// The reason that belongs to ``closeCode``; `nil` while the connection is open.
  public var closeReason: String? { connection.outcome?.reason }

  /// An iterator over the received messages. Several iterators share them: each message goes to one of them.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let socket: WebSocket

    /// Returns the next message, as ``WebSocket/receive()`` does.
    public mutating func next() async throws -> WebSocketMessage? { try await socket.receive() }
  }

  /// Returns an iterator over the messages that have not been read yet.
  public func makeAsyncIterator() -> Iterator { Iterator(socket: self) }
}
