import LoopbackServer
import Testing

@testable import EKNetwork

@Suite("WebSocket: pings", .timeLimit(.minutes(10)))
struct WebSocketPingTests {
  @Test("Pings that are cancelled while the peer does not read are not sent later")
  func cancelledPings() async throws {
    let server = try LoopbackServer()
    defer { server.stop() }
    let mayRead = Gate()
    let pingsReceived = Locked(0)
    // More than the system's buffers hold.
    let long = Data(count: 24 << 20).withUnsafeBytes { FrameEncoder.frame(.binary, $0, key: 1) }
    server.route("/") { request in
      .webSocket(request) { peer in
        guard peer.bytes.wait(for: mayRead) else { return }
        var rest = long.count
        while rest > 0, let bytes = peer.bytes.read(upTo: min(rest, 64 << 10)) { rest -= bytes.count }
        while let frame = peer.readFrame(), frame.opcode != 8 {
          guard frame.opcode == 9 else { continue }
          pingsReceived.withLock { $0 += 1 }
          peer.send(opcode: 10, frame.payload)
        }
      }
    }
    var options = WebSocketOptions()
    options.compression = nil
    let request = try HandshakeRequest(
      URLRequest(url: server.url("/")), protocols: [], options: options, nonce: [UInt8](repeating: 1, count: 16))
    let transport = try ByteTransports.make(request.address, options)
    let agreement = try await Handshake.run(request, on: transport, options: options)
    let connection = WebSocketConnection(transport, agreement: agreement, options: options)
    connection.start(agreement)
    let sent = SingleResult()
    transport.send(long, isLast: false) { sent.finish($0) }
    let pings = (0..<10).map { _ in Task { try await connection.ping() } }
    while connection.state.withLock({ $0.pings.count }) < 10 { await Task.yield() }
    for ping in pings { ping.cancel() }
    for ping in pings { await #expect(throws: CancellationError.self) { try await ping.value } }
    mayRead.open()
    try await sent.value()
    try await connection.ping()
    #expect(pingsReceived.withLock { $0 } <= 2, "one had its turn before it was cancelled")
    connection.cancel()
  }

  @Test func failedPingFailsThoseBehindIt() async throws {
    var queue = PingQueue()
    let (first, second) = (Data([1]), Data([2]))
    try await withCheckedThrowingContinuation { (ping: PingQueue.Waiter) in
      let sendsFirst = queue.add(first, ping)
      let sendsSecond = queue.add(second, ping)
      #expect(sendsFirst && !sendsSecond)
      #expect(queue.failed(first).count == 2)
      #expect(queue.count == 0)
      ping.resume()
    }
    #expect(queue.sent() == nil)
  }

  @Test func cancelledPingIsNotSent() async throws {
    var queue = PingQueue()
    try await withCheckedThrowingContinuation { (ping: PingQueue.Waiter) in
      for number in 1...3 as ClosedRange<UInt8> { _ = queue.add(Data([number]), ping) }
      #expect(queue.cancelled(Data([2])) != nil)
      #expect(queue.sent() == Data([3]))
      #expect(queue.sent() == nil)
      #expect(queue.removeAll().count == 2)
      ping.resume()
    }
  }
}
