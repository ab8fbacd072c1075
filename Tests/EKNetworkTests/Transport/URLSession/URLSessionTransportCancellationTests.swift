import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("URLSessionTransport: cancellation", .timeLimit(.minutes(3)))
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

  /// Cancels the task and measures how long it takes to end, which it must do with `CancellationError`.
  private func expectPromptEnd<T: Sendable>(_ task: Task<T, any Error>) async {
    let elapsed = await ContinuousClock().measure {
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
    }
    // 50 ms is the promise; the rest is for a machine that is busy with other tests.
    #expect(elapsed < .seconds(1))
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

  @Test("While it waits for the head")
  func waiting() async throws {
    server.route("/hang", .raw([.stall]))
    let task = Task { [transport] in try await transport.fetch(request("/hang")) }
    await server.waitForRequests(count: 1)
    await expectPromptEnd(task)
    #expect(await server.waitForOpenConnections(0))
  }

  @Test("In the middle of the body")
  func body() async throws {
    server.route("/stall", .streaming(contentLength: 10, [.sendString("12345"), .stall]))
    let started = Gate()
    let task = Task { [transport] in
      let response = try await transport.start(request("/stall"))
      _ = try await response.body.next()
      started.open()
      return try await response.body.next()
    }
    #expect(await started.wait())
    await expectPromptEnd(task)
    #expect(await server.waitForOpenConnections(0))
  }

  @Test("While nobody reads: the next read says so")
  func notReading() async throws {
    server.route("/stall", .streaming(contentLength: 10, [.sendString("12345"), .stall]))
    let (started, cancelled) = (Gate(), Gate())
    let task = Task { [transport] in
      let response = try await transport.start(request("/stall"))
      started.open()
      cancelled.waitBlocking()
      return try await response.body.next()
    }
    #expect(await started.wait())
    task.cancel()
    cancelled.open()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(await server.waitForOpenConnections(0))
  }

  @Test("While a redirect is being received")
  func redirect() async throws {
    server.route(
      "/moved", .streaming(contentLength: 10, status: 302, headers: ["Location": "/to"], [.sendString("1"), .stall]))
    let task = Task { [transport] in try await transport.fetch(request("/moved")) }
    await server.waitForRequests(count: 1)
    await expectPromptEnd(task)
    #expect(await server.waitForOpenConnections(0))
  }

  @Test("A thousand times at random")
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
            // No time has to pass, but the task should get somewhere: to another place each time.
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

  /// Lets about as much time pass as an exchange takes.
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
