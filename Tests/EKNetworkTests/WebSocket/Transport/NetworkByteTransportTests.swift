import LoopbackServer
import Testing

@testable import EKNetwork

/// A connection that the test controls.
private final class ScriptedConnection: NetworkConnection {
  struct State {
    var handler: (@Sendable (NetworkConnectionUpdate) -> Void)?
    var receives: [@Sendable (Data?, Bool, NetworkConnectionFailure?) -> Void] = []
    var sends: [@Sendable (NetworkConnectionFailure?) -> Void] = []
    var cancellations = 0
  }

  let state = Locked(State())

  func start(_ handler: @escaping @Sendable (NetworkConnectionUpdate) -> Void) {
    state.withLock { $0.handler = handler }
  }
  func receive(
    maximumLength: Int, _ completion: @escaping @Sendable (Data?, Bool, NetworkConnectionFailure?) -> Void
  ) {
    state.withLock { $0.receives.append(completion) }
  }
  func send(_ data: Data, _ completion: @escaping @Sendable (NetworkConnectionFailure?) -> Void) {
    state.withLock { $0.sends.append(completion) }
  }
  func cancel() { state.withLock { $0.cancellations += 1 } }

  func say(_ update: NetworkConnectionUpdate) async {
    while state.withLock({ $0.handler }) == nil { await Task.yield() }
    state.withLock { $0.handler }?(update)
  }

  func nextReceive() async -> @Sendable (Data?, Bool, NetworkConnectionFailure?) -> Void {
    while true {
      if let first = state.withLock({ $0.receives.isEmpty ? nil : $0.receives.removeFirst() }) { return first }
      await Task.yield()
    }
  }
}

@Suite("Network byte transport", .timeLimit(.minutes(10)))
struct NetworkByteTransportTests {
  private let address = ByteTransportEndpoint(host: "127.0.0.1", port: 9, isSecure: false)

  private func opened() async throws -> (NetworkByteTransport, ScriptedConnection) {
    let connection = ScriptedConnection()
    let transport = NetworkByteTransport(address, over: connection)
    let open = Task { try await transport.open() }
    await connection.say(.ready)
    try await open.value
    return (transport, connection)
  }

