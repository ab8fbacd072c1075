import LoopbackServer
import Testing

@testable import EKNetwork

@Suite("WebSocket: pings of the keep-alive", .timeLimit(.minutes(10)))
struct KeepAlivePingTests {
  /// A transport to a peer that reads nothing, and sends pongs when the test says so.
  private final class DeafPeer: ByteTransport {
    let sentCount = Locked(0)
    let pongs: AsyncStream<[UInt8]>
    private let continuation: AsyncStream<[UInt8]>.Continuation

    init() { (pongs, continuation) = AsyncStream.makeStream() }

    func sendPong() { continuation.yield([0x8A, 0]) }
    func open() async throws {}
    func receive() async throws -> [UInt8] {
      for await pong in pongs { return pong }
      throw ByteTransportError.cancelled
    }
    func send(_ bytes: [UInt8], isLast: Bool, completion: @escaping @Sendable ((any Error)?) -> Void) {
      sentCount.withLock { $0 += 1 }
    }
    func cancel() { continuation.finish() }
  }

  @Test("While the system has not accepted a ping, none follows it")
  func pendingPing() async throws {
    let clock = ManualClock()
    var options = WebSocketOptions()
    options.keepAliveInterval = .seconds(10)
    options.clock = clock
    let peer = DeafPeer()
    let agreement = HandshakeResponse.Agreement(
      subprotocol: nil, compression: nil, headers: [:], cookieLines: [], rest: [])
    let connection = WebSocketConnection(peer, agreement: agreement, options: options)
    connection.start(agreement)
    func pass(intervals: Int) async {
      for _ in 0..<intervals {
        await clock.waitForSleepers()
        clock.advance(by: .seconds(10))
      }
    }
    await pass(intervals: 2)
    await clock.waitForSleepers()
    #expect(peer.sentCount.withLock { $0 } == 1)
    peer.sendPong()
    while connection.state.withLock({ $0.received }) == 0 { await Task.yield() }
    await pass(intervals: 3)
    await #expect(throws: WebSocketError.timedOut) { try await connection.receive() }
    #expect(peer.sentCount.withLock { $0 } == 1)
  }

  @Test("With the options of a socket that is kept alive, a peer that responds to nothing is given up")
  func keptAlive() async throws {
    let server = try LoopbackServer()
    defer { server.stop() }
    server.route("/") { request in
      .webSocket(request) { peer in
        while let frame = peer.readFrame() {
          guard frame.opcode == 8 else { continue }
          peer.send(opcode: 8, frame.payload)
          return
        }
      }
    }
    let clock = ManualClock()
    var options = WebSocketOptions.keptAlive
    options.clock = clock
    #expect(options.keepAliveInterval == .seconds(30))
    let socket = ReconnectingWebSocket(to: server.url("/"), options: options)
    var ticking: Task<Void, Never>?
    for await event in socket.events {
      // Not before: the handshake has a limit on the same clock.
      if case .connected = event {
        ticking = Task {
          while !Task.isCancelled {
            await clock.waitForSleepers()
            clock.advance(by: .seconds(30))
            await Task.yield()
          }
        }
      }
      guard case .lost(let error) = event else { continue }
      #expect((error as? WebSocketError) == .timedOut)
      break
    }
    ticking?.cancel()
    try await socket.close()
  }
}
