import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("URLSessionTransport", .timeLimit(.minutes(10)))
struct URLSessionTransportTests {
  private let server: LoopbackServer
  private let transport: URLSessionTransport

  init() throws {
    server = try LoopbackServer()
    transport = URLSessionTransport(URLSession(configuration: .ephemeral))
  }

  private func request(_ path: String, _ change: (inout URLRequest) -> Void = { _ in }) -> TransportRequest {
    var request = URLRequest(url: server.url(path))
    change(&request)
    return TransportRequest(request)
  }

  // MARK: - Receiving

  @Test("The head is returned before the body, and the body in pieces as they arrive")
  func pieces() async throws {
    let gates = [Gate(), Gate()]
    server.route(
      "/pieces",
      .streaming([
        .wait(gates[0]), .chunk(Data("one".utf8)), .wait(gates[1]), .chunk(Data("two".utf8)), .endOfChunks(),
      ]))
    let response = try await transport.start(request("/pieces"))
    #expect(response.head.statusCode == 200)
    gates[0].open()
    #expect(try await response.body.next() == Data("one".utf8))
    gates[1].open()
    #expect(try await response.body.next() == Data("two".utf8))
    #expect(try await response.body.next() == nil)
    #expect(try await response.body.next() == nil)
  }

  @Test("A large body is received whole, and progress ends with its length")
  func large() async throws {
    let body = Data.noise(3_000_000)
    server.route("/large", .data(body))
    let progress = Recorder()
    var request = request("/large")
    request.onReceive = BodyObserver { progress.note($0, $1) }
    #expect(try await transport.fetch(request).data == body)
    progress.expectMonotonic(to: Int64(body.count), of: Int64(body.count))
  }

  @Test("Interim responses are skipped")
  func interim() async throws {
    server.route("/hints", .text("here").preceded(by: 103, headers: ["Link": "</style.css>"]))
    let fetched = try await transport.fetch(request("/hints"))
    #expect(fetched.head.statusCode == 200)
    #expect(fetched.data == Data("here".utf8))
  }

  @Test("A truncated body returns the received bytes, then fails")
  func truncated() async throws {
    server.route("/cut", .streaming(contentLength: 100, [.sendString("half"), .close]))
    let response = try await transport.start(request("/cut"))
    #expect(try await response.body.next() == Data("half".utf8))
    let error = await #expect(throws: URLError.self) { try await response.body.next() }
    #expect(error?.code == .networkConnectionLost)
    #expect(error?.failingURL == server.url("/cut"))
  }

