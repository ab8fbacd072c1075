import LoopbackServer
import Testing

@testable import EKNetwork

@Suite("WebSocket: misbehaving peers", .timeLimit(.minutes(10)))
struct MisbehavingPeerTests {
  private let server: LoopbackServer

  init() throws { server = try LoopbackServer() }

  private func connect(_ change: (inout WebSocketOptions) -> Void = { _ in }) async throws -> WebSocket {
    var options = WebSocketOptions()
    options.compression = nil
    change(&options)
    let url = try #require(URL(string: "ws://127.0.0.1:\(server.port)/"))
    return try await WebSocket.connect(to: url, options: options)
  }

  private func serve(_ body: @escaping @Sendable (LoopbackServer.WebSocketPeer) -> Void) {
    server.route("/") { .webSocket($0, body) }
  }

  @Test("A peer that does not answer the close frame is disconnected after the close timeout")
  func ignoredClose() async throws {
    serve { peer in while peer.bytes.read() != nil {} }
    let socket = try await connect { $0.closeTimeout = .milliseconds(20) }
    try await socket.close()
    #expect(socket.closeCode == .abnormalClosure)
    #expect(socket.closeReason == "This side ended it")
    #expect(try await socket.receive() == nil)
    #expect(await server.waitForOpenConnections(0))
  }

  @Test("Unanswered pings do not turn a local close into an error")
  func ignoredCloseAndPings() async throws {
    serve { peer in while peer.bytes.read() != nil {} }
    let socket = try await connect {
      $0.keepAliveInterval = .milliseconds(5)
      $0.closeTimeout = .milliseconds(100)
    }
    try await socket.close()
    #expect(try await socket.receive() == nil)
  }

  @Test("A peer that closes but keeps the connection open is disconnected after the close timeout")
  func keptOpen() async throws {
    serve { peer in
      peer.close(1001)
      while peer.bytes.read() != nil {}
    }
    let socket = try await connect { $0.closeTimeout = .milliseconds(20) }
    #expect(try await socket.receive() == nil)
    try await socket.close()
    #expect(socket.closeCode == .goingAway)
    #expect(await server.waitForOpenConnections(0))
  }

  @Test("While this side closes, sending says with what, and what the peer then does wrong is no error")
  func violationAfterClose() async throws {
    let mayRespond = Gate()
    serve { peer in
      while let frame = peer.readFrame(), frame.opcode != 8 {}
      guard peer.bytes.wait(for: mayRespond) else { return }
      peer.send(opcode: 3, Data())
      while peer.bytes.read() != nil {}
    }
    let code = WebSocketCloseCode(rawValue: 4000)
    let socket = try await connect { $0.closeTimeout = .seconds(1_000_000) }
    let closing = Task { try await socket.close(code: code, reason: "over") }
    while !socket.connection.state.withLock({ $0.isClosing }) { await Task.yield() }
    await #expect(throws: WebSocketError.closed(code: code, reason: "over")) { try await socket.send("late") }
    mayRespond.open()
    #expect(try await socket.receive() == nil)
    #expect(socket.closeCode == .protocolError)
    closing.cancel()
    _ = await closing.result
  }

  @Test("Cancelling close() ends the connection at once")
  func cancelledClose() async throws {
    let isClosing = Gate()
    serve { peer in
      while let frame = peer.readFrame() {
        if frame.opcode == 8 { isClosing.open() }
      }
    }
    let socket = try await connect { $0.closeTimeout = .seconds(1_000_000) }
    let closing = Task { try await socket.close() }
    #expect(await isClosing.wait())
    closing.cancel()
    _ = await closing.result
    #expect(await server.waitForOpenConnections(0))
  }

  @Test("Senders blocked by a peer that does not read can be cancelled, and closing still works")
  func fullBuffers() async throws {
    let (isStarted, mayRead, isOver) = (Gate(), Gate(), Gate())
    let hasFinalFrame = Locked(false)
    serve { peer in
      defer { isOver.open() }
      guard let first = peer.readFrame(), !first.isFinal else { return }
      isStarted.open()
      _ = peer.bytes.wait(for: mayRead)
      while let frame = peer.readFrame() {
        if frame.isFinal { hasFinalFrame.withLock { $0 = true } }
      }
    }
    let socket = try await connect { $0.closeTimeout = .milliseconds(20) }
    let senders = (0..<3).map { _ in Task { try await socket.send(Data(count: 32 << 20)) } }
    #expect(await isStarted.wait())
    for sender in senders { sender.cancel() }
    for sender in senders { await #expect(throws: CancellationError.self) { try await sender.value } }
    // Half a message has been sent, so that no close frame can follow.
    try await socket.close()
    #expect(socket.closeCode == .abnormalClosure)
    mayRead.open()
    #expect(await isOver.wait())
    #expect(!hasFinalFrame.withLock { $0 }, "neither the end of the message nor a close frame")
  }

  @Test("A flood of pings with unread pongs neither ends nor blocks the connection")
  func pings() async throws {
    serve { peer in
      let ping = Data(([0x89, 125] as [UInt8]) + [UInt8](repeating: 7, count: 125))
      let flood = Data((0..<1000).flatMap { _ in ping })
      for _ in 0..<100 { peer.bytes.write(flood) }
      peer.send("through")
      while peer.bytes.read() != nil {}
    }
    let socket = try await connect { $0.closeTimeout = .milliseconds(20) }
    #expect(try await socket.receive() == .text("through"))
    try await socket.close()
  }

  @Test("Messages after the local close frame are discarded, and the peer's close frame is found")
  func talkative() async throws {
    serve { peer in
      while let frame = peer.readFrame(), frame.opcode != 8 {}
      for _ in 0..<200 { peer.send(opcode: 2, Data(count: 100_000)) }
      peer.close(1000, "at last")
    }
    let socket = try await connect { $0.closeTimeout = .seconds(1_000_000) }
    try await socket.close()
    #expect(socket.closeCode == .normalClosure)
    #expect(socket.closeReason == "at last")
  }

  @Test("A close frame received before a reset is the reported error, even after a failed send")
  func closeBeforeReset() async throws {
    serve { peer in
      peer.close(1008, "no")
      peer.bytes.endWriting()
      _ = peer.bytes.read()
      peer.bytes.reset()
    }
    let socket = try await connect()
    await #expect(throws: WebSocketError.self) { while true { try await socket.send(Data(count: 1 << 20)) } }
    await #expect(throws: WebSocketError.closed(code: .policyViolation, reason: "no")) {
      try await socket.receive()
    }
  }

  @Test("Frames received byte by byte are accepted; an endless handshake response is not")
  func dribbles() async throws {
    serve { peer in
      for byte in [0x01, 1, 0x68, 0x89, 0, 0x80, 1, 0x69] as [UInt8] { peer.bytes.write(Data([byte])) }
      _ = peer.readMessage()
    }
    let socket = try await connect()
    #expect(try await socket.receive() == .text("hi"))
    server.route("/") { _ in .raw("HTTP/1.1 101 Switching Protocols\r\nX: " + String(repeating: "a", count: 1 << 20)) }
    await #expect(throws: WebSocketError.invalidHandshake(reason: "its head is too long")) { _ = try await connect() }
  }
}
