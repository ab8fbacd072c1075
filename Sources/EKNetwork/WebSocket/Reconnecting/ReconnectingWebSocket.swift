import Foundation

/// A WebSocket that reconnects whenever its connection is lost.
///
/// It starts connecting when it is created, and is an asynchronous sequence of the messages of all its connections;
/// ``events`` reports what happens to them. The delay before an attempt doubles, with jitter, while attempts fail. It
/// does not reconnect after a final close code (``WebSocketReconnectPolicy/finalCodes``), a permanent refusal of the
/// handshake (any status but 408, 425, 429 and 5xx other than 501 and 505; after a 401 it can renew its token, see
/// ``WebSocketReconnectPolicy/refreshToken``), a response that is not a handshake, an untrusted certificate, or
/// ``close(code:reason:)``; nor, before a connection has been open, after another failure of TLS or without the resources
/// to connect (`URLError.secureConnectionFailed`, `URLError.resourceUnavailable`). Releasing the last reference
/// ends it, and so does cancelling the task that reads.
///
/// Keep reading, even if you ignore the messages: while a received message waits to be read, a lost connection is noticed
/// only by sending, and once the queue of the connection is full (``WebSocketOptions/maximumQueuedMessages``,
/// ``WebSocketOptions/maximumQueuedBytes``), nothing more is received. A reader may send: if the connection is lost
/// meanwhile, the messages that it had still received are read before those of the next one.
///
/// Messages are sent at most once. A message that the system has accepted is not sent again, even if its connection is
/// lost before the peer has read it. A message that was not accepted completely is sent again on the next connection;
/// the peer of the lost connection has received at most an incomplete message. If you have to know that the peer has
/// received a message, let the peer acknowledge it.
///
/// ```swift
/// let socket = ReconnectingWebSocket(to: URL(string: "wss://example.com/chat")!)
/// Task { for await event in socket.events { show(event) } }
/// try await socket.send("Hello")
/// for try await message in socket { print(message) }
/// ```
public final class ReconnectingWebSocket: Sendable, AsyncSequence {
  /// The type of the elements.
  public typealias Element = WebSocketMessage

  /// The events of the connections, for one reader; the latest 64 are buffered. The stream ends after
  /// ``WebSocketEvent/ended(_:)``.
  public let events: AsyncStream<WebSocketEvent>
  private let connection: ReconnectingConnection

  /// Creates a WebSocket and starts connecting.
  ///
  /// - Parameters:
  ///   - url: A URL with the scheme `ws` or `wss`, or the equivalent `http` or `https`.
  ///   - protocols: The subprotocols to offer, in order of preference.
  ///   - options: The options of each connection. Defaults to ``WebSocketOptions/keptAlive``, so that a dead peer is
  ///     detected.
  ///   - reconnect: The delays between attempts, when to give up, and the limits of the send queue.
  public convenience init(
    to url: URL, protocols: [String] = [], options: WebSocketOptions = .keptAlive,
    reconnect: WebSocketReconnectPolicy = WebSocketReconnectPolicy()
  ) {
    self.init(protocols: protocols, options: options, reconnect: reconnect) { URLRequest(url: url) }
  }

