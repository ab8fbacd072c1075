import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What call middleware does with the responses that `next` returns.
struct CallMiddlewareTests {
  private let server: LoopbackServer

  init() throws {
    server = try LoopbackServer()
    server.route("/item") { _ in .json(Item(id: 1)) }
  }

  /// The file is in place by the time that middleware rejects it.
  @Test(arguments: Wire.allCases)
  func middlewareMayRejectDownload(_ wire: Wire) async throws {
    let manager = wire.manager(server)
    let status = Locked(451)
    manager.middleware = [
      Intercept { request, _, next in
        var response = try await next(request)
        response.statusCode = status.withLock { $0 }
        response.headers["X-A"] = "b"
        return response
      }
    ]
    let folder = try ScratchFolder()
    let error = await #expect(throws: HTTPError.self) { try await manager.download(ItemProbe(), to: folder["a"]) }
    #expect(error?.statusCode == 451)
    status.withLock { $0 = 203 }
    let file = try await manager.download(ItemProbe(), to: folder["a"])
    #expect(file.statusCode == 203)
    #expect(file.value(forHTTPHeaderField: "X-A") == "b")
    #expect(try Data(contentsOf: file.url) == Data(contentsOf: folder["a"]))
  }

  /// A process has ended between the last byte and the move of the file into its place.
  @Test(arguments: Wire.allCases)
  func completeDownloadSucceedsDespite416(_ wire: Wire) async throws {
    let content = Data.noise(1_000)
    let file = try RangeServer(content)
    file.state.withLock { $0.breaks = [900] }
    let manager = wire.manager(file.server)
    let (statuses, recorder) = (Locked<[Int]>([]), HARRecorder())
    manager.middleware = [
      recorder,
      Intercept { request, _, next in
        let response = try await next(request)
        statuses.withLock { $0.append(response.statusCode) }
        return response
      },
    ]
    let folder = try ScratchFolder()
    await #expect(throws: URLError.self) { try await manager.download(FileRequest(), to: folder["a.bin"]) }
    try content.write(to: folder[".a.bin.download"])
    let result = try await manager.download(FileRequest(), to: folder["a.bin"])
    #expect(file.ranges == [nil, "bytes=1000-"])
    #expect(result.statusCode == 416)
    #expect(result.resumedBytes == 1_000)
    #expect(statuses.withLock { $0 } == [200])
    // It is not recorded as an empty file.
    #expect(try HARProbe.entries(recorder).last?.response.content._truncated == true)
    #expect(try Data(contentsOf: folder["a.bin"]) == content)
  }

  /// It is not a `CancellationError`: the task has not been cancelled. Around a call, the whole body is in memory.
  @Test func partiallyReadBodyIsAnError() async throws {
    let body = Data.noise(1 << 20)
    server.route("/item") { _ in .data(body) }
    let manager = Wire.automatic.manager(server)
    let leaving = Intercept { request, _, next in
      let response = try await next(request)
      for try await _ in response.body { break }
      return response
    }
    manager.middleware = [leaving]
    #expect(try await manager.send(Probe<Data>()) == body)
    (manager.middleware, manager.attemptMiddleware) = ([], [leaving])
    await #expect(throws: NetworkMiddlewareError.invalidResponse) { try await manager.send(ItemProbe()) }
  }

  /// The cached response is the one that was returned, whatever was sent after it.
  @Test func cachedResponseBelongsToItsRequest() async throws {
    server.route("/audit") { _ in .json(Item(id: 9)) }
    let audits = Locked(true)
    let manager = Wire.automatic.manager(server)
    manager.middleware = [
      Intercept { request, _, next in
        let response = try await next(request)
        guard audits.withLock({ $0 }) else { return response }
        var audit = request
        audit.url = request.url?.deletingLastPathComponent().appendingPathComponent("audit")
        _ = try await next(audit)
        return response
      }
    ]
    let cache = PrismResponseCache()
    #expect(try await manager.send(GetItem(), policy: .cacheFirst, cache: cache) == Item(id: 1))
    audits.withLock { $0 = false }
    #expect(try await manager.send(GetItem(path: "/audit"), policy: .cacheFirst, cache: cache) == Item(id: 9))
    #expect(try await manager.send(GetItem(), policy: .cacheFirst, cache: cache) == Item(id: 1))
    #expect(server.requests.map(\.path) == ["/item", "/audit", "/audit"])
  }

  /// It may be an error of the request's own body, which the server has refused.
  @Test(arguments: Wire.allCases) func errorOfTheBodyDoesNotHideErrorStatus(_ wire: Wire) async throws {
    struct Broken: Error {}
    let manager = wire.manager(server)
    manager.attemptMiddleware = [
      Intercept { _, _, _ in
        NetworkMiddlewareResponse(statusCode: 413, chunks: AsyncThrowingStream { $0.finish(throwing: Broken()) })
      }
    ]
    let folder = try ScratchFolder()
    for load in [
      { _ = try await manager.send(ItemProbe()) }, { _ = try await manager.stream(ItemProbe()) },
      { _ = try await manager.download(ItemProbe(), to: folder["a"]) },
    ] as [() async throws -> Void] {
      let error = await #expect(throws: HTTPError.self) { try await load() }
      #expect(error?.statusCode == 413)
    }
  }

  /// Sets what is meant for one origin, and a field that is not.
  private static let signing = Intercept { request, _, next in
    var request = request
    for name in originFields { request.setValue("secret", forHTTPHeaderField: name) }
    request.setValue("plain", forHTTPHeaderField: "X-Plain")
    return try await next(request)
  }
  private static let originFields = ["Authorization", "Cookie", "X-Api-Key", "traceparent", "tracestate", "baggage"]

