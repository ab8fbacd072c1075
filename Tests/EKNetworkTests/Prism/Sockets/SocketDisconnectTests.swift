import LoopbackServer
import Testing

@testable import EKNetwork

/// The clock never advances, so that a test only passes without a timeout.
@Suite("The socket page: disconnecting", .timeLimit(.minutes(10)))
struct SocketDisconnectTests {
  private let server: LoopbackServer
  private let socket: PrismNetworkSocketAdapter
  private let limit = Duration.seconds(60)

  init() throws {
    server = try LoopbackServer()
    var options = WebSocketOptions()
    options.clock = ManualClock()
    socket = PrismNetworkSocketAdapter(options: options)
  }

  private func endpoint(_ path: String = "/", isWebSocket: Bool = true) -> SocketEndpoint {
    SocketEndpoint(number: UInt16(server.port), isWebSocket: isWebSocket, path: path)
  }

  enum Interruption: CaseIterable { case disconnect, secondConnect, cancellation }

  @Test("A connection attempt in progress ends at once", arguments: Interruption.allCases)
  func interruptedAttempt(by interruption: Interruption) async throws {
    server.route("/stalled") { _ in .raw([.stall]) }
    server.route("/") { .webSocketEcho($0) }
    let attempt = Task { [socket, endpoint = endpoint("/stalled")] in _ = try await socket.connect(to: endpoint) }
    #expect(await server.waitForRequests(count: 1).count == 1)
    switch interruption {
    case .disconnect: await socket.disconnect()
    case .secondConnect:
      var frames = try await socket.connect(to: endpoint()).makeAsyncIterator()
      try await socket.send(command: SocketCommand("a"))
      #expect(await frames.next() == Data("a".utf8))
      await socket.disconnect()
    case .cancellation: attempt.cancel()
    }
    #expect(await server.waitForOpenConnections(0, timeout: limit))
    server.stop()
    await #expect(throws: CancellationError.self) { try await attempt.value }
  }

  @Test("The stream ends at once, although the peer does not close, or even goes on sending", arguments: [true, false])
  func peerThatDoesNotClose(isTalkative: Bool) async throws {
    server.route("/") { request in
      .webSocket(request) { peer in
        peer.send("early")
        while let frame = peer.readFrame(), frame.opcode != 8 {}
        if isTalkative { peer.send("late") }
        while peer.bytes.read() != nil {}
      }
    }
    let stream = try await socket.connect(to: endpoint())
    var frames = stream.makeAsyncIterator()
    #expect(await frames.next() == Data("early".utf8))
    let isRead = Gate()
    let reader = Task {
      defer { isRead.open() }
      return await stream.first { _ in true }
    }
    await socket.disconnect()
    #expect(await isRead.wait(timeout: limit))
    server.stop()
    #expect(await reader.value == nil)
    #expect(await socket.disconnectionError == nil)
  }

  @Test("A reader that waits for a frame is woken")
  func waitingReader() async throws {
    server.route("/") { request in
      .webSocket(request) { peer in while peer.bytes.read() != nil {} }
    }
    defer { server.stop() }
    var options = WebSocketOptions()
    options.clock = ManualClock()
    let socket = try await WebSocket.connect(to: server.url("/"), options: options)
    let session = SocketSession(.webSocket(socket), maximumLineLength: 100)
    let reader = Task { await session.next() }
    while socket.connection.state.withLock({ $0.receivers.count }) == 0 { await Task.yield() }
    session.cancel()
    #expect(await reader.value == nil)
  }

  @Test("A line that is too long closes a WebSocket with the code for it")
  func longLine() async throws {
    let code = Locked(Data())
    let isClosed = Gate()
    server.route("/") { request in
      .webSocket(request) { peer in
        peer.send(String(repeating: "a", count: 101))
        while let frame = peer.readFrame() {
          guard frame.opcode == 8 else { continue }
          code.withLock { $0 = frame.payload }
          return isClosed.open()
        }
      }
    }
    defer { server.stop() }
    let socket = PrismNetworkSocketAdapter(maximumLineLength: 100)
    var frames = try await socket.connect(to: endpoint()).makeAsyncIterator()
    #expect(await frames.next() == nil)
    #expect(await isClosed.wait())
    // RFC 6455 §7.4.1: 1009.
    #expect(code.withLock { $0 }.prefix(2) == Data([0x03, 0xF1]))
    let error = await socket.disconnectionError as? StreamLineTooLongError
    #expect(error == StreamLineTooLongError(line: 1, limitBytes: 100))
  }

  @Test("A connection of lines that is reset ends with the error of a WebSocket")
  func resetLines() async throws {
    server.route("/") { _ in .raw([.reset]) }
    defer { server.stop() }
    var frames = try await socket.connect(to: endpoint(isWebSocket: false)).makeAsyncIterator()
    try await socket.send(command: SocketCommand("GET / HTTP/1.1\r\nHost: a\r\n\r\n"))
    #expect(await frames.next() == nil)
    guard case .connectionLost = await socket.disconnectionError as? WebSocketError else {
      Issue.record("\(String(describing: await socket.disconnectionError))")
      return
    }
  }

  @Test("Cancelling the task that reads is not a failure of the connection")
  func cancelledReader() async throws {
    server.route("/") { .webSocketEcho($0) }
    let socket = try await WebSocket.connect(to: server.url("/"))
    let session = SocketSession(.webSocket(socket), maximumLineLength: 100)
    let reader = Task { await session.next() }
    while socket.connection.state.withLock({ $0.receivers.count }) == 0 { await Task.yield() }
    reader.cancel()
    #expect(await reader.value == nil)
    #expect(await session.failure == nil)
    server.stop()
  }

  @Test("Lines that have been received but not read are discarded", arguments: [true, false])
  func unreadLines(isWebSocket: Bool) async throws {
    server.route("/") { request in
      guard isWebSocket else { return .raw([.sendString("one\ntwo\n"), .stall]) }
      return .webSocket(request) { peer in
        peer.send("one\ntwo")
        _ = peer.readMessage()
      }
    }
    var frames = try await socket.connect(to: endpoint(isWebSocket: isWebSocket)).makeAsyncIterator()
    if !isWebSocket { try await socket.send(command: SocketCommand("GET / HTTP/1.1\r\nHost: a\r\n\r\n")) }
    #expect(await frames.next() == Data("one".utf8))
    await socket.disconnect()
    #expect(await frames.next() == nil)
    server.stop()
  }
}
