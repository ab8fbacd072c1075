import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

struct RequestTrailersTests {
  @Test func linesAreThoseOfTheFields() throws {
    let lines = try RequestTrailers.lines(of: ["X-Sum": "1", "x-sum": "  2 ", "Empty": ""])
    #expect(String(decoding: lines, as: UTF8.self) == "X-Sum: 1\r\nx-sum: 2\r\nEmpty: \r\n")
    #expect(try RequestTrailers.lines(of: [:]).isEmpty)
  }

  /// RFC 9110 §6.5.1.
  @Test(arguments: [
    "Content-Length", "transfer-encoding", "Host", "If-Match", "if-none-match", "Range", "Authorization", "COOKIE",
    "Content-Type", "Content-Encoding", "Trailer", "Connection", "Cache-Control",
  ])
  func whatControlsTheMessageIsForbidden(_ name: String) {
    #expect(throws: InvalidHeaderError(field: name, reason: .managedByLibrary)) {
      try RequestTrailers.lines(of: HeaderFieldList([(name, "1")]))
    }
  }

  @Test func whatCannotBeAFieldIsRefused() {
    #expect(throws: InvalidHeaderError(field: "a b", reason: .invalidName)) {
      try RequestTrailers.lines(of: ["a b": "1"])
    }
    #expect(throws: InvalidHeaderError(field: "a", reason: .invalidValue)) {
      try RequestTrailers.lines(of: ["a": "1\r\nHost: b"])
    }
  }
}

@Suite(.timeLimit(.minutes(5))) struct RequestTrailersOnTheWireTests {
  private let server: LoopbackServer

  init() throws {
    server = try LoopbackServer()
    server.fallback = { _ in .status(200) }
  }

  private func probe(_ body: RequestBody) -> Probe<StatusCodeResponse> {
    var probe = Probe<StatusCodeResponse>(path: "/files", method: .post)
    probe.body = body
    probe.retryPolicy = RetryPolicy(maxRetryCount: 3, delay: 0)
    return probe
  }

  #if os(Linux)
    @Test("Trailers are made after the last byte, and follow it", arguments: [[], ["a"], ["a", "b", "c"]])
    func trailersFollowTheBody(pieces: [String]) async throws {
      let sum = Locked("")
      let sequence = Pieces(pieces.map { Data($0.utf8) }).map { piece in
        sum.withLock { $0 += String(decoding: piece, as: UTF8.self) }
        return piece
      }
      let body = RequestBody(sequence: sequence, contentType: "a/b") {
        ["X-Sum": sum.withLock { $0 }, "X-Twice": "1", "x-twice": "2"]
      }
      _ = try await Wire.automatic.manager(server).send(probe(body))
      #expect(server.requests.map(\.text) == [pieces.joined()])
      #expect(server.requests.first?.headers["Transfer-Encoding"] == "chunked")
      #expect(server.requests.first?.trailers == ["X-Sum": pieces.joined(), "X-Twice": "1", "x-twice": "2"])
    }

    /// A status that is an error does not end the request: only the end of the connection does (RFC 9112 §9.5).
    @Test(arguments: [200, 404]) func bodyIsSentWhileTheResponseIsRead(status: Int) async throws {
      server.route("POST", "/talk", onHead: { _ in .converse(status: status) { $0 } }) { _ in .status(500) }
      let (pieces, input) = AsyncStream<Data>.makeStream()
      var probe = Probe<EmptyResponse>(path: "/talk", method: .post)
      probe.body = RequestBody(sequence: pieces, contentType: "text/plain") { ["X-Lines": "3"] }
      probe.acceptedStatuses = .any
      input.yield(Data("0\n".utf8))
      let response = try await Wire.automatic.manager(server).stream(probe)
      var lines: [String] = []
      for try await line in response.body.lines() {
        lines.append(line)
        if lines.count < 3 { input.yield(Data("\(lines.count)\n".utf8)) } else { input.finish() }
      }
      #expect(lines == ["0", "1", "2"])
      #expect(response.trailers == ["X-Lines": "3"])
    }

    @Test func noTrailersAreAnOrdinaryEnd() async throws {
      let manager = Wire.automatic.isolatedManager(server)
      for _ in 0..<2 {
        _ = try await manager.send(probe(RequestBody(sequence: Pieces([[1]]), contentType: "a/b") { [:] }))
      }
      #expect(server.requests.map(\.body) == [Data([1]), Data([1])])
      #expect(server.requests.allSatisfy { $0.isComplete && $0.trailers.isEmpty })
      #expect(server.acceptedConnections == 1)
    }

    @Test func eachAttemptMakesItsOwn() async throws {
      server.route("/files", .status(503), .redirect(to: "/there", status: 307))
      let made = Locked(0)
      let body = RequestBody(
        contentType: "a/b", trailers: { ["X-Number": "\(made.withLock { $0 })"] },
        makeSequence: {
          made.withLock { $0 += 1 }
          return Pieces([[1, 2]])
        })
      _ = try await Wire.automatic.manager(server).send(probe(body))
      #expect(server.requests.map(\.body) == [Data([1, 2]), Data([1, 2]), Data([1, 2])])
      #expect(server.requests.map(\.trailers) == [["X-Number": "1"], ["X-Number": "2"], ["X-Number": "3"]])
    }

    @Test("Trailers that cannot be made leave the body without its end", arguments: [true, false])
    func failure(isForbidden: Bool) async throws {
      struct Unknown: Error {}
      let body = RequestBody(sequence: Pieces([Data.noise(100_000)]), contentType: "a/b") {
        () throws -> HeaderFieldList in
        guard isForbidden else { throw Unknown() }
        return ["Content-Length": "1"]
      }
      do {
        _ = try await Wire.automatic.manager(server).send(probe(body))
        Issue.record("It was sent.")
      } catch {
        #expect(isForbidden ? error is InvalidHeaderError : error is Unknown)
      }
      #expect(await server.waitForOpenConnections(0))
      #expect(!server.requests.contains { $0.isComplete })
    }

    @Test func cancellingEndsTheirMaker() async throws {
      let (started, isStarted) = AsyncStream<Void>.makeStream()
      let (ended, isEnded) = AsyncStream<Void>.makeStream()
      let body = RequestBody(sequence: Pieces([[1]]), contentType: "a/b") { () throws -> HeaderFieldList in
        isStarted.finish()
        defer { isEnded.finish() }
        for await _ in AsyncStream<Void>.makeStream().stream {}
        throw CancellationError()
      }
      let manager = Wire.automatic.manager(server)
      let task = Task { [probe = probe(body)] in try await manager.send(probe) }
      for await _ in started {}
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      for await _ in ended {}
    }
  #endif

  @Test func urlSessionRefusesThem() async throws {
    let body = RequestBody(contentType: "a/b", trailers: { ["X-Sum": "1"] }) { Pieces([[1]]) }
    await #expect(throws: TransportOptionError.self) {
      _ = try await Wire.urlSession.manager(server).send(probe(body))
    }
    #expect(server.requests.isEmpty)
    let session = StubSession()
    await #expect(throws: TransportOptionError.self) {
      let manager = NetworkManager(baseURL: server.baseURL, session: session)
      _ = try await manager.send(probe(body))
    }
    #expect(session.requests.isEmpty)
  }
}
