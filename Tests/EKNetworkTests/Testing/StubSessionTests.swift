import EKNetwork
import Foundation
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

private func item(_ id: Int) -> StubSession.Reply { .json(#"{"id":\#(id),"name":"teapot"}"#) }

struct StubSessionTests {
  private let session = StubSession()
  private let manager: NetworkManager

  init() throws {
    manager = NetworkManager(baseURL: try #require(URL(string: "https://api.example.com")), session: session)
  }

  @Test func routeRepliesRepeatedly() async throws {
    session.on(.get, "/item", item(1))
    for _ in 0..<2 { #expect(try await manager.send(ItemProbe()) == Item(id: 1)) }
    #expect(session.requests.map { $0.url?.path } == ["/item", "/item"])
  }

  @Test func repliesComeInSequence() async throws {
    session.on(.get, "/item", .status(503), item(1), item(2))
    let error = await #expect(throws: HTTPError.self) { try await manager.send(ItemProbe()) }
    #expect(error?.statusCode == 503)
    for id in [1, 2, 2] { #expect(try await manager.send(ItemProbe()) == Item(id: id)) }
  }

  @Test func replyMayFailOrBeDelayed() async throws {
    let clock = RecordingClock()
    let session = StubSession(clock: clock)
    session.on(.get, "/item", .failure(URLError(.notConnectedToInternet)), .status(204).after(.seconds(60)))
    let request = URLRequest(url: try #require(URL(string: "https://x/item")))
    let error = await #expect(throws: URLError.self) { _ = try await session.data(for: request) }
    #expect(error?.code == .notConnectedToInternet)
    let (body, response) = try await session.data(for: request)
    #expect(body.isEmpty && (response as? HTTPURLResponse)?.statusCode == 204)
    #expect(clock.sleeps == [.seconds(60)])
  }

  @Test func lateReplyIsTimeout() async throws {
    let clock = RecordingClock()
    let session = StubSession(clock: clock)
    session.on(.get, "/item", .status(204).after(.seconds(2)))
    let manager = NetworkManager(baseURL: try #require(URL(string: "https://x")), session: session)
    var probe = Probe<StatusCodeResponse>()
    probe.timeout = .milliseconds(1_500)
    for _ in 1...2 {
      let error = await #expect(throws: URLError.self) { try await manager.send(probe) }
      #expect(error?.code == .timedOut)
    }
    #expect(clock.sleeps == [.milliseconds(1_500), .milliseconds(1_500)])
  }

  @Test func cancelledRequestDoesNotAwaitReply() async throws {
    let clock = StoppedClock()
    let session = StubSession(clock: clock)
    session.on(.get, "/item", .status(200).after(.seconds(1)))
    let request = URLRequest(url: try #require(URL(string: "https://x/item")))
    let task = Task { try await session.data(for: request) }
    for await _ in clock.isSleeping.stream { break }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func starMatchesOneSegmentAndLastRouteWins() async throws {
    session.on(.get, "/users/*", item(1))
    session.on(.get, "/users/2", item(2))
    #expect(try await manager.send(ItemProbe(path: "/users/7")) == Item(id: 1))
    #expect(try await manager.send(ItemProbe(path: "/users/2")) == Item(id: 2))
    await #expect(throws: StubSession.UnexpectedRequest.self) { try await manager.send(ItemProbe(path: "/users/2/a")) }
    await #expect(throws: StubSession.UnexpectedRequest.self) { try await manager.send(ItemProbe(path: "/users")) }
  }

  /// RFC 9112 §3.2.1: what is sent for an empty path is "/".
  @Test func emptyPathIsRoot() async throws {
    let addresses = ["https://x", "https://x?a=b", "https://x/"]
    let requests = try addresses.map { URLRequest(url: try #require(URL(string: $0))) }
    for path in ["", "/", "/*"] {
      session.on(.get, path, .status(204))
      #expect(try await manager.send(Probe<StatusCodeResponse>(path: "")).statusCode == 204)
      for request in requests { #expect(try await session.data(for: request).0.isEmpty) }
      session.on(.get, path == "" ? "/" : path)
      let error = await #expect(throws: StubSession.UnexpectedRequest.self) {
        _ = try await session.data(for: requests[0])
      }
      #expect(error?.description == "No route for GET /. Routes: none")
    }
  }

  @Test func closureReceivesRequest() async throws {
    session.on(.post, "/item") { request in
      item(request.httpBody?.count ?? 0)
    }
    var probe = ItemProbe(method: .post)
    probe.body = RequestBody(data: Data(count: 3), contentType: "a/b")
    #expect(try await manager.send(probe) == Item(id: 3))
  }

  @Test func unexpectedRequestListsRoutes() async throws {
    session.on(.get, "/a", .status(200))
    session.on(.post, "/b", .status(200))
    session.on(.get, "/c", .status(200))
    session.on(.get, "/c")
    let error = await #expect(throws: StubSession.UnexpectedRequest.self) {
      try await manager.send(ItemProbe(retryPolicy: RetryPolicy(maxRetryCount: 1, delay: 0)))
    }
    #expect(error.map { "\($0)" } == "No route for GET /item. Routes: GET /a, POST /b")
    #expect(session.requests.count == 1)
    let empty = StubSession()
    let request = URLRequest(url: try #require(URL(string: "https://x")))
    let other = await #expect(throws: StubSession.UnexpectedRequest.self) { _ = try await empty.data(for: request) }
    #expect(other?.description.hasSuffix("Routes: none") == true)
  }

  @Test func streamComesInPiecesAndMayFail() async throws {
    let lost = URLError(.networkConnectionLost)
    session.on(.get, "/feed", .pieces(["a", "bc"]).failing(with: lost))
    var pieces: [String] = []
    await #expect(throws: URLError.self) {
      for try await chunk in try await manager.stream(Probe<StatusCodeResponse>(path: "/feed")).chunks {
        pieces.append(String(decoding: chunk, as: UTF8.self))
      }
    }
    #expect(pieces == ["a", "bc"])
    let error = await #expect(throws: URLError.self) { try await manager.send(ItemProbe(path: "/feed")) }
    #expect(error?.code == .networkConnectionLost)
  }

  @Test func concurrentRequestsGetOneReplyEach() async throws {
    session.on(.get, "/item", item(0), item(1))
    let ids = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<100 { group.addTask { try await manager.send(ItemProbe()).id } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(ids.count { $0 == 0 } == 1)
    #expect(session.requests.count == 100)
  }
}
