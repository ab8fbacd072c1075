import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

/// Long messages, slow peers, and control frames in between.
@Suite("WebSockets under load", .serialized, .timeLimit(.minutes(10)))
struct WebSocketLoadTests {
  private let server: LoopbackServer

  init() throws { server = try LoopbackServer() }

  private func connect(_ change: (inout WebSocketOptions) -> Void = { _ in }) async throws -> WebSocket {
    var options = WebSocketOptions()
    options.compression = nil
    options.closeTimeout = .seconds(600)
    change(&options)
    let url = try #require(URL(string: "ws://127.0.0.1:\(server.port)/"))
    return try await WebSocket.connect(to: url, options: options)
  }

  @Test("A ping is sent between the frames of a long message, which arrives whole")
  func pingAmidMessage() async throws {
    let data = Data.noise(24 << 20)
    let (opcodes, sizes, whole) = (Locked<[UInt8]>([]), Locked<[Int]>([]), Locked(Data()))
    let isStarted = Gate()
    let mayRead = Gate()
    server.route("/") { request in
      .webSocket(request) { peer in
        guard let first = peer.readFrame() else { return }
        isStarted.open()
        guard peer.bytes.wait(for: mayRead) else { return }
        var frame: LoopbackServer.WebSocketPeer.Frame? = first
        while let current = frame {
          opcodes.withLock { $0.append(current.opcode) }
          switch current.opcode {
          case 8:
            peer.send(opcode: 8, current.payload)
            return
          case 9: peer.send(opcode: 10, current.payload)
          default:
            sizes.withLock { $0.append(current.payload.count) }
            whole.withLock { $0.append(current.payload) }
          }
          frame = peer.readFrame()
        }
      }
    }
    let socket = try await connect()
    let sending = Task { try await socket.send(data) }
    #expect(await isStarted.wait())
    let ping = Task { try await socket.ping() }
    // The ping starts while the peer has not yet read the rest of the message.
    while socket.connection.state.withLock({ $0.pings.count }) == 0 { await Task.yield() }
    mayRead.open()
    try await ping.value
    try await sending.value
    try await socket.close()
    let all = opcodes.withLock { $0 }
    let place = try #require(all.firstIndex(of: 9))
    #expect(all[0] == 2)
    #expect(all[place...].contains(0), "frames of the message come behind the ping")
    #expect(sizes.withLock { $0.allSatisfy { $0 <= OutgoingMessage.frameSize } })
    #expect(whole.withLock { $0 } == data)
  }

  @Test("Closing waits until the current message has been sent")
  func closeBehindMessage() async throws {
    let received = Locked<Data?>(nil)
    let isStarted = Gate()
    let mayRead = Gate()
    server.route("/") { request in
      .webSocket(request) { peer in
        guard let first = peer.readFrame() else { return }
        isStarted.open()
        guard peer.bytes.wait(for: mayRead) else { return }
        let rest = first.isFinal ? Data() : peer.readMessage() ?? Data()
        received.withLock { $0 = first.payload + rest }
        _ = peer.readMessage()
      }
    }
    let socket = try await connect()
    let sending = Task { try await socket.send(Data(count: 24 << 20)) }
    #expect(await isStarted.wait())
    let closing = Task { try await socket.close() }
    while !socket.connection.state.withLock({ $0.isClosing }) { await Task.yield() }
    mayRead.open()
    try await sending.value
    try await closing.value
    #expect(socket.closeCode == .normalClosure)
    #expect(received.withLock { $0?.count } == 24 << 20)
  }

  @Test("A send that takes many keep-alive intervals does not time out")
  func slowMessage() async throws {
    let clock = ManualClock()
    // Each step takes more than the system's buffers hold, so that in each interval this side has to send.
    let step = 12 << 20
    let steps = (0..<5).map { _ in Gate() }
    let done = (0..<5).map { _ in Gate() }
    let hasAll = Gate()
    server.route("/") { request in
      .webSocket(request) { peer in
        for (mayRead, done) in zip(steps, done) {
          guard peer.bytes.wait(for: mayRead) else { return }
          var rest = step
          while rest > 0, let bytes = peer.bytes.read(upTo: min(rest, 64 << 10)) { rest -= bytes.count }
          done.open()
        }
        hasAll.open()
        while peer.bytes.read() != nil {}
      }
    }
    let socket = try await connect {
      $0.keepAliveInterval = .seconds(10)
      $0.clock = clock
    }
    let sending = Task { try await socket.send(Data(count: 64 << 20)) }
    for (mayRead, done) in zip(steps, done) {
      await clock.waitForSleepers()
      mayRead.open()
      #expect(await done.wait())
      clock.advance(by: .seconds(10))
    }
    #expect(await hasAll.wait())
    try await sending.value
    #expect(socket.closeCode == nil)
    withExtendedLifetime(socket) {}
  }

  @Test("A peer that reads nothing during a send times out")
  func deadPeer() async throws {
    let clock = ManualClock()
    server.route("/") { .webSocket($0) { peer in _ = peer.bytes.wait(for: Gate()) } }
    let socket = try await connect {
      $0.keepAliveInterval = .seconds(10)
      $0.clock = clock
    }
    let sending = Task { try await socket.send(Data(count: 64 << 20)) }
    let ticking = Task {
      while !Task.isCancelled {
        await clock.waitForSleepers()
        clock.advance(by: .seconds(10))
        await Task.yield()
      }
    }
    await #expect(throws: WebSocketError.timedOut) { try await socket.receive() }
    await #expect(throws: WebSocketError.self) { try await sending.value }
    ticking.cancel()
    clock.advance(by: .seconds(1))
  }

