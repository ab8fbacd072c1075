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

  // MARK: - A new sequence for each time

  private static let rows = ["a", "b", "c"].map { Data($0.utf8) }

  /// - Parameter made: Counts the sequences.
  private func remade(_ made: Locked<Int>, method: HTTPMethod = .post) -> Probe<StatusCodeResponse> {
    var probe = Probe<StatusCodeResponse>(method: method, retryPolicy: RetryPolicy(maxRetryCount: 3, delay: 1))
    probe.body = RequestBody(contentType: "text/csv") {
      made.withLock { $0 += 1 }
      return AsyncStream { continuation in
        for row in Self.rows { continuation.yield(row) }
        continuation.finish()
      }
    }
    return probe
  }

  @Test(arguments: Wire.allCases) func newSequenceIsSentAgain(_ wire: Wire) async throws {
    server.route("/item", .status(503), .status(401), .redirect(to: "/there", status: 307))
    server.route("/there", .status(200))
    let tokens = TestTokens("old")
    let manager = wire.manager(server, clock: clock)
    manager.tokenRefresher = tokens
    manager.middleware = [Intercept { request, _, next in try await next(request) }]
    let made = Locked(0)
    #expect(try await manager.send(remade(made)) { tokens.current }.statusCode == 200)
    #expect(server.requests.map(\.body) == Array(repeating: Data("abc".utf8), count: 4))
    #expect(made.withLock { $0 } == 4)
    #expect(tokens.count == 1)
  }

  #if os(Linux)
    /// The connection ends when part of the body was read from the sequence.
    @Test func newSequenceIsSentOverAnotherConnection() async throws {
      server.route("/stale") { _ in .text("").then(.closeOnNextRequest) }
      server.route("/item", .status(200))
      let manager = Wire.automatic.isolatedManager(server)
      for _ in 0..<20 {
        server.reset()
        _ = try await manager.send(Probe<StatusCodeResponse>(path: "/stale"))
        let made = Locked(0)
        #expect(try await manager.send(remade(made, method: .put)).statusCode == 200)
        #expect(server.requests(path: "/item").filter(\.isComplete).map(\.body) == [Data("abc".utf8)])
        #expect((1...2).contains(made.withLock { $0 }))
      }
    }
  #endif

  @Test func uploadBeginsAnew() async throws {
    let made = Locked(0)
    let gate = Gate()
    let body = SequenceBody(length: nil) {
      let number = made.withLock { made in
        made += 1
        return made
      }
      return AsyncStream<Data>(unfolding: { [pulled = Locked(0)] in
        let count = pulled.withLock { pulled in
          pulled += 1
          return pulled
        }
        // The first sequence stops in the middle; what it returns then is not the second one's.
        if number == 1, count == 2 { await gate.wait() }
        return count < 4 ? Data("\(number)\(count) ".utf8) : nil
      })
    }
    let upload = BodySource.sequence(body).makeUpload()
    let (ready, signal) = AsyncStream<Void>.makeStream()
    upload.setReadyHandler { signal.yield() }
    func read() async throws -> String? {
      var buffer = [UInt8](repeating: 0, count: 100)
      while true {
        switch buffer.withUnsafeMutableBytes({ upload.read(into: $0) }) {
        case .bytes(let count): return String(decoding: buffer[..<count], as: UTF8.self)
        case .end: return nil
        case .failed(let error): throw error
        case .pending: for await _ in ready { break }
        }
      }
    }
    #expect(try await read() == "11 ")
    var buffer = [UInt8](repeating: 0, count: 100)
    guard case .pending = buffer.withUnsafeMutableBytes({ upload.read(into: $0) }) else {
      throw NetworkError.invalidResponse
    }
    #expect(upload.rewind())
    #expect(try await read() == "21 ")
    gate.open()
    #expect(try await read() == "22 ")
    #expect(try await read() == "23 ")
    #expect(try await read() == nil)
    #expect(upload.rewind())
    #expect(try await read() == "31 ")
    upload.close()
    #expect(!upload.rewind())
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
