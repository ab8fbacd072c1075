import Foundation

#if canImport(Darwin)
  import Network
#endif

/// A connection of an adapter, which is read as frames.
actor SocketSession {
  enum Carrier: Sendable {
    case webSocket(WebSocket)
    case lines(any ByteTransport)

    /// Closes the connection, and discards what has been received.
    func cancel(_ code: WebSocketCloseCode = .goingAway) {
      switch self {
      case .webSocket(let socket): socket.connection.discard(code)
      case .lines(let transport): transport.cancel()
      }
    }
  }

  private let carrier: Carrier
  private let maximumLineLength: Int
  /// Returns one line at a time, so that a chunk of nothing but line ends does not become a list many times its size.
  private var splitter: LineSplitter
  /// Whether the splitter holds the rest of a message, whose end also ends a line.
  private var isInMessage = false
  /// Whether the peer or this side has ended the connection; there are no more frames then.
  private let hasEnded = Locked(false)
  /// The turns of the lines that are sent: what was passed to the transport cannot be taken back, so one line at a time
  /// is.
  nonisolated let turns = Locked((queue: TurnQueue(), lastID: UInt64(0)))
  /// The reason why the frames ended; `nil` if the peer ended them properly, or this side did.
  private(set) var failure: (any Error)?

  init(_ carrier: Carrier, maximumLineLength: Int) {
    self.carrier = carrier
    self.maximumLineLength = maximumLineLength
    splitter = LineSplitter(maximumLength: maximumLineLength, keepsBlankLines: true)
  }

  deinit { cancel() }

  /// Returns the next frame; `nil` if the connection has ended. After ``cancel()`` what has been received is not
  /// returned any more.
  func next() async -> Data? {
    while !hasEnded.withLock({ $0 }) {
      do {
        if let frame = try splitter.next({ line, _ in Data(line) }) { return frame }
        if isInMessage {
          isInMessage = false
          if let frame = splitter.takeRest() { return frame }
        }
        try await receive()
      } catch {
        // Cancelling the task that reads closes the connection, which may not be known here yet.
        if !hasEnded.withLock({ $0 }), !(error is CancellationError) { failure = Self.asThrown(error) }
        // RFC 6455 §7.4.1.
        cancel(error is StreamLineTooLongError ? .messageTooBig : .goingAway)
      }
    }
    // Releases the rest of a message, which may be long: the session is kept for its failure.
    splitter = LineSplitter(maximumLength: maximumLineLength)
    return nil
  }

  private func receive() async throws {
    switch carrier {
    case .webSocket(let socket):
      guard let message = try await socket.receive() else { break }
      let data: Data =
        switch message {
        case .text(let text): Data(text.utf8)
        case .binary(let data): data
        }
      splitter.append(data)
      isInMessage = true
      return
    case .lines(let transport):
      let bytes = try await transport.receive()
      guard !bytes.isEmpty else { break }
      return splitter.append(Data(bytes))
    }
    cancel()
  }

  nonisolated var isOver: Bool {
    if case .webSocket(let socket) = carrier, socket.closeCode != nil { return true }
    return hasEnded.withLock { $0 }
  }

  nonisolated func send(_ text: String) async throws {
    switch carrier {
    case .webSocket(let socket): try await socket.send(text)
    case .lines(let transport):
      try await takeTurn()
      let sent = SingleResult()
      transport.send(Array(text.utf8), isLast: false) { [turns] error in
        turns.withLock { $0.queue.passOn() }?.resume()
        sent.finish(error)
      }
      do { try await sent.value() } catch { throw Self.asThrown(error) }
    }
  }

  /// Returns the error that a WebSocket would throw: that of a transport is not public.
  private static func asThrown(_ error: any Error) -> any Error {
    (error as? ByteTransportError).map { WebSocketError.connectionLost(reason: $0.reason) } ?? error
  }

  private nonisolated func takeTurn() async throws {
    if !Task.isCancelled, turns.withLock({ $0.queue.takeFree() }) { return }
    let id = turns.withLock { $0.lastID.increment() }
    try await withCancellableContinuation { turn in
      guard turns.withLock({ $0.queue.take(turn, id: id) }) else { return true }
      turn.resume()
      return false
    } leave: { [turns] in
      turns.withLock { $0.queue.remove(id) }
    }
  }

  /// Closes the connection, once.
  nonisolated func cancel(_ code: WebSocketCloseCode = .goingAway) {
    if !hasEnded.withLock({ exchange(&$0, with: true) }) { carrier.cancel(code) }
  }
}