  @Test(
    "Opening fails with a URLError, which is retried if it is transient",
    arguments: [
      (NetworkConnectionFailure.posix(.ECONNREFUSED), URLError.Code.cannotConnectToHost, true),
      (.posix(.EHOSTUNREACH), .cannotConnectToHost, true), (.posix(.ENETDOWN), .notConnectedToInternet, true),
      (.posix(.ENETUNREACH), .notConnectedToInternet, true), (.posix(.ETIMEDOUT), .timedOut, true),
      (.posix(.ECONNRESET), .networkConnectionLost, true), (.dns(-65554), .cannotFindHost, true),
      (.tls(-9806), .networkConnectionLost, true), (.tls(-9807), .serverCertificateUntrusted, false),
      (.tls(-9813), .serverCertificateHasUnknownRoot, false), (.tls(-9814), .serverCertificateHasBadDate, false),
      (.tls(-9815), .serverCertificateNotYetValid, false), (.tls(-9843), .serverCertificateUntrusted, false),
      (.tls(-9825), .clientCertificateRejected, false), (.tls(-9836), .secureConnectionFailed, false),
      (.other, .cannotConnectToHost, true),
    ])
  func openingErrors(_ failure: NetworkConnectionFailure, _ code: URLError.Code, _ passes: Bool) async throws {
    for update in [NetworkConnectionUpdate.waiting(failure, "why"), .failed(failure, "why")] {
      let connection = ScriptedConnection()
      let transport = NetworkByteTransport(address, over: connection)
      let opening = Task { try await transport.open() }
      await connection.say(update)
      let error = await #expect(throws: URLError.self) { try await opening.value }
      #expect(error?.code == code)
      #expect(error?.failingURL?.absoluteString == "http://127.0.0.1:9/")
      var state = ReconnectRetryState(policy: WebSocketReconnectPolicy())
      let action = state.lost(because: try #require(error), now: Date())
      if case .retry = action { #expect(passes) } else { #expect(!passes) }
    }
  }

  @Test("open() after cancel() fails without starting the connection")
  func cancelledBeforeStart() async throws {
    let connection = ScriptedConnection()
    let transport = NetworkByteTransport(address, over: connection)
    transport.cancel()
    await #expect(throws: ByteTransportError.cancelled) { try await transport.open() }
    #expect(connection.state.withLock { $0.handler == nil })
  }

  @Test("Cancelling fails pending operations, and later callbacks are ignored")
  func lateCallbacks() async throws {
    let (transport, connection) = try await opened()
    let received = Task { try await transport.receive() }
    let deliver = await connection.nextReceive()
    let sent = SingleResult()
    transport.send([1], isLast: false) { sent.finish($0) }
    transport.cancel()
    await #expect(throws: ByteTransportError.cancelled) { try await received.value }
    await #expect(throws: ByteTransportError.cancelled) { try await sent.value() }
    deliver(Data([1]), false, nil)
    connection.state.withLock { $0.sends }.forEach { $0(nil) }
    await connection.say(.cancelled)
    await connection.say(.failed(.posix(.ECONNRESET), "late"))
    await #expect(throws: ByteTransportError.cancelled) { try await transport.receive() }
  }

  @Test("Cancelling during open() fails it at once")
  func cancelledWhileOpening() async throws {
    let connection = ScriptedConnection()
    let transport = NetworkByteTransport(address, over: connection)
    let opening = Task { try await transport.open() }
    while connection.state.withLock({ $0.handler == nil }) { await Task.yield() }
    transport.cancel()
    await #expect(throws: ByteTransportError.cancelled) { try await opening.value }
    await connection.say(.ready)
  }

  @Test("An end received with the last bytes does not fail the next receive")
  func endWithLastBytes() async throws {
    let (transport, connection) = try await opened()
    let last = Task { try await transport.receive() }
    (await connection.nextReceive())(Data([1, 2]), true, nil)
    #expect(try await last.value == [1, 2])
    #expect(try await transport.receive() == [])
    #expect(connection.state.withLock { $0.receives.isEmpty })
  }

  @Test("A completion without data, or ENODATA, is an end", arguments: [true, false])
  func endByItself(isComplete: Bool) async throws {
    let (transport, connection) = try await opened()
    let last = Task { try await transport.receive() }
    (await connection.nextReceive())(nil, isComplete, isComplete ? nil : .posix(.ENODATA))
    #expect(try await last.value == [])
    #expect(try await transport.receive() == [])
  }

  @Test("Failures of an open connection are ByteTransportErrors")
  func failures() async throws {
    let (transport, connection) = try await opened()
    let received = Task { try await transport.receive() }
    (await connection.nextReceive())(nil, false, .posix(.ECONNRESET))
    let error = await #expect(throws: ByteTransportError.self) { try await received.value }
    guard case .failed? = error else { return #expect(Bool(false), "\(String(describing: error))") }
    let again = Task { try await transport.receive() }
    _ = await connection.nextReceive()
    await connection.say(.failed(.posix(.ETIMEDOUT), "gone"))
    await #expect(throws: ByteTransportError.failed("gone")) { try await again.value }
    let sent = SingleResult()
    transport.send([1], isLast: false) { sent.finish($0) }
    await #expect(throws: ByteTransportError.failed("gone")) { try await sent.value() }
  }

  @Test("An open connection that waits for another network has ended")
  func waitingAgain() async throws {
    let (transport, connection) = try await opened()
    let received = Task { try await transport.receive() }
    let deliver = await connection.nextReceive()
    await connection.say(.waiting(.posix(.ENETDOWN), "down"))
    await #expect(throws: ByteTransportError.failed("down")) { try await received.value }
    #expect(connection.state.withLock { $0.cancellations } == 1)
    // It must not be used if it is opened again before it is cancelled.
    await connection.say(.ready)
    deliver(Data([1]), false, nil)
    await #expect(throws: ByteTransportError.failed("down")) { try await transport.receive() }
  }

  @Test("Nothing is sent after the last bytes")
  func nothingAfterTheLast() async throws {
    let (transport, connection) = try await opened()
    transport.send([1], isLast: true) { _ in }
    let sent = SingleResult()
    transport.send([2], isLast: false) { sent.finish($0) }
    await #expect(throws: ByteTransportError.cancelled) { try await sent.value() }
    #expect(connection.state.withLock { $0.sends.count } == 1)
  }

  @Test("Dropping the transport cancels its connection")
  func dropped() async throws {
    let connection = ScriptedConnection()
    _ = NetworkByteTransport(address, over: connection)
    #expect(connection.state.withLock { $0.cancellations } == 1)
  }

  // MARK: - Over a real socket

  private func connect(_ port: Int) async throws -> WebSocketConnection {
    let address = ByteTransportEndpoint(host: "127.0.0.1", port: port, isSecure: false)
    let transport = NetworkByteTransport(address, over: SocketConnection(port: port))
    let request = URLRequest(url: try #require(URL(string: "ws://127.0.0.1:\(port)/")))
    let options = WebSocketOptions()
    let handshake = try HandshakeRequest(
      request, protocols: [], options: options, nonce: (0..<16).map { _ in .random(in: .min ... .max) })
    let agreement = try await Handshake.run(handshake, on: transport, options: options)
    let connection = WebSocketConnection(transport, agreement: agreement, options: options)
    connection.start(agreement)
    return connection
  }

  @Test("A WebSocket works over it: messages, pings, a clean close")
  func webSocket() async throws {
    let server = try LoopbackServer()
    server.route("/") { .webSocketEcho($0) }
    let socket = try await connect(server.port)
    try await socket.send(.text("grüße"))
    #expect(try await socket.receive() == .text("grüße"))
    let large = Data.noise(1_000_000)
    try await socket.send(.binary(large))
    #expect(try await socket.receive() == .binary(large))
    try await socket.ping()
    await socket.close(.normalClosure, "")
    #expect(try await socket.receive() == nil)
    server.stop()
  }

  @Test("A peer that disconnects without a close frame is an error")
  func abruptPeer() async throws {
    let server = try LoopbackServer()
    server.route("/") { .webSocket($0) { $0.send(opcode: 1, Data("last".utf8)) } }
    let socket = try await connect(server.port)
    #expect(try await socket.receive() == .text("last"))
    await #expect(throws: WebSocketError.self) { try await socket.receive() }
    server.stop()
  }

  @Test("A refused connection is a URLError")
  func refused() async throws {
    let port = try LoopbackServer.RefusingPort()
    let error = await #expect(throws: URLError.self) { try await connect(port.port) }
    #expect(error?.code == .cannotConnectToHost)
  }
}
