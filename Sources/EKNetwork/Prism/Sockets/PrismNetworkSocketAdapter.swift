import Foundation

#if canImport(Darwin)
  import Network
#endif

/// A socket client: WebSocket, or newline-delimited lines over TCP or TLS, as the endpoint's parameters specify.
///
/// Frames are lines, split at `\n` or `\r\n`; the end of a WebSocket message also ends a line. A stream that is not
/// read applies back-pressure to the server. Cancelling or releasing the stream closes the connection.
public actor PrismNetworkSocketAdapter: PrismNetworkSocketClient {
  private let options: WebSocketOptions
  private let maximumLineLength: Int
  private var opening: Task<SocketSession.Carrier, any Error>?
  private(set) var session: SocketSession?

  /// Creates an adapter without a connection.
  ///
  /// - Parameters:
  ///   - options: Limits and timeouts; the connect timeout applies to both kinds of connection.
  ///   - maximumLineLength: The maximum length of a line in bytes; a longer line ends the connection. Defaults to 16
  ///     MiB.
  public init(options: WebSocketOptions = WebSocketOptions(), maximumLineLength: Int = 16 << 20) {
    self.options = options
    self.maximumLineLength = maximumLineLength
  }

  /// Connects to an endpoint, after closing an earlier connection, whose stream ends; an earlier call that is still
  /// connecting throws `CancellationError`, as it does after ``disconnect()``.
  ///
  /// - Returns: A stream of the received frames, for one reader. The stream ends when the connection closes or fails;
  ///   ``disconnectionError`` is the reason.
  /// - Throws: What the endpoint's port throws; ``PrismNetworkError/noConnectivity`` if no connection can be made,
  ///   ``PrismNetworkError/unauthorized`` and others according to the status of a rejected WebSocket handshake;
  ///   `CancellationError`. ``PrismNetworkFailure/detailed(_:)`` makes the cause available.
  public func connect(to endpoint: any PrismNetworkSocketEndpoint) async throws -> AsyncStream<Data> {
    disconnect()
    let session = SocketSession(try await open(SocketDestination(endpoint)), maximumLineLength: maximumLineLength)
    self.session = session
    let token = SocketStreamToken(session)
    return AsyncStream(unfolding: { await token.session.next() }, onCancel: { session.cancel() })
  }

  /// Sends a command as one line, and returns when the system has accepted it.
  ///
  /// If the task is cancelled while earlier commands are being sent, the command is not sent; if later, it is still sent
  /// completely.
  /// - Throws: ``PrismNetworkError/noConnectivity`` without a connection; `CancellationError`.
  public func send(command: any PrismNetworkSocketCommand) async throws {
    guard let session, !session.isOver else { throw PrismNetworkError.noConnectivity }
    let message = command.message
    // Compares bytes, not characters: "\r\n" is one character, which is not "\n".
    let line = message.utf8.last == UInt8(ascii: "\n") ? message : message + "\n"
    do {
      try await session.send(line)
    } catch let error where !(error is CancellationError) {
      throw PrismNetworkFailure(.noConnectivity, because: error).surfaced
    }
  }

  /// Closes the connection, if there is one; its stream ends. A call that is still connecting throws
  /// `CancellationError`.
  public func disconnect() {
    opening?.cancel()
    opening = nil
    session?.cancel()
  }

  /// The reason why the stream of the last connection ended: a ``WebSocketError``, also of a connection without
  /// WebSocket, or a ``StreamLineTooLongError``; without WebSocket also a `URLError` if the server does not accept the
  /// client's certificate (Linux). `nil` if the peer closed it properly, if this side closed it, or if it has not ended.
  public var disconnectionError: (any Error)? {
    get async { await session?.failure }
  }

  /// Opens a connection in a task of its own, which ``disconnect()`` can cancel.
  private func open(_ target: SocketDestination) async throws -> SocketSession.Carrier {
    let attempt = Task { [options] in try await Self.carrier(to: target, options: target.applied(to: options)) }
    opening = attempt
    let result = await withTaskCancellationHandler {
      await attempt.result
    } onCancel: {
      attempt.cancel()
    }
    guard opening == attempt else {
      // It may have been opened at the last moment.
      if case .success(let carrier) = result { carrier.cancel() }
      throw CancellationError()
    }
    opening = nil
    return try result.get()
  }

  private static func carrier(
    to target: SocketDestination, options: WebSocketOptions
  ) async throws -> SocketSession.Carrier {
    let refusal = Locked<NetworkResponse?>(nil)
    do {
      if target.isWebSocket {
        var options = options
        options.keepRefusal(in: refusal)
        return .webSocket(
          try await WebSocket.connect(to: target.request(), protocols: target.subprotocols, options: options))
      }
      return .lines(try await Handshake.openBare(target.address(options), options: options))
    } catch {
      let url = target.isWebSocket ? try? target.request().url : nil
      switch error {
      case is PrismNetworkError, is CancellationError: throw error
      case let error as WebSocketError: throw PrismNetworkFailure(error, url: url, refusal.withLock { $0 }).surfaced
      case is InvalidHeaderError: throw PrismNetworkFailure(.badRequest, because: error, url: url).surfaced
      default: throw PrismNetworkFailure(.noConnectivity, because: error, url: url).surfaced
      }
    }
  }
}

