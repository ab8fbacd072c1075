import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("URLSessionTransport: cancellation", .serialized, .timeLimit(.minutes(10)))
struct URLSessionTransportCancellationTests {
  private let server: LoopbackServer
  private let transport: URLSessionTransport

  init() throws {
    server = try LoopbackServer()
    let configuration = URLSessionConfiguration.ephemeral
    // An exchange that has not been cancelled yet must not keep the others from being sent.
    configuration.httpMaximumConnectionsPerHost = 1_000
    transport = URLSessionTransport(URLSession(configuration: configuration))
  }

  private func request(_ path: String) -> TransportRequest {
    TransportRequest(URLRequest(url: server.url(path)))
  }

  /// Cancels tasks, each when `isReady`, and expects them to end with `CancellationError`, not by a timeout.
  ///
  /// The fastest of several attempts counts: a busy machine delays all of them, and without cancellation none is fast.
  private func expectPromptEnd<T: Sendable>(
    of operation: @escaping @Sendable (Gate) async throws -> T, isReady: (Gate, Int) async -> Bool
  ) async {
    var fastest = Duration.seconds(60)
    for index in 1...20 where index <= 5 || fastest >= .milliseconds(500) {
      let gate = Gate()
      let task = Task { try await operation(gate) }
      #expect(await isReady(gate, index))
      let elapsed = await ContinuousClock().measure {
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
      }
      fastest = min(fastest, elapsed)
    }
    #expect(fastest < .milliseconds(500))
    #expect(await server.waitForOpenConnections(0))
  }

  @Test("Before it starts")
  func before() async throws {
    let task = Task { [transport] in
      withUnsafeCurrentTask { $0?.cancel() }
      return try await transport.fetch(request("/"))
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(server.acceptedConnections == 0)
  }

  @Test("While waiting for the head")
  func waiting() async throws {
    server.route("/hang", .raw([.stall]))
    await expectPromptEnd {
      [transport] _ in
      try await transport.fetch(request("/hang"))
    } isReady: { _, index in
      await server.waitForRequests(count: index).count == index
    }
  }

  @Test("In the middle of the body")
  func body() async throws {
    server.route("/stall", .streaming(contentLength: 10, [.sendString("12345"), .stall]))
    await expectPromptEnd {
      [transport] started in
      let response = try await transport.start(request("/stall"))
      _ = try await response.body.next()
      started.open()
      return try await response.body.next()
    } isReady: { started, _ in
      await started.wait()
    }
  }

  @Test("Between reads: the next read throws")
  func notReading() async throws {
    server.route("/stall", .streaming(contentLength: 10, [.sendString("12345"), .stall]))
    await expectPromptEnd {
      [transport] started in
      let response = try await transport.start(request("/stall"))
      started.open()
      // Waits until it is cancelled.
      await Gate().wait()
      return try await response.body.next()
    } isReady: { started, _ in
      await started.wait()
    }
  }

  @Test("While a redirect is being received")
  func redirect() async throws {
    server.route(
      "/moved", .streaming(contentLength: 10, status: 302, headers: ["Location": "/to"], [.sendString("1"), .stall]))
    await expectPromptEnd {
      [transport] _ in
      try await transport.fetch(request("/moved"))
    } isReady: { _, index in
      await server.waitForRequests(count: index).count == index
    }
  }

  @Test("A thousand requests at random points")
  func random() async throws {
    server.route("/ok", .text("ok"))
    server.route("/hang", .raw([.stall]))
    server.route("/moved", .redirect(to: "/ok"))
    server.route("/secret", .text("no", status: 401, headers: ["WWW-Authenticate": "Basic realm=\"x\""]))
    server.route("/stall", .streaming(contentLength: 10, [.sendString("12345"), .stall]))
    let paths = ["/ok", "/hang", "/moved", "/secret", "/stall"]
    var generator = SplitMix(state: 42)
    for _ in 0..<20 {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<50 {
          let path = paths[Int(generator.next() % UInt64(paths.count))]
          let spins = generator.next() % 40
          group.addTask {
            let task = Task { try await transport.fetch(request(path)) }
            // No fixed time has to pass, but each task should get to a different point.
            for _ in 0..<spins { await Task.yield() }
            if spins % 3 == 0 { try await loopOnce(server) }
            task.cancel()
            do {
              let status = try await task.value.head.statusCode
              #expect([200, 302, 401].contains(status))
            } catch {
              #expect(error is CancellationError)
            }
          }
        }
        try await group.waitForAll()
      }
    }
    #expect(try await transport.fetch(request("/ok")).data == Data("ok".utf8))
  }

  /// Takes about as long as an exchange.
  private func loopOnce(_ server: LoopbackServer) async throws {
    _ = try await transport.fetch(request("/ok"))
  }
}

/// A small generator with a seed, so that a failing run can be repeated.
struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }
}