  /// Creates a WebSocket and starts connecting, with a request that is created for each connection, so that it can
  /// contain a fresh token.
  ///
  /// - Parameters:
  ///   - protocols: The subprotocols to offer, in order of preference.
  ///   - options: The options of each connection. Defaults to ``WebSocketOptions/keptAlive``, so that a dead peer is
  ///     detected.
  ///   - reconnect: The delays between attempts, when to give up, and the limits of the send queue.
  ///   - request: Returns the URL, the header fields and the timeout, as for `WebSocket.connect`. An error that is not
  ///     transient by ``RetryPolicy/isTransient(_:)``, nor a temporary refusal by middleware, ends the WebSocket; the two
  ///     `URLError` codes that ``ReconnectingWebSocket`` names do so only before a connection has been open. When the
  ///     WebSocket is closed, a closure that is running is cancelled and not waited for.
  public init(
    protocols: [String] = [], options: WebSocketOptions = .keptAlive,
    reconnect: WebSocketReconnectPolicy = WebSocketReconnectPolicy(),
    request: @escaping @Sendable () async throws -> URLRequest
  ) {
    let (events, continuation) = AsyncStream.makeStream(
      of: WebSocketEvent.self, bufferingPolicy: .bufferingNewest(64))
    self.events = events
    connection = ReconnectingConnection(policy: reconnect, clock: options.clock, events: continuation) {
      // The closure may ignore cancellation, and may itself close the WebSocket, which waits for its end.
      let first = try await withPromptCancellation(patience: .zero, request)
      guard let refreshToken = reconnect.refreshToken else {
        return try await WebSocket.connect(to: first, protocols: protocols, options: options)
      }
      let refusal = Locked<NetworkResponse?>(nil)
      var watched = options
      watched.keepRefusal(in: refusal)
      do {
        return try await WebSocket.connect(to: first, protocols: protocols, options: watched)
      } catch WebSocketError.refused(401, _) {
        let response = refusal.withLock { $0 } ?? NetworkResponse(statusCode: 401, url: first.url?.withoutCredentials)
        try await withPromptCancellation(patience: .zero) { try await refreshToken(response) }
        let renewed = try await withPromptCancellation(patience: .zero, request)
        return try await WebSocket.connect(to: renewed, protocols: protocols, options: options)
      }
    }
    connection.start()
  }

  deinit { connection.abandon() }

  /// Sends a message and returns when the system has accepted it, on this connection or the next one. Messages are sent
  /// in the order of the calls.
  ///
  /// If the task is cancelled while the message waits, it is not sent; while it is being sent, it may still be sent.
  /// See ``ReconnectingWebSocket`` for what happens when the connection is lost.
  /// - Throws: ``WebSocketError/sendQueueFull``; after the end, the error that ended it, or
  ///   ``WebSocketError/closed(code:reason:)``; `CancellationError`.
  public func send(_ message: WebSocketMessage) async throws { try await connection.send(message) }

  /// Sends a text message.
  public func send(_ text: String) async throws { try await connection.send(.text(text)) }

  /// Sends a binary message.
  public func send(_ data: Data) async throws { try await connection.send(.binary(data)) }

  /// Returns the next message, from any of the connections; `nil` if it was closed by ``close(code:reason:)``, or by
  /// the server with ``WebSocketCloseCode/normalClosure``.
  ///
  /// - Throws: The error that ended it: a ``WebSocketError``, a `URLError`, or the error of the closure that creates
  ///   the request. `CancellationError` when the task is cancelled, which closes it.
  public func receive() async throws -> WebSocketMessage? { try await connection.receive() }

  /// Closes permanently and waits for the connection's end, at most for the close timeout. Messages that wait to be
  /// sent are discarded. Of the received messages that nobody is waiting for, one is kept and the others are discarded.
  /// Cancelling the task ends the connection immediately.
  ///
  /// - Parameters:
  ///   - code: Defaults to ``WebSocketCloseCode/normalClosure``.
  ///   - reason: At most 123 bytes of UTF-8.
  /// - Throws: ``WebSocketError/invalidControlFrame`` if a close frame must not contain the code or the reason.
  public func close(code: WebSocketCloseCode = .normalClosure, reason: String = "") async throws {
    guard code.isSendable, reason.utf8.count <= 123 else { throw WebSocketError.invalidControlFrame }
    try await connection.close(code, reason)
  }

  /// An iterator over the received messages. Several iterators share them: each message goes to one of them.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let socket: ReconnectingWebSocket

    /// Returns the next message, as ``ReconnectingWebSocket/receive()`` does.
    public mutating func next() async throws -> WebSocketMessage? { try await socket.receive() }
  }

  /// Returns an iterator over the messages that have not been read yet.
  public func makeAsyncIterator() -> Iterator { Iterator(socket: self) }
}