  @Test("An unread stream fails when it exceeds the buffer limit", .enabled(if: Platform.isLinux))
  func bounded() async throws {
    let small = URLSessionTransport(URLSession(configuration: .ephemeral), streamLimit: 64 * 1024)
    server.route("/flood", .streaming(contentLength: 9 << 20, [.flood(bytes: 8 << 20), .stall]))
    server.route("/large", .streaming(contentLength: 8 << 20, [.flood(bytes: 8 << 20)]))
    let response = try await small.start(request("/flood"))
    // By the time the server sees the close, the failure has been recorded.
    #expect(await server.waitForOpenConnections(0))
    await #expect(throws: URLError(.dataLengthExceedsMaximum)) {
      while try await response.body.next() != nil {}
    }
    #expect(try await small.fetch(request("/large")).data.count == 8 << 20)
  }

  @Test("Schemes other than http and https are rejected before anything is started")
  func schemes() async throws {
    for text in ["ftp://127.0.0.1/", "file:///etc/passwd", "ws://127.0.0.1/", "data:,x", "nothing"] {
      let request = TransportRequest(URLRequest(url: try #require(URL(string: text))))
      let error = await #expect(throws: URLError.self) { try await transport.fetch(request) }
      #expect(error?.code == .unsupportedURL)
    }
    #expect(server.acceptedConnections == 0)
  }

  @Test("A refused connection is cannotConnectToHost")
  func refused() async throws {
    // The port of "tcpmux", which is no longer in use.
    let url = try #require(URL(string: "http://127.0.0.1:1/"))
    let error = await #expect(throws: URLError.self) {
      try await transport.fetch(TransportRequest(URLRequest(url: url)))
    }
    #expect(error?.code == .cannotConnectToHost)
  }

  // MARK: - Redirects and challenges

  @Test("A redirect is not followed, and keeps its body", arguments: [301, 302, 303, 307, 308])
  func redirect(status: Int) async throws {
    server.route("/from", .text("moved", status: status, headers: ["Location": "/to"]))
    let fetched = try await transport.fetch(request("/from"))
    #expect(fetched.head.statusCode == status)
    #expect(fetched.head.value("location") == "/to")
    #expect(fetched.data == Data("moved".utf8))
    #expect(server.requests(path: "/to").isEmpty)
  }

  @Test("A redirect without a Location is an ordinary response")
  func redirectNowhere() async throws {
    server.route("/from", .text("nowhere", status: 302))
    #expect(try await transport.fetch(request("/from")).head.statusCode == 302)
  }

  @Test(
    "An unanswered challenge returns the 401 with its body",
    arguments: ["Basic realm=\"x\"", "Digest realm=\"x\"", "Bearer"])
  func challenge(scheme: String) async throws {
    server.route("/secret", .text("no", status: 401, headers: ["WWW-Authenticate": scheme]))
    let fetched = try await transport.fetch(request("/secret"))
    #expect(fetched.head.statusCode == 401)
    #expect(fetched.data == Data("no".utf8))
  }

  @Test("A challenge that nobody can answer is the response before its body has ended")
  func openChallenge() async throws {
    server.route(
      "/secret",
      .streaming(
        contentLength: 9, status: 401, headers: ["WWW-Authenticate": "Basic realm=\"x\""], [.sendString("no"), .stall]))
    let response = try await transport.start(request("/secret") { $0.timeoutInterval = 60 })
    #expect(response.head.statusCode == 401)
    #expect(try await response.body.next() == Data("no".utf8))
    response.body.cancel()
  }

  // MARK: - Timeouts

  @Test("The idle timeout takes fractions of a second, and restarts with every byte")
  func idle() async throws {
    server.route("/hang", .raw([.stall]))
    let clock = ContinuousClock()
    let elapsed = await clock.measure {
      let error = await #expect(throws: URLError.self) {
        try await transport.fetch(request("/hang") { $0.timeoutInterval = 0.2 })
      }
      #expect(error?.code == .timedOut)
    }
    #expect(elapsed >= .milliseconds(200))
    #expect(elapsed < .seconds(600), "it hangs")
    let dripped = try await withTimeoutsThatMustNotPass { timeout in
      let pause = Duration.seconds(timeout / 4)
      server.route(
        "/drip", .streaming(contentLength: 6, [.trickle(Data("abcdef".utf8), chunk: 1, every: pause)]))
      return try await transport.fetch(request("/drip") { $0.timeoutInterval = timeout })
    }
    #expect(dripped.data == Data("abcdef".utf8))
  }

  @Test("The session's timeout applies if the request has none of its own")
  func configuredIdle() async throws {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.timeoutIntervalForRequest = 0.1
    let transport = URLSessionTransport(URLSession(configuration: configuration))
    server.route("/hang", .raw([.stall]))
    let error = await #expect(throws: URLError.self) { try await transport.fetch(request("/hang")) }
    #expect(error?.code == .timedOut)
  }

  @Test("The deadline ends the exchange despite activity")
  func deadline() async throws {
    server.route(
      "/drip", .streaming(contentLength: 10_000, [.trickle(Data(count: 10_000), chunk: 1, every: .milliseconds(10))]))
    var request = request("/drip")
    request.deadline = .now + .seconds(1)
    let error = await #expect(throws: URLError.self) { try await transport.fetch(request) }
    #expect(error?.code == .timedOut)
    #expect(await server.waitForOpenConnections(0))

    request.deadline = .now
    let late = await #expect(throws: URLError.self) { try await transport.fetch(request) }
    #expect(late?.code == .timedOut)
    #expect(server.requestCount == 1)
  }

  // MARK: - Dropped responses

  @Test("Dropping an unread response closes the connection")
  func drop() async throws {
    server.route("/stream", .streaming([.chunk(Data("x".utf8)), .stall]))
    var response: TransportResponse? = try await transport.start(request("/stream"))
    #expect(response?.head.statusCode == 200)
    response = nil
    #expect(await server.waitForOpenConnections(0))
  }

  @Test("Cancelling a body ends a suspended read and closes the connection")
  func cancelBody() async throws {
    server.route("/stream", .streaming([.chunk(Data("x".utf8)), .stall]))
    let response = try await transport.start(request("/stream"))
    #expect(try await response.body.next() == Data("x".utf8))
    response.body.cancel()
    await #expect(throws: CancellationError.self) { try await response.body.next() }
    #expect(await server.waitForOpenConnections(0))
  }
}

/// Records progress callbacks.
final class Recorder: Sendable {
  private let counts = Locked<[(Int64, Int64?)]>([])

  func note(_ count: Int64, _ total: Int64?) { counts.withLock { $0.append((count, total)) } }

  func expectMonotonic(to last: Int64, of total: Int64?, sourceLocation: SourceLocation = #_sourceLocation) {
    let counts = counts.withLock { $0 }
    #expect(counts.last?.0 == last, sourceLocation: sourceLocation)
    #expect(counts.allSatisfy { $0.1 == total }, sourceLocation: sourceLocation)
    #expect(zip(counts, counts.dropFirst()).allSatisfy { $0.0 < $1.0 }, sourceLocation: sourceLocation)
  }
}

enum Platform {
  static var isLinux: Bool {
    #if canImport(Darwin)
      false
    #else
      true
    #endif
  }
}
