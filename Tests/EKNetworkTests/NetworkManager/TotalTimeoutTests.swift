import LoopbackServer
import Testing

@testable import EKNetwork

/// A limit for the whole call, whatever it waits for.
@Suite(.timeLimit(.minutes(5))) struct TotalTimeoutTests {
  private let server: LoopbackServer
  private let clock = RecordingClock()

  init() throws { server = try LoopbackServer() }

  private static let limit = Duration.milliseconds(300)

  private func probe(_ limit: Duration = limit) -> Probe<Numbered> {
    var probe = Probe<Numbered>()
    probe.totalTimeout = limit
    return probe
  }

  /// Its idle timeout, which ends in the same error, must not pass for the total one.
  private var patientProbe: Probe<Numbered> {
    var probe = self.probe()
    probe.timeout = .seconds(86_400)
    return probe
  }

  @discardableResult private func expectTimeout(
    sourceLocation: SourceLocation = #_sourceLocation, _ work: () async throws -> Void
  ) async -> String {
    let error = await #expect(throws: URLError.self, sourceLocation: sourceLocation) { try await work() }
    #expect(error?.code == .timedOut, sourceLocation: sourceLocation)
    return error?.localizedDescription ?? ""
  }

  @Test(arguments: Wire.allCases) func aServerThatIsSilentOrTricklesIsNotWaitedFor(wire: Wire) async throws {
    let manager = wire.manager(server)
    let trickle = LoopbackServer.Response.Step.trickle(Data(count: 1_000_000), chunk: 1, every: .milliseconds(10))
    for steps: [LoopbackServer.Response.Step] in [[.stall], [.sendString("x"), .stall], [trickle]] {
      server.route("/item") { _ in .streaming(contentLength: 1_000_000, steps) }
      await expectTimeout { _ = try await manager.send(patientProbe) }
      await expectTimeout { _ = try await manager.response(to: patientProbe) }
      let folder = try ScratchFolder()
      await expectTimeout { try await manager.download(patientProbe, to: folder["a"]) }
      await expectTimeout { for try await _ in try await manager.stream(patientProbe).chunks {} }
    }
    server.route("/item") { _ in .raw([.stall]) }
    await expectTimeout { _ = try await manager.send(patientProbe) }
    await expectTimeout { _ = try await manager.stream(patientProbe) }
  }

  @Test(arguments: Wire.allCases) func aRetryThatIsTooLateIsNotWaitedFor(wire: Wire) async throws {
    server.route("/item") { _ in .status(503) }
    var late = probe(.seconds(600))
    late.retryPolicy = RetryPolicy(maxRetryCount: 3, delay: 700)
    let error = await #expect(throws: HTTPError.self) { try await wire.manager(server, clock: clock).send(late) }
    #expect(error?.statusCode == 503)
    #expect(clock.sleeps.isEmpty && server.requests.count == 1)
    late.retryPolicy = RetryPolicy(maxRetryCount: 3, delay: 1)
    await #expect(throws: HTTPError.self) { try await wire.manager(server, clock: clock).send(late) }
    #expect(clock.sleeps.count == 3 && server.requests.count == 5)
  }

  @Test func aRefreshThatTakesTooLongIsNotWaitedFor() async throws {
    server.route("/item") { $0.headers["Authorization"] == "Bearer new" ? .json(#"{"id":1}"#) : .status(401) }
    let gate = Gate()
    let tokens = TestTokens("old") { _ in
      await gate.wait()
      return "new"
    }
    let manager = Wire.automatic.manager(server)
    manager.tokenRefresher = tokens
    let description = await expectTimeout { _ = try await manager.send(probe()) { tokens.current } }
    #expect(description.contains("token"))
    // It goes on, and others wait for it.
    async let other = manager.send(Probe<Numbered>()) { tokens.current }
    await server.expectRequests(2)
    gate.open()
    #expect(try await other == Numbered(id: 1))
    #expect(tokens.count == 1)
  }

  /// What is sent when the time is over has not waited for a connection.
  @Test(arguments: Wire.allCases) func theTimeThatMiddlewareTakesIsNotBlamedOnConnections(wire: Wire) async throws {
    struct Repeating: NetworkMiddleware {
      func intercept(
        _ request: URLRequest, context: NetworkMiddlewareContext, next: NetworkMiddlewareNext
      ) async throws -> NetworkMiddlewareResponse {
        do { return try await next(request) } catch { return try await next(request) }
      }
    }
    server.route("/item") { _ in .raw([.stall]) }
    let manager = wire.manager(server)
    manager.attemptMiddleware = [Repeating()]
    let description = await expectTimeout { _ = try await manager.send(patientProbe) }
    #expect(description.contains("timed out") && !description.contains("connections"))
    #expect(server.requests.count <= 1)
  }

  /// Its own limit is not that of the one whose response it would wait for.
  @Test(arguments: [true, false]) func theResponseOfAnotherIsNotWaitedFor(hasCache: Bool) async throws {
    let gate = Gate()
    server.route("/item") { _ in
      .streaming(
        headers: ["Cache-Control": "max-age=60"], [.wait(gate), .chunk(Data(#"{"id":2}"#.utf8)), .endOfChunks()])
    }
    let manager = Wire.automatic.manager(server)
    if hasCache { manager.httpCache = HTTPCache() } else { manager.sharesIdenticalRequests = true }
    async let first = manager.send(Probe<Numbered>())
    await server.expectRequests(1)
    await expectTimeout { _ = try await manager.send(probe()) }
    gate.open()
    #expect(try await first == Numbered(id: 2))
  }

  @Test(arguments: Wire.allCases) func everyLimitIsValid(wire: Wire) async throws {
    server.route("/item") { _ in .json(#"{"id":3}"#) }
    let manager = wire.manager(server)
    for limit in [Duration.zero, .seconds(-1), .seconds(Int64.min)] {
      await expectTimeout { _ = try await manager.send(probe(limit)) }
    }
    #expect(server.requests.isEmpty)
    for limit in [Duration.seconds(600), .seconds(Int64.max)] {
      #expect(try await manager.send(probe(limit)) == Numbered(id: 3))
    }
  }
}