/// An event of a ``ReconnectingWebSocket``.
public enum WebSocketEvent: Sendable {
  /// A connection has opened.
  ///
  /// - Parameter subprotocol: The subprotocol that the server chose, if any.
  case connected(subprotocol: String?)
  /// A connection has ended or could not be opened, with a ``WebSocketError``, a `URLError`, or the error of the
  /// closure that creates the request. A close frame is ``WebSocketError/closed(code:reason:)``, whatever its code.
  case lost(any Error)
  /// The next attempt follows after the delay.
  case retrying(after: Duration)
  /// The last event: there are no more attempts. The error is the one that reading throws; `nil` if this side has
  /// closed, or the server with ``WebSocketCloseCode/normalClosure``.
  case ended((any Error)?)
}

/// A policy for when a ``ReconnectingWebSocket`` reconnects, and how much it keeps to send on the next connection.
public struct WebSocketReconnectPolicy: Sendable {
  /// The delay before the first new attempt, at least 100 milliseconds. It doubles with each consecutive failure and is
  /// reduced at random by up to a half.
  public var initialDelay: Duration
  /// The maximum delay, also for a server's `Retry-After`. A connection that has lasted this long resets the number of
  /// failures, and so does one that has received a message. At least 100 milliseconds, at most a year.
  public var maximumDelay: Duration
  /// The maximum number of consecutive failures; the error of the next one is thrown. A negative number counts as zero.
  /// `nil` for no limit.
  public var maximumFailures: Int?
  /// The close codes after which it does not reconnect, whether the server sent them or they were sent in response to a
  /// protocol violation. Add the private codes that your server uses for a permanent close.
  public var finalCodes: Set<WebSocketCloseCode>
  /// The maximum number of messages that wait to be sent, including the one being sent. Another one is refused with
  /// ``WebSocketError/sendQueueFull``. At least one.
  public var maximumPendingMessages: Int
  /// The maximum total size in bytes of the messages that wait to be sent. A single message may be larger: with
  /// zero or less, one message at a time is accepted.
  public var maximumPendingBytes: Int
  /// A closure that renews the token when the handshake is refused with 401, given that response with up to the first KiB of its
  /// body. Then the request is created again, and sent at once; if it is refused with 401 again, the WebSocket ends. An error
  /// that it throws has the meaning of one of the closure that creates the request. Like that, it is cancelled when the
  /// WebSocket is closed, and not waited for. Defaults to `nil`: a 401 ends the WebSocket.
  public var refreshToken: (@Sendable (NetworkResponse) async throws -> Void)?
  /// The source of the jitter: returns a number from 0 to 1.
  var random: @Sendable () -> Double = { .random(in: 0...1) }

  /// Creates a policy.
  ///
  /// - Parameters:
  ///   - initialDelay: Defaults to a second.
  ///   - maximumDelay: Defaults to a minute.
  ///   - maximumFailures: Defaults to `nil`: an unreachable server is retried forever.
  ///   - finalCodes: Defaults to ``defaultFinalCodes``.
  ///   - maximumPendingMessages: Defaults to 1024.
  ///   - maximumPendingBytes: Defaults to 16 MiB.
  public init(
    initialDelay: Duration = .seconds(1), maximumDelay: Duration = .seconds(60), maximumFailures: Int? = nil,
    finalCodes: Set<WebSocketCloseCode> = WebSocketReconnectPolicy.defaultFinalCodes,
    maximumPendingMessages: Int = 1024, maximumPendingBytes: Int = 16 << 20
  ) {
    self.initialDelay = initialDelay
    self.maximumDelay = maximumDelay
    self.maximumFailures = maximumFailures
    self.finalCodes = finalCodes
    self.maximumPendingMessages = maximumPendingMessages
    self.maximumPendingBytes = maximumPendingBytes
  }

  /// The codes that indicate completion or a failure that would repeat itself (RFC 6455 §7.4.1 and the registry of
  /// §11.7): 1000, 1002, 1003, 1007, 1008, 1009, 1010, 3000 (unauthorized) and 3003 (forbidden).
  public static let defaultFinalCodes: Set<WebSocketCloseCode> = [
    .normalClosure, .protocolError, .unsupportedData, .invalidPayload, .policyViolation, .messageTooBig,
    .missingExtension, WebSocketCloseCode(rawValue: 3000), WebSocketCloseCode(rawValue: 3003),
  ]
}