  @Test("A peer that never responds times out, although small messages are sent to it all the time")
  func silentPeer() async throws {
    let clock = ManualClock()
    server.route("/") { .webSocket($0) { peer in while peer.readFrame() != nil {} } }
    let socket = try await connect {
      $0.keepAliveInterval = .seconds(10)
      $0.clock = clock
    }
    let ticking = Task {
      for _ in 0..<10 where !Task.isCancelled && socket.closeCode == nil {
        // Not while the last interval is being judged: what is on its way then is progress.
        await clock.waitForSleepers()
        try? await socket.send("x")
        // The peer's system takes them.
        while await socket.connection.transport.output().unsent > 0 { await Task.yield() }
        clock.advance(by: .seconds(10))
        await Task.yield()
      }
      socket.connection.cancel()
    }
    await #expect(throws: WebSocketError.timedOut) { try await socket.receive() }
    ticking.cancel()
    clock.advance(by: .seconds(1))
  }

  @Test("A ping queued behind pongs is sent and answered")
  func pingBehindPongs() async throws {
    let mayRead = Gate()
    server.route("/") { request in
      .webSocket(request) { peer in
        for _ in 0..<500 { peer.send(opcode: 9, Data(count: 125)) }
        peer.send("flooded")
        guard peer.bytes.wait(for: mayRead) else { return }
        while let frame = peer.readFrame() {
          if frame.opcode == 9 { peer.send(opcode: 10, frame.payload) }
          if frame.opcode == 8 { return peer.close(1000) }
        }
      }
    }
    let socket = try await connect()
    // Nothing is sent after it until the peer reads.
    let sending = Task { try await socket.send(Data(count: 24 << 20)) }
    #expect(try await socket.receive() == .text("flooded"))
    let pings = (0..<100).map { _ in Task { try await socket.ping() } }
    mayRead.open()
    for ping in pings { try await ping.value }
    try await sending.value
    try await socket.close()
  }

  @Test("Behind a full queue, pings are answered, pongs are received, and messages stay in order")
  func pingsBehindAFullQueue() async throws {
    let hasPong = Gate()
    server.route("/") { request in
      .webSocket(request) { peer in
        // In one piece, and then one by one.
        let burst = (0..<40).flatMap { Data([0x81, 2]) + Data("\($0 + 10)".utf8) }
        guard peer.bytes.write(Data(burst) + Data([0x89, 1, 0x61])) else { return }
        guard peer.readFrame()?.payload == Data("a".utf8) else { return }
        for number in 50..<100 {
          peer.send("\(number)")
          peer.send(opcode: 9, Data("b\(number)".utf8))
          guard peer.readFrame()?.payload == Data("b\(number)".utf8) else { return }
        }
        hasPong.open()
        guard let ping = peer.readFrame(), ping.opcode == 9 else { return }
        peer.send(opcode: 10, ping.payload)
        peer.close(1000)
        // A ping that was answered already is not answered again.
        while let frame = peer.readFrame(), frame.opcode == 8 {}
      }
    }
    let socket = try await connect { $0.maximumQueuedMessages = 4 }
    #expect(await hasPong.wait())
    try await socket.ping()
    var texts: [WebSocketMessage] = []
    while let message = try await socket.receive() { texts.append(message) }
    #expect(texts == (10..<100).map { .text("\($0)") })
    #expect(socket.closeCode == .normalClosure)
  }

  #if os(Linux)
    /// Receives highly compressed messages of one size, and measures the memory.
    private static func inflate(_ size: Int) async throws {
      let total = 256 << 20
      let deflater = try #require(MessageDeflater(windowBits: 15, keepsContext: false))
      let payload = try #require(Data(count: size).withUnsafeBytes { deflater.deflate($0) })
      let count = min(total / size, 200_000) / 256 * 256
      let frames = Data((0..<256).flatMap { _ in serverFrame(0xC2, payload) })
      let server = try LoopbackServer()
      server.route("/") { request in
        .webSocket(request, extensions: "permessage-deflate; server_no_context_takeover") { peer in
          for _ in 0..<count / 256 { guard peer.bytes.write(frames) else { return } }
          peer.close(1000)
          while peer.bytes.read() != nil {}
        }
      }
      var options = WebSocketOptions()
      options.compression = WebSocketCompression(serverContextTakeover: false)
      options.maximumMessageSize = 1 << 20
      // Only the bytes are to be limited.
      options.maximumQueuedMessages = 1 << 20
      let url = try #require(URL(string: "ws://127.0.0.1:\(server.port)/"))
      let socket = try await WebSocket.connect(to: url, options: options)
      var received = 0
      let peak = try await PeakMemory.during {
        while case .binary(let data)? = try await socket.receive() { received += data.count == size ? 1 : 0 }
      }
      #expect(received == count)
      print("\(peak >> 10) KiB of \((received * size) >> 10), in messages of \(size)")
      #expect(peak < 48 << 20)
    }

    @Test("Memory for highly compressed messages is bounded at any message size")
    func bomb() async throws {
      let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
        for size in [1, 64 << 10, 1 << 20] { try await Self.inflate(size) }
      }
      PeakMemory.report("WebSocket", result?.standardOutputContent)
    }
  #endif
}
