import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

/// How pings, sends and unread messages end with their connection.
@Suite("The end of a WebSocket", .serialized, .timeLimit(.minutes(10)))
struct WebSocketEndTests {
  private let server: LoopbackServer

  init() throws { server = try LoopbackServer() }

  /// Connects with a queue of `capacity` messages to a server that sends the texts 0 to 9, and continues with `then`.
  private func connect(
    capacity: Int, _ change: (inout WebSocketOptions) -> Void = { _ in },
    then: @escaping @Sendable (LoopbackServer.WebSocketPeer) -> Void
  ) async throws -> WebSocket {
    server.route("/") { request in
      .webSocket(request) { peer in
        for number in 0..<10 { peer.send("\(number)") }
        then(peer)
      }
    }
    var options = WebSocketOptions()
    options.compression = nil
    options.closeTimeout = .seconds(600)
    options.maximumQueuedMessages = capacity
    change(&options)
    let url = try #require(URL(string: "ws://127.0.0.1:\(server.port)/"))
    return try await WebSocket.connect(to: url, options: options)
  }

  private func expectMessages(of socket: WebSocket) async throws {
    for number in 0..<10 { #expect(try await socket.receive() == .text("\(number)")) }
  }

  @Test("A ping behind a full queue fails when the connection ends, and the messages are kept")
  func pingBehindAFullQueueAndEnd() async throws {
    let socket = try await connect(capacity: 4) { peer in while let frame = peer.readFrame(), frame.opcode != 9 {} }
    await #expect(throws: WebSocketError.self) { try await socket.ping() }
    try await expectMessages(of: socket)
    await #expect(throws: WebSocketError.self) { try await socket.receive() }
  }

  @Test("A ping throws after the end has been read behind a full queue", arguments: [true, false])
  func pingAfterEndBehindFullQueue(hasCloseFrame: Bool) async throws {
    let isOver = Gate()
    let socket = try await connect(capacity: 4) { peer in
      if hasCloseFrame { peer.close(1000) } else { peer.bytes.endWriting() }
      _ = peer.bytes.wait(for: isOver)
    }
    // The first may wait when the end is read, the second comes after that.
    for _ in 0..<2 { await #expect(throws: WebSocketError.self) { try await socket.ping() } }
    try await expectMessages(of: socket)
    isOver.open()
  }

  @Test("A lost connection with unread messages is not reported as closed")
  func brokenConnectionIsNotClosed() async throws {
    let mayReset = Gate()
    let socket = try await connect(capacity: 4) { peer in
      _ = peer.bytes.wait(for: mayReset)
      peer.bytes.reset()
    }
    mayReset.open()
    while (try? await socket.send(Data(count: 1 << 16))) != nil {}
    for operation in [{ try await socket.send("a") }, { try await socket.ping() }]
      as [@Sendable () async throws -> Void]
    {
      let error = await #expect(throws: WebSocketError.self) { try await operation() }
      guard case .connectionLost? = error else { return #expect(Bool(false), "\(String(describing: error))") }
    }
  }

  @Test("Messages received before a keep-alive timeout are delivered before the error")
  func silentPeerBehindFullQueue() async throws {
    let clock = ManualClock()
    let socket = try await connect(capacity: 1) {
      $0.keepAliveInterval = .seconds(10)
      $0.clock = clock
    } then: { peer in
      guard let ping = peer.readFrame(), ping.opcode == 9 else { return }
      peer.send(opcode: 10, ping.payload)
      while peer.bytes.read() != nil {}
    }
    // With its pong, the messages before it have arrived.
    try await socket.ping()
    let ticking = Task {
      while !Task.isCancelled {
        await clock.waitForSleepers()
        clock.advance(by: .seconds(10))
        await Task.yield()
      }
    }
    #expect(await server.waitForOpenConnections(0))
    ticking.cancel()
    clock.advance(by: .seconds(1))
    await #expect(throws: WebSocketError.timedOut) { try await socket.send("a") }
    try await expectMessages(of: socket)
    await #expect(throws: WebSocketError.timedOut) { try await socket.receive() }
  }

  @Test("Pings fail when the connection ends")
  func pingAndEnd() async throws {
    let isThere = Gate()
    let socket = try await connect(capacity: 64) { peer in
      while let frame = peer.readFrame(), frame.opcode != 9 {}
      isThere.open()
      peer.bytes.reset()
    }
    let pings = (0..<200).map { _ in Task { try await socket.ping() } }
    #expect(await isThere.wait())
    for ping in pings { await #expect(throws: WebSocketError.self) { try await ping.value } }
    await #expect(throws: WebSocketError.self) { try await socket.ping() }
  }
}