extension PrismNetworkFailure {
  /// - Parameter refusal: The response that refused the handshake.
  init(_ error: WebSocketError, url: URL?, _ refusal: NetworkResponse?) {
    switch error {
    case .refused(let status, let headers):
      self.init(
        PrismNetworkError(status: status), because: error, url: url, statusCode: status, headers: headers,
        data: refusal?.data ?? Data())
    case .invalidURL: self.init(.invalidURL, because: error, url: url)
    case .timedOut, .connectionLost: self.init(.noConnectivity, because: error, url: url)
    default: self.init(.invalidResponse, because: error, url: url)
    }
  }
}

/// A token that closes the connection when its stream is released.
private final class SocketStreamToken: Sendable {
  let session: SocketSession

  init(_ session: SocketSession) { self.session = session }

  deinit { session.cancel() }
}

/// A client that connects to a socket and sends commands.
public protocol PrismNetworkSocketClient: Sendable {
  /// Connects to an endpoint; the stream contains the received frames and ends with the connection.
  func connect(to endpoint: any PrismNetworkSocketEndpoint) async throws -> AsyncStream<Data>
  /// Sends a command over the connection.
  ///
  /// - Throws: ``PrismNetworkError/noConnectivity`` without one.
  func send(command: any PrismNetworkSocketCommand) async throws
}

extension PrismNetworkSocketClient {
  /// Connects to the endpoint of a request.
  ///
  /// - Throws: ``PrismNetworkError/invalidURL`` if it has none.
  public func connect(with request: any PrismNetworkSocketRequest) async throws -> AsyncStream<Data> {
    guard let endpoint = request.endpoint else { throw PrismNetworkError.invalidURL }
    return try await connect(to: endpoint)
  }
}

/// The endpoint of a socket: its address, and the protocols of the connection.
///
/// Parameters with WebSocket options select WebSocket; without them, lines are sent over plain TCP or TLS.
public protocol PrismNetworkSocketEndpoint: PrismLogger, Sendable {
  /// The name or address of the server.
  var host: NWEndpoint.Host { get }
  /// The port of the server.
  var port: NWEndpoint.Port { get throws }
  /// The parameters of the connection: whether it uses TLS and WebSocket.
  var parameters: NWParameters { get }
  /// The path and query of a WebSocket's URL. Defaults to `/`.
  var path: String { get }
  /// The header fields of a WebSocket's handshake. Defaults to none.
  var headers: [String: String] { get }
  /// The subprotocols of a WebSocket, in order of preference. Defaults to none.
  var subprotocols: [String] { get }
}

extension PrismNetworkSocketEndpoint {
  /// The root path.
  public var path: String { "/" }
  /// No header fields.
  public var headers: [String: String] { [:] }
  /// No subprotocols.
  public var subprotocols: [String] { [] }

  /// Writes the address and the names of the header fields to the log. The values of header fields and query items are
  /// left out, because they may be secret.
  public func log() {
    let address = (try? SocketDestination(self))?.redactedForLog
    DeveloperLog.write("SOCKET", address ?? "<invalid address>", fields: headers)
  }
}

/// A request for a connection.
public protocol PrismNetworkSocketRequest: Sendable {
  /// The endpoint to connect to; without one, ``PrismNetworkSocketClient/connect(with:)`` throws
  /// ``PrismNetworkError/invalidURL``.
  var endpoint: (any PrismNetworkSocketEndpoint)? { get }
}

/// A command that is sent over a socket, as one line.
public protocol PrismNetworkSocketCommand: Sendable {
  /// The text. A newline is appended unless its bytes end in one.
  var message: String { get }
}