/// A snapshot of an endpoint's properties, each read once.
struct SocketDestination: Sendable {
  let host: String
  let port: Int
  let isSecure: Bool
  let isWebSocket: Bool
  let path: String
  let headers: [String: String]
  let subprotocols: [String]
  #if canImport(Darwin)
    let parameters: SocketParameters
  #else
    /// The timeout of the parameters in seconds; 0 for none. On Apple platforms the system applies it.
    let connectTimeout: Int
  #endif
  /// The maximum message size of the parameters; 0 for no limit.
  let maximumMessageSize: Int

  init(_ endpoint: any PrismNetworkSocketEndpoint) throws {
    host = endpoint.host.debugDescription
    port = Int(try endpoint.port.rawValue)
    let given = endpoint.parameters
    let protocols = given.defaultProtocolStack.applicationProtocols
    isSecure = protocols.contains { $0 is NWProtocolTLS.Options }
    let webSocket = protocols.lazy.compactMap { $0 as? NWProtocolWebSocket.Options }.first
    isWebSocket = webSocket != nil
    maximumMessageSize = webSocket?.maximumMessageSize ?? 0
    #if canImport(Darwin)
      parameters = SocketParameters(given)
    #else
      let transport = given.defaultProtocolStack.transportProtocol as? NWProtocolTCP.Options
      connectTimeout = transport?.connectionTimeout ?? 0
    #endif
    path = endpoint.path
    headers = endpoint.headers
    subprotocols = endpoint.subprotocols
  }

  func address(_ options: WebSocketOptions) throws -> ByteTransportEndpoint {
    guard HostSyntax.isValid(host), port > 0 else { throw PrismNetworkError.invalidURL }
    return try ByteTransportEndpoint(host: host, port: port, isSecure: isSecure, options: options)
  }

  /// Returns the options, completed with the endpoint's parameters.
  func applied(to options: WebSocketOptions) -> WebSocketOptions {
    var options = options
    #if canImport(Darwin)
      options.parameters = parameters
    #else
      if connectTimeout > 0 { options.connectTimeout = min(options.connectTimeout, .seconds(connectTimeout)) }
    #endif
    if maximumMessageSize > 0 { options.maximumMessageSize = min(options.maximumMessageSize, maximumMessageSize) }
    return options
  }

  /// The address for a log: the URL of a WebSocket, or the host and port of a connection for lines.
  var redactedForLog: String? {
    if isWebSocket { return (try? request())?.url?.redactedForLog }
    return HostSyntax.isValid(host) ? "\(isSecure ? "tls" : "tcp")://\(bracketedHost):\(port)" : nil
  }

  private var bracketedHost: String { host.contains(":") ? "[\(host)]" : host }

  func request() throws -> URLRequest {
    let slash = path.hasPrefix("/") ? "" : "/"
    guard !host.isEmpty, port > 0,
      let url = URL(string: "\(isSecure ? "wss" : "ws")://\(bracketedHost):\(port)\(slash)\(path)"),
      url.host != nil, url.port == port, url.user == nil
    else { throw PrismNetworkError.invalidURL }
    var request = URLRequest(url: url)
    // Set all at once: the setter for one field silently drops an invalid value.
    request.allHTTPHeaderFields = try HeaderFields(headers).fields
    return request
  }
}
