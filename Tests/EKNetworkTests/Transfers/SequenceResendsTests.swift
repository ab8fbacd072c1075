import LoopbackServer
import Testing

@testable import EKNetwork

/// A `body` that makes a new `RequestBody` each time, over a sequence that can only be iterated once.
@Suite(.timeLimit(.minutes(10))) struct SequenceResendsTests {
  private let server: LoopbackServer
  private let clock = RecordingClock()

  init() throws { server = try LoopbackServer() }

  private struct Upload: NetworkRequest {
    typealias Response = StatusCodeResponse
    let rows = AsyncStream<Data> { continuation in
      for row in ["a", "b", "c"] { continuation.yield(Data(row.utf8)) }
      continuation.finish()
    }
    let path = "/item"
    let method = HTTPMethod.post
    var body: RequestBody? { RequestBody(sequence: rows, contentType: "text/csv") }
    var retryPolicy: RetryPolicy { RetryPolicy(maxRetryCount: 3, delay: 1) }
  }

  private func expectOneUpload(sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(server.requests.map(\.body) == [Data("abc".utf8)], sourceLocation: sourceLocation)
  }

  @Test(arguments: Wire.allCases) func usedUpSequenceIsNotRetried(_ wire: Wire) async throws {
    server.route("/item", .status(503), .status(200))
    let error = await #expect(throws: HTTPError.self) {
      _ = try await wire.manager(server, clock: clock).send(Upload())
    }
    #expect(error?.statusCode == 503)
    #expect(clock.sleeps.isEmpty)
    expectOneUpload()
  }

  @Test(arguments: Wire.allCases) func usedUpSequenceIsNotSentWithNewToken(_ wire: Wire) async throws {
    server.route("/item", .status(401), .status(200))
    let tokens = TestTokens("old")
    let manager = wire.manager(server, clock: clock)
    manager.tokenRefresher = tokens
    await #expect(throws: NetworkError.unauthorized) { _ = try await manager.send(Upload()) { tokens.current } }
    expectOneUpload()
  }

  @Test func middlewareCannotSendUsedUpSequence() async throws {
    server.route("/item", .status(503), .status(200))
    let manager = Wire.automatic.manager(server)
    manager.middleware = [
      Intercept { request, _, next in
        do { return try await next(request) } catch { return try await next(request) }
      }
    ]
    await #expect(throws: RequestBodyError.alreadySent) { _ = try await manager.send(Upload()) }
    expectOneUpload()
  }

  @Test(arguments: Wire.allCases) func middlewareMaySendSequenceAfterBodyOfItsOwn(_ wire: Wire) async throws {
    server.route("/item", .status(200))
    let manager = wire.manager(server)
    manager.middleware = [
      Intercept { request, _, next in
        var check = request
        check.httpBodyStream = InputStream(data: Data("own".utf8))
        _ = try await next(check)
        return try await next(request)
      }
    ]
    _ = try await manager.send(Upload())
    #expect(server.requests.map(\.body) == [Data("own".utf8), Data("abc".utf8)])
  }

  /// Foundation's implementation writes the sequence to a file before it connects.
  @Test func sequenceThatWasNotReadIsRetried() async throws {
    server.route("/item", .status(200))
    let manager = try lateManager()
    _ = try await manager.send(Upload())
    #expect(clock.sleeps.count == 1)
    expectOneUpload()
  }

  @Test(arguments: Wire.allCases) func subscriptionDoesNotSendUsedUpSequence(_ wire: Wire) async throws {
    server.route("/item") { _ in
      .streaming(headers: ["Content-Type": "text/event-stream"], [.chunk(Data("data: a\n\n".utf8)), .close])
    }
    var events: [String] = []
    await #expect(throws: URLError.self) {
      for try await event in wire.manager(server, clock: clock).events(Upload()) { events.append(event.data) }
    }
    #expect(events == ["a"])
    expectOneUpload()
  }

  @Test func subscriptionSendsSequenceThatWasNotRead() async throws {
    server.route("/item", .status(204))
    for try await _ in try lateManager().events(Upload()) {}
    #expect(clock.sleeps.count == 1)
    expectOneUpload()
  }

  /// The first connection is refused, the next one is not.
  private func lateManager() throws -> NetworkManager {
    let refused = try #require(URL(string: "http://127.0.0.1:\(try LoopbackServer.refusedPort())"))
    let number = Locked(0)
    let baseURL: () -> URL = { [server] in
      number.withLock { number in
        number += 1
        return number == 1 ? refused : server.baseURL
      }
    }
    return NetworkManager(baseURL: baseURL, transport: Wire.automatic.transport(), clock: clock)
  }
}
