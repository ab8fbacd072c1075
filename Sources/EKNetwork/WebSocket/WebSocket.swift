import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A client's WebSocket (RFC 6455), with compressed messages (RFC 7692), on every platform.
///
/// It is a sequence of the messages that arrive, which ends after a clean close and throws a ``WebSocketError``
/// otherwise. Pings are answered by themselves. What is not read is not received: a slow reader slows the peer down.
/// Dropping the last reference closes the connection, and so does cancelling the task that reads.
///
/// ```swift
/// let socket = try await WebSocket.connect(to: URL(string: "wss://example.com/chat")!)
/// try await socket.send("Hello")
/// for try await message in socket { print(message) }
/// ```
public final class WebSocket: Sendable, AsyncSequence {
  /// The subprotocol that the server chose, if any.
  public let subprotocol: String?
  /// The header fields of the server's handshake, their names in lowercase.
  public let responseHeaders: [String: String]
  /// Whether messages are compressed.
  public let isCompressed: Bool
  private let connection: WebSocketConnection

  private init(_ agreement: HandshakeResponse.Agreement, _ connection: WebSocketConnection) {
    subprotocol = agreement.subprotocol
    responseHeaders = agreement.headers
    isCompressed = agreement.compression != nil
    self.connection = connection
  }

  deinit { connection.abandon() }

  /// Closes in the background.
  func abandon() { connection.abandon() }

  /// Opens a WebSocket.
  ///
  /// - Parameters:
  ///   - url: With the scheme `ws` or `wss`; `http` and `https` mean the same.
  ///   - protocols: Subprotocols, the preferred first.
  ///   - options: Limits, times, compression.
  /// - Throws: ``WebSocketError``, a `URLError` for what fails below the handshake, `CancellationError`.
  public static func connect(
    to url: URL, protocols: [String] = [], options: WebSocketOptions = WebSocketOptions()
  ) async throws -> WebSocket {
    try await connect(to: URLRequest(url: url), protocols: protocols, options: options)
  }

  /// Opens a WebSocket with header fields of the request's: `Authorization` and the like. Its method and body are
  /// not used; redirects are not followed.
  ///
  /// - Throws: As ``connect(to:protocols:options:)-(URL,_,_)``; an ``InvalidHeaderError`` for a field that the
  ///   handshake sets itself.
  public static func connect(
    to request: URLRequest, protocols: [String] = [], options: WebSocketOptions = WebSocketOptions()
  ) async throws -> WebSocket {
    var options = options
    // Without zlib nothing can be agreed on.
    if MessageInflater(keepsContext: true) == nil { options.compression = nil }
    let cookies = SessionCookies(storage: options.cookieStorage)
    let request = try HopRequest(request, session: SessionSettings(cookies: cookies)).urlRequest
    let nonce = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
    let handshake = try HandshakeRequest(request, protocols: protocols, options: options, nonce: nonce)
    let transport = try ByteTransports.make(handshake.address, options)
    let agreement: HandshakeResponse.Agreement
    do {
      agreement = try await Handshake.run(handshake, on: transport, options: options)
    } catch let error as URLError {
      // The transport knows only the host and the port.
      throw error.replacingURL(with: request.url)
    }
    if let url = request.url { await cookies.keep(setCookieLines: agreement.cookieLines, for: url, request: request) }
    let connection = WebSocketConnection(transport, agreement: agreement, options: options)
    connection.start(agreement)
    return WebSocket(agreement, connection)
  }

  /// Sends a message and returns when the system has taken it, which is when the peer keeps up.
  ///
  /// Cancelled while earlier messages are being sent, it is not sent; later, it is sent whole all the same.
  /// - Throws: ``WebSocketError`` when the connection is closed, `CancellationError`.
  public func send(_ message: WebSocketMessage) async throws { try await connection.send(message) }

  /// Sends text.
  public func send(_ text: String) async throws { try await connection.send(.text(text)) }

  /// Sends bytes.
  public func send(_ data: Data) async throws { try await connection.send(.binary(data)) }

  /// Pings the peer and returns when it has answered.
  ///
  /// - Throws: ``WebSocketError`` when the connection ends before, `CancellationError`.
  public func ping() async throws { try await connection.ping() }

  /// The next message; `nil` after a clean close: one with the code 1000, 1001 or none, or one that this side began.
  ///
  /// - Throws: ``WebSocketError``; `CancellationError`, and the connection is closed.
  public func receive() async throws -> WebSocketMessage? { try await connection.receive() }

  /// Closes the connection and waits until it is over, at most the close timeout. Messages that have arrived can still
  /// be read. Cancelling ends the connection at once.
  ///
  /// - Parameters:
  ///   - code: Defaults to ``WebSocketCloseCode/normalClosure``.
  ///   - reason: At most 123 bytes of UTF-8.
  /// - Throws: ``WebSocketError/invalidControlFrame`` when the code or the reason must not be sent.
  public func close(code: WebSocketCloseCode = .normalClosure, reason: String = "") async throws {
    guard code.isSendable, reason.utf8.count <= 123 else { throw WebSocketError.invalidControlFrame }
    await connection.close(code, reason)
  }

  /// How the connection ended: the peer's code, or the one with which a broken rule was answered,
  /// ``WebSocketCloseCode/abnormalClosure`` without a close frame. `nil` while it is open.
  public var closeCode: WebSocketCloseCode? { connection.outcome?.code }

  /// The words that came with the code.
  public var closeReason: String? { connection.outcome?.reason }

  /// Reads messages. Several iterators share them.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let socket: WebSocket

    /// As ``WebSocket/receive()``.
    public mutating func next() async throws -> WebSocketMessage? { try await socket.receive() }
  }

  /// An iterator over what arrives from now on.
  public func makeAsyncIterator() -> Iterator { Iterator(socket: self) }
}
