import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Servers that respond while the body is still being sent.
struct EarlyResponseTests {
  private let server: LoopbackServer
  private let folder: ScratchFolder

  init() throws {
    server = try LoopbackServer()
    folder = try ScratchFolder()
    server.fallback = { _ in .text("") }
  }

  private func put(_ size: Int, expectsContinue: Bool = false) throws -> Probe<StatusCodeResponse> {
    let url = folder["a"]
    try Data().write(to: url)
    #expect(truncate(url.path, off_t(size)) == 0)
    var probe = Probe<StatusCodeResponse>(path: "/files", method: .put, expectsContinue: expectsContinue)
    probe.body = RequestBody(file: url, contentType: "a/b")
    return probe
  }

  /// Once the response is there, the client need not wait for a body that is still being produced.
  @Test(
    .timeLimit(.minutes(2)), .enabled(if: Platform.isLinux),
    arguments: [LoopbackServer.Response.Ending.close, .closeSilently, .keepAlive])
  func refusalArrivesWhileTheBodyIsPending(_ ending: LoopbackServer.Response.Ending) async throws {
    server.route("/files", onHead: { _ in .respond(.json(#"{"why":"size"}"#, status: 413).then(ending)) }) { _ in
      .text("")
    }
    for pieces in [0, 1, 1, 1] {
      let error = await #expect(throws: HTTPError.self) { try await post(pieces: pieces) }
      #expect(error?.statusCode == 413)
      #expect(error?.data.isEmpty == false)
    }
  }

  @Test(.timeLimit(.minutes(2)), .enabled(if: Platform.isLinux), arguments: [0, 1])
  func closeIsDetectedWhileTheBodyIsPending(_ pieces: Int) async throws {
    let incomplete = [
      "", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nab",
    ]
    for head in incomplete {
      server.route("/files", onHead: { _ in .respond(.raw(head)) }) { _ in .text("") }
      let error = await #expect(throws: URLError.self, "\(head)") { try await post(pieces: pieces) }
      #expect(error?.code == .networkConnectionLost, "\(head)")
    }
    for head in ["HTTP/1.1 200 OK\r\n\r\nab", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab"] {
      server.route("/files", onHead: { _ in .respond(.raw(head)) }) { _ in .text("") }
      try await post(pieces: pieces)
    }
  }

  /// Sends a body that never gets beyond these pieces.
  private func post(pieces: Int) async throws {
    let (stream, input) = AsyncStream<Data>.makeStream()
    defer { input.finish() }
    for _ in 0..<pieces { input.yield(Data(count: 100)) }
    var probe = Probe<StatusCodeResponse>(path: "/files", method: .post)
    probe.body = RequestBody(sequence: stream, contentType: "a/b")
    _ = try await Wire.automatic.manager(server).send(probe)
  }

  /// A response ends such a wait: from then on it is the server that is silent.
  @Test(.timeLimit(.minutes(2)), .enabled(if: Platform.isLinux), arguments: ["Connection: close\r\n", ""])
  func silenceAfterARefusalIsLimitedWhileTheBodyIsPending(_ field: String) async throws {
    let head = "HTTP/1.1 413 A\r\n\(field)Content-Length: 10\r\n\r\n"
    server.route("/files", onHead: { _ in .respond(.raw([.sendString(head), .stall])) }) { _ in .text("") }
    let (stream, input) = AsyncStream<Data>.makeStream()
    defer { input.finish() }
    var probe = Probe<StatusCodeResponse>(path: "/files", method: .post, acceptedStatuses: .any)
    probe.timeout = .milliseconds(300)
    probe.body = RequestBody(sequence: stream, contentType: "a/b")
    let error = await #expect(throws: URLError.self) { try await Wire.automatic.manager(server).send(probe) }
    #expect(error?.code == .timedOut)
  }

  /// Its body ends with the connection, and a reset is not that end (RFC 9112 §8).
  @Test(.timeLimit(.minutes(2)), .enabled(if: Platform.isLinux), arguments: [200, 413])
  func resetDoesNotCompleteAResponseWhileTheBodyIsSent(_ status: Int) async throws {
    let head = "HTTP/1.1 \(status) A\r\n\r\nab"
    server.route("/files", onHead: { _ in .respond(.raw([.sendString(head), .reset])) }) { _ in .text("") }
    let manager = Wire.automatic.manager(server)
    for _ in 0..<20 {
      let error = await #expect(throws: (any Error).self) { try await manager.send(put(1 << 30)) }
      let isLost = (error as? URLError)?.code == .networkConnectionLost
      // A refusal is one even without the rest of its body.
      #expect(isLost || status == 413 && (error as? HTTPError)?.statusCode == 413)
    }
  }

  @Test(arguments: [LoopbackServer.Response.Ending.close, .closeSilently, .reset, .keepAlive])
  func refusalArrivesWhileTheBodyIsSent(_ ending: LoopbackServer.Response.Ending) async throws {
    server.route("/files", onHead: { _ in .respond(.json(#"{"why":"size"}"#, status: 413).then(ending)) }) { _ in
      .text("")
    }
    let manager = Wire.automatic.manager(server)
    let probe = try put(1 << 30)
    for _ in 0..<20 {
      do {
        _ = try await manager.send(probe)
        Issue.record("a refusal is not a success")
      } catch let error as HTTPError {
        #expect(error.statusCode == 413)
      } catch let error as URLError where ending == .reset {
        // A reset may overtake the response: the system discards unread bytes.
        #expect(error.code == .networkConnectionLost)
      }
    }
    // None of the bodies was sent completely.
    #expect(!server.requests.contains { $0.isComplete })
  }

  @Test func tokenIsRefreshedWhileTheBodyIsSent() async throws {
    server.route(
      "/files",
      onHead: { $0.headers["Authorization"] == "Bearer new" ? .readBody : .respond(.status(401).then(.close)) }
    ) { .json(["count": $0.body.count]) }
    let manager = Wire.automatic.manager(server)
    let tokens = TestTokens("old")
    manager.tokenRefresher = tokens
    let response = try await manager.send(try put(64 << 20), accessToken: { tokens.current })
    #expect(response.statusCode == 200)
    #expect(tokens.count == 1)
    #expect(server.requests.filter(\.isComplete).map(\.body.count) == [64 << 20])
  }

  // MARK: - Expect: 100-continue

  @Test func bodyWaitsFor100Continue() async throws {
    let isWaiting = Gate()
    let consent = Gate()
    server.route("/files", onHead: { _ in .steps([.open(isWaiting), .wait(consent), .sendContinue]) }) { _ in .text("")
    }
    let manager = Wire.automatic.manager(server)
    _ = Task {
      _ = await isWaiting.wait()
      consent.open()
    }
    _ = try await manager.send(try put(100_000, expectsContinue: true))
    let request = try #require(server.requests.first)
    #expect(request.headers["Expect"] == "100-continue")
    #expect(request.body.count == 100_000)
    #expect(server.requestCount == 1)
  }

  @Test func refusedBodyIsNotSent() async throws {
    server.route("/files", onHead: { _ in .respond(.status(413)) }) { _ in .text("") }
    let error = await #expect(throws: HTTPError.self) {
      _ = try await Wire.automatic.manager(server).send(try put(1 << 20, expectsContinue: true))
    }
    #expect(error?.statusCode == 413)
    #expect(server.requests.allSatisfy { $0.bodyByteCount == 0 })
  }

  /// RFC 9110 §15.5.18: the expectation was not met, which says nothing about the request without it.
  @Test(arguments: [HTTPMethod.put, .post])
  func bodyIsSentWithoutAFailedExpectation(_ method: HTTPMethod) async throws {
    server.route("/files", onHead: { $0.headers["Expect"] == nil ? .readBody : .respond(.status(417).then(.close)) }) {
      _ in .text("")
    }
    var probe = try put(100_000, expectsContinue: true)
    probe.method = method
    _ = try await Wire.automatic.manager(server).send(probe)
    #expect(server.requests.filter(\.isComplete).map(\.body.count) == [100_000])
  }

  @Test func contextStaysRedirectedWithoutExpectation() async throws {
    server.route("/start") { _ in .redirect(to: "/files", status: 307) }
    server.route("/files", onHead: { $0.headers["Expect"] == nil ? .readBody : .respond(.status(417).then(.close)) }) {
      _ in .text("")
    }
    let contexts = Locked<[Bool]>([])
    let manager = Wire.automatic.manager(server)
    manager.attemptMiddleware = [
      Intercept { request, context, next in
        contexts.withLock { $0.append(context.isRedirected) }
        return try await next(request)
      }
    ]
    var probe = try put(100_000, expectsContinue: true)
    probe.path = "/start"
    _ = try await manager.send(probe)
    #expect(contexts.withLock { $0 } == [false, true, true])
  }

  @Test func expectCTFieldDoesNotReplaceExpect() async throws {
    var probe = try put(100_000, expectsContinue: true)
    probe.headers = ["Expect-CT": "max-age=1"]
    _ = try await Wire.automatic.manager(server).send(probe)
    #expect(server.requests.first?.headers["Expect"] == "100-continue")
  }

  /// Of a request without content nothing is left to be sent, whatever it expects.
  @Test(.enabled(if: Platform.isLinux), arguments: [nil, "100-continue"] as [String?])
  func emptyBodyKeepsItsConnection(_ own: String?) async throws {
    let server = try LoopbackServer { $0.answersExpectContinue = false }
    defer { server.stop() }
    server.route("PUT", "/files", .text(""))
    let manager = Wire.automatic.isolatedManager(server)
    for _ in 0..<2 {
      var probe = try put(0, expectsContinue: true)
      probe.headers = own.map { ["Expect": $0] }
      _ = try await manager.send(probe)
    }
    #expect(server.requests.map { $0.header("Expect") } == [own, own])
    #expect(server.acceptedConnections == 1)
  }

  @Test func requestWithoutBodyHasNoExpectation() async throws {
    var probe = Probe<StatusCodeResponse>(path: "/files", expectsContinue: true)
    probe.body = nil
    _ = try await Wire.automatic.manager(server).send(probe)
    #expect(server.requests.first?.headers["Expect"] == nil)
  }
}