  private static func leading(to url: URL, _ fields: [String: String] = [:]) -> Intercept {
    Intercept { request, _, next in
      var request = request
      request.url = url
      for (name, value) in fields { request.setValue(value, forHTTPHeaderField: name) }
      return try await next(request)
    }
  }

  /// What other middleware has set is meant for the origin that the request had then.
  @Test(arguments: Wire.allCases) func whatIsSetForAnOriginStaysThere(_ wire: Wire) async throws {
    let other = try LoopbackServer()
    defer { other.stop() }
    other.route("/item") { _ in .json(Item(id: 2)) }
    let manager = wire.manager(server)
    manager.middleware = [
      Self.signing, TracePropagator(includesOtherOrigins: true) { TraceContext() },
      Self.leading(to: other.url("/item"), ["X-Api-Key": "other"]),
    ]
    #expect(try await manager.send(ItemProbe()) { "token" } == Item(id: 2))
    let sent = try #require(other.requests.first)
    #expect(Self.originFields.map { sent.header($0) } == [nil, nil, "other", nil, nil, nil])
    #expect(sent.header("X-Plain") == "plain")
  }

  /// What was set for its origin is sent there, and what was set for the one in between is not.
  @Test(arguments: Wire.allCases) func requestThatMiddlewareTakesBackHasItsCredentials(_ wire: Wire) async throws {
    let away = try #require(URL(string: "http://away.example/item"))
    let seen = Locked<[[String?]]>([])
    let manager = wire.manager(server)
    manager.middleware = [
      Self.signing, Self.leading(to: away, ["Authorization": "Bearer away", "X-Session": "away"]),
      Intercept { request, context, next in
        let fields = Self.originFields.map { request.value(forHTTPHeaderField: $0) }
        seen.withLock { $0.append(fields + ["\(context.hasLeftOrigin)"]) }
        return try await next(request)
      },
      Self.leading(to: server.url("/item")),
    ]
    #expect(try await manager.send(ItemProbe()) { "token" } == Item(id: 1))
    #expect(seen.withLock { $0 } == [["Bearer away", nil, nil, nil, nil, nil, "true"]])
    let sent = try #require(server.requests.first)
    #expect(Self.originFields.map { sent.header($0) } == Array(repeating: "secret", count: 6))
    #expect(sent.header("X-Session") == nil)
  }

  /// The caller's token, which no middleware has changed.
  @Test func tokenIsSentToItsOriginAfterADetour() async throws {
    let away = try #require(URL(string: "http://away.example/item"))
    let manager = Wire.automatic.manager(server)
    manager.middleware = [Self.leading(to: away), Self.leading(to: server.url("/item"))]
    #expect(try await manager.send(ItemProbe(headers: ["Cookie": "a=b"])) { "token" } == Item(id: 1))
    #expect(server.requests.first?.header("Authorization") == "Bearer token")
    #expect(server.requests.first?.header("Cookie") == "a=b")
  }

  /// A new host in the same components keeps the user and the password of the first.
  @Test(arguments: [false, true]) func userOfURLStaysWithItsOrigin(isOwn: Bool) async throws {
    let other = try LoopbackServer()
    defer { other.stop() }
    other.route("/item") { _ in .json(Item(id: 2)) }
    let base = try #require(URL(string: server.baseURL.absoluteString.replacing("//", with: "//me:secret@")))
    let manager = Wire.automatic.manager(base)
    manager.middleware = [
      Intercept { request, _, next in
        var request = request
        var parts = request.url.flatMap { URLComponents(url: $0, resolvingAgainstBaseURL: true) }
        parts?.port = Int(other.port)
        if isOwn { parts?.user = "you" }
        request.url = parts?.url
        return try await next(request)
      }
    ]
    #expect(try await manager.send(ItemProbe()) == Item(id: 2))
    let own = "Basic " + Data("you:secret".utf8).base64EncodedString()
    #expect(other.requests.map { $0.header("Authorization") } == [isOwn ? own : nil])
  }

  /// That of a URL is for all of its origin.
  @Test func userOfURLIsSentToItsOriginAfterADetour() async throws {
    let away = try #require(URL(string: "http://you:other@away.example/item"))
    let base = try #require(URL(string: server.baseURL.absoluteString.replacing("//", with: "//me:secret@")))
    let manager = Wire.automatic.manager(base)
    manager.middleware = [Self.leading(to: away), Self.leading(to: server.url("/item"))]
    #expect(try await manager.send(ItemProbe()) == Item(id: 1))
    let own = "Basic " + Data("me:secret".utf8).base64EncodedString()
    #expect(server.requests.map { $0.header("Authorization") } == [own])
  }

  /// Requests that a circuit breaker refuses use none of the server's quota.
  @Test func unsentRequestUsesNoQuota() async throws {
    server.route("/item") { _ in .json(Item(id: 1), headers: ["RateLimit": "\"a\";r=2;t=300"]) }
    let manager = Wire.automatic.manager(server)
    let isOpen = Locked(false)
    manager.attemptMiddleware = [
      RateLimiter(maximumWait: .zero),
      Intercept { request, _, next in
        if isOpen.withLock({ $0 }) { throw CircuitBreaker.OpenError(host: "a", retryAfter: .zero) }
        return try await next(request)
      },
    ]
    _ = try await manager.send(ItemProbe())
    isOpen.withLock { $0 = true }
    for _ in 0..<3 {
      await #expect(throws: CircuitBreaker.OpenError.self) { try await manager.send(ItemProbe()) }
    }
    isOpen.withLock { $0 = false }
    #expect(try await manager.send(ItemProbe()) == Item(id: 1))
  }
}
