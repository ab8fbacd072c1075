import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Ownership, cancellation and limits of middleware.
struct MiddlewareLimitsTests {
  private let server: LoopbackServer

  init() throws {
    server = try LoopbackServer()
    server.route("/item") { _ in .json(Item(id: 1)) }
  }

  // MARK: - Changes

  private struct ToPost: NetworkMiddleware {
    func intercept(
      _ request: URLRequest, context: NetworkMiddlewareContext, next: NetworkMiddlewareNext
    ) async throws -> NetworkMiddlewareResponse {
      var request = request
      request.httpMethod = "POST"
      request.httpBody = Data("x".utf8)
      return try await next(request)
    }
  }

  /// A GET that middleware turns into a POST is not idempotent any more.
  @Test(arguments: [true, false]) func changedMethodIsNotResent(aroundCall: Bool) async throws {
    let count = Locked(0)
    server.route("/item") { _ in
      let number = count.withLock { count in
        count += 1
        return count
      }
      // A connection that closes when it is reused.
      return number == 2 ? .raw([]) : .json(Item(id: 1))
    }
    let manager = Wire.automatic.isolatedManager(server)
    if aroundCall { manager.middleware = [ToPost()] } else { manager.attemptMiddleware = [ToPost()] }
    _ = try await manager.send(ItemProbe())
    await #expect(throws: URLError.self) { _ = try await manager.send(ItemProbe()) }
    #expect(server.requestCount == 2)
  }

  private struct Glance: NetworkMiddleware {
    func intercept(
      _ request: URLRequest, context: NetworkMiddlewareContext, next: NetworkMiddlewareNext
    ) async throws -> NetworkMiddlewareResponse {
      var response = try await next(request)
      _ = try? await response.data(maximumSize: 1000)
      return response
    }
  }

  /// The caller does not receive the rest in place of the whole; around a call, the whole is in memory.
  @Test(arguments: Wire.allCases) func ignoredBodyLimitErrorIsRethrown(_ wire: Wire) async throws {
    server.route("/item") { _ in .data(Data(count: 100_000)) }
    let manager = wire.manager(server)
    manager.attemptMiddleware = [Glance()]
    await #expect(throws: ResponseLimitError.self) { _ = try await manager.send(Probe<Data>()) }
    (manager.middleware, manager.attemptMiddleware) = ([Glance()], [])
    #expect(try await manager.send(Probe<Data>()) == Data(count: 100_000))
  }

  @Test(arguments: Wire.allCases, [true, false])
  func invalidHeaderFieldIsAnError(_ wire: Wire, aroundCall: Bool) async throws {
    server.route("/item") { _ in .json(Item(id: 1)) }
    let manager = wire.manager(server)
    let middleware = Intercept { request, _, next in
      var request = request
      request.allHTTPHeaderFields = ["X-Key": "a\r\nb: c"]
      return try await next(request)
    }
    if aroundCall { manager.middleware = [middleware] } else { manager.attemptMiddleware = [middleware] }
    await #expect(throws: InvalidHeaderError.self) { _ = try await manager.send(ItemProbe()) }
    #expect(server.acceptedConnections == 0)
  }

  // MARK: - Ownership

  @Test(arguments: Wire.allCases)
  func attemptHeadersDoNotFollowRedirect(_ wire: Wire) async throws {
    let other = try LoopbackServer()
    defer { other.stop() }
    other.route("/item") { _ in .json(Item(id: 2)) }
    server.route("/away", .redirect(to: other.url("/item").absoluteString))
    server.route("/near", .redirect(to: "/item"))
    let contexts = Locked<[NetworkMiddlewareContext]>([])
    let manager = wire.manager(server)
    manager.attemptMiddleware = [
      Intercept { request, context, next in
        contexts.withLock { $0.append(context) }
        var request = request
        if !context.hasLeftOrigin { request.setValue("secret", forHTTPHeaderField: "X-Key") }
        return try await next(request)
      }
    ]
    #expect(try await manager.send(ItemProbe(path: "/near")) == Item(id: 1))
    #expect(try await manager.send(ItemProbe(path: "/away")) == Item(id: 2))
    #expect(server.requests.map { $0.headers["X-Key"] } == ["secret", "secret", "secret"])
    #expect(other.requests.map { $0.headers["X-Key"] } == [nil])
    let start = NetworkMiddlewareContext()
    #expect(
      contexts.withLock { $0 } == [
        start, NetworkMiddlewareContext(isRedirected: true), start,
        NetworkMiddlewareContext(isRedirected: true, hasLeftOrigin: true),
      ])
  }

  /// Middleware may change the origin of a call; the token is not sent there unless middleware sets it.
  @Test(arguments: Wire.allCases)
  func tokenIsNotSentToChangedOrigin(_ wire: Wire) async throws {
    let other = try LoopbackServer()
    defer { other.stop() }
    other.route("/item") { _ in .json(Item(id: 2)) }
    let manager = wire.manager(server) { $0.httpAdditionalHeaders = ["Authorization": "Basic session", "X-A": "b"] }
    let key = Locked<String?>(nil)
    manager.middleware = [
      Intercept { request, _, next in
        var request = request
        request.url = other.url("/item")
        if let key = key.withLock({ $0 }) { request.setValue(key, forHTTPHeaderField: "Authorization") }
        return try await next(request)
      }
    ]
    #expect(try await manager.send(ItemProbe(headers: ["Cookie": "a=b"])) { "token" } == Item(id: 2))
    key.withLock { $0 = "Bearer other" }
    #expect(try await manager.send(ItemProbe()) { "token" } == Item(id: 2))
    #expect(other.requests.map { $0.headers["Authorization"] } == [nil, "Bearer other"])
    #expect(other.requests.first?.headers["Cookie"] == nil)
    #expect(other.requests.first?.headers["X-A"] == "b")
    #expect(server.requestCount == 0)
  }

  private struct Whole: NetworkRequest {
    typealias Response = Item
    let path = "/item"
    let method = HTTPMethod.get
    let targetURL: URL?
  }

  /// Whether the request or other middleware leads there.
  @Test(arguments: [false, true]) func contextOfCallKnowsOfAnotherOrigin(isOfRequest: Bool) async throws {
    let other = try LoopbackServer()
    defer { other.stop() }
    other.route("/item") { _ in .json(Item(id: 2)) }
    let leading = Intercept { request, _, next in
      var request = request
      request.url = other.url("/item")
      return try await next(request)
    }
    let adding = Intercept { request, context, next in
      var request = request
      if !context.hasLeftOrigin { request.setValue("secret", forHTTPHeaderField: "X-Key") }
      return try await next(request)
    }
    let manager = Wire.automatic.manager(server)
    manager.middleware = [adding]
    #expect(try await manager.send(Whole(targetURL: server.url("/item"))) == Item(id: 1))
    if !isOfRequest { manager.middleware = [leading, adding] }
    #expect(try await manager.send(Whole(targetURL: isOfRequest ? other.url("/item") : nil)) == Item(id: 2))
    #expect(server.requests.map { $0.headers["X-Key"] } == ["secret"])
    #expect(other.requests.map { $0.headers["X-Key"] } == [nil])
  }

  /// The token of an attempt is meant for the base URL that it was read with.
  @Test(arguments: Wire.allCases, ["/page?a=b", "?a=b"])
  func changedURLFollowsTheBaseURL(_ wire: Wire, _ target: String) async throws {
    let other = try LoopbackServer()
    defer { other.stop() }
    let base = Locked(server.baseURL)
    server.fallback = { _ in
      base.withLock { $0 = other.baseURL }
      return .status(503)
    }
    other.fallback = { _ in .json(Item(id: 2)) }
    let manager = NetworkManager(baseURL: { base.withLock { $0 } }, transport: wire.transport())
    manager.middleware = [
      Intercept { [server] request, _, next in
        var request = request
        request.url = URL(string: "http://127.0.0.1:\(server.port)\(target)")
        return try await next(request)
      }
    ]
    let probe = ItemProbe(path: "/start", retryPolicy: RetryPolicy(maxRetryCount: 1, delay: 0))
    #expect(try await manager.send(probe) { "for \(base.withLock { $0.port } ?? 0)" } == Item(id: 2))
    for server in [server, other] {
      #expect(server.requests.map(\.target) == [target.hasPrefix("/") ? target : "/" + target])
      #expect(server.requests.map { $0.headers["Authorization"] } == ["Bearer for \(server.port)"])
    }
  }

  /// Cached and shared responses belong to one user, who may be determined by middleware.
  @Test func cacheEntriesAreSeparatedByMiddlewareCredentials() async throws {
    server.route("/item") { request in
      .json(Item(id: request.headers["X-User"] == "a" ? 1 : 2), headers: ["Cache-Control": "max-age=1000"])
    }
    let (mine, caching) = (PrismResponseCache(), HTTPCache())
    let managers = ["a", "b"].map { user in
      let manager = Wire.automatic.manager(server)
      manager.httpCache = caching
      manager.attemptMiddleware = [
        Intercept.adding("Bearer \(user)", to: "Authorization"), Intercept.adding(user, to: "X-User"),
      ]
      return manager
    }
    for _ in 0..<2 {
      for (manager, id) in zip(managers, 1...) {
        #expect(try await manager.send(ItemProbe()) == Item(id: id))
        #expect(try await manager.send(GetItem(), policy: .cacheFirst, cache: mine) == Item(id: id))
      }
    }
    // Each manager was served from its own entries of both caches.
    #expect(server.requestCount == 2)
  }

  @Test func requestsChangedByMiddlewareAreNotShared() async throws {
    let number = Locked(0)
    server.route("/item") { .json(Item(id: Int($0.headers["X-Number"] ?? "") ?? 0)) }
    let manager = Wire.automatic.manager(server)
    manager.sharesIdenticalRequests = true
    manager.attemptMiddleware = [
      Intercept { request, _, next in
        var request = request
        let own = number.withLock { number in
          number += 1
          return number
        }
        request.setValue("\(own)", forHTTPHeaderField: "X-Number")
        return try await next(request)
      }
    ]
    let ids = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<100 { group.addTask { try await manager.send(ItemProbe()).id } }
      return try await group.reduce(into: Set<Int>()) { $0.insert($1) }
    }
    #expect(ids == Set(1...100))
  }

  // MARK: - Cancellation

  @Test(arguments: [false, true])
  func cancellingCallerCancelsMiddleware(isAttempt: Bool) async throws {
    let hasBegun = Gate()
    let manager = Wire.automatic.manager(server)
    let sleeping = Intercept { request, _, next in
      hasBegun.open()
      _ = await Gate().wait()
      try Task.checkCancellation()
      return try await next(request)
    }
    if isAttempt { manager.attemptMiddleware = [sleeping] } else { manager.middleware = [sleeping] }
    let task = Task { try await manager.send(ItemProbe()) }
    #expect(await hasBegun.wait())
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(server.requestCount == 0)
  }

  /// A time limit for one call: a slower request is abandoned, and does not continue in the background.
  @Test(arguments: [false, true])
  func cancellingNextClosesItsConnection(isAttempt: Bool) async throws {
    struct TooSlow: Error {}
    let arrived = Gate()
    server.route("/slow") { _ in .raw([.open(arrived), .stall]) }
    let manager = Wire.automatic.manager(server)
    let limit = Intercept { request, _, next in
      try await withThrowingTaskGroup(of: NetworkMiddlewareResponse.self) { group in
        defer { group.cancelAll() }
        group.addTask { try await next(request) }
        group.addTask {
          _ = await arrived.wait()
          throw TooSlow()
        }
        guard let first = try await group.next() else { throw TooSlow() }
        return first
      }
    }
    if isAttempt { manager.attemptMiddleware = [limit] } else { manager.middleware = [limit] }
    await #expect(throws: TooSlow.self) { try await manager.send(ItemProbe(path: "/slow")) }
    #expect(await server.waitForOpenConnections(0))
  }

  @Test func nextRejectsOverlappingAndLateCalls() async throws {
    let mayRespond = Gate()
    let json = Data(#"{"id":1,"name":"teapot"}"#.utf8)
    server.route(
      "/item",
      .streaming(
        contentLength: json.count, headers: ["Content-Type": "application/json"], [.wait(mayRespond), .send(json)]),
      .json(Item(id: 2)))
    let manager = Wire.automatic.manager(server)
    let kept = Locked<NetworkMiddlewareNext?>(nil)
    manager.middleware = [
      Intercept { [server] request, _, next in
        kept.withLock { $0 = next }
        async let first = next(request)
        await server.expectRequests(1)
        await #expect(throws: NetworkMiddlewareError.overlappingCalls) { _ = try await next(request) }
        mayRespond.open()
        return try await first
      }
    ]
    #expect(try await manager.send(ItemProbe()) == Item(id: 1))
    #expect(server.requestCount == 1)
    let next = try #require(kept.withLock { $0 })
    await #expect(throws: NetworkMiddlewareError.overlappingCalls) {
      _ = try await next(URLRequest(url: server.url("/item")))
    }
  }

  @Test func abandonedNextIsCancelled() async throws {
    let arrived = Gate()
    server.route("/slow") { _ in .raw([.open(arrived), .stall]) }
    let manager = Wire.automatic.manager(server)
    let outcome = Locked<Task<NetworkMiddlewareResponse, any Error>?>(nil)
    manager.middleware = [
      Intercept { request, _, next in
        outcome.withLock { $0 = Task { try await next(request) } }
        _ = await arrived.wait()
        return NetworkMiddlewareResponse(statusCode: 200, data: Data(#"{"id":3,"name":""}"#.utf8))
      }
    ]
    #expect(try await manager.send(ItemProbe(path: "/slow")).id == 3)
    let left = try #require(outcome.withLock { $0 })
    await #expect(throws: CancellationError.self) { try await left.value }
    #expect(await server.waitForOpenConnections(0))
  }

  // MARK: - Resending

  @Test(arguments: Wire.allCases)
  func callCanBeRepeated(_ wire: Wire) async throws {
    server.route("/item", .status(500), .json(Item(id: 5)))
    let manager = wire.manager(server)
    let built = Locked(0)
    manager.middleware = [
      Intercept { request, _, next in
        do { return try await next(request) } catch let error as HTTPError where error.statusCode == 500 {
          return try await next(request)
        }
      }
    ]
    let item = try await manager.send(ItemProbe()) {
      built.withLock { $0 += 1 }
      return "t"
    }
    #expect(item == Item(id: 5))
    // The token is read each time that the request is sent.
    #expect(built.withLock { $0 } == 2)
  }

  @Test func streamBodyIsSentOnce() async throws {
    let manager = Wire.automatic.manager(server)
    server.route("/item") { .json(Item(id: $0.body.count)) }
    manager.attemptMiddleware = [
      Intercept { request, _, next in
        _ = try await next(request)
        return try await next(request)
      }
    ]
    var probe = ItemProbe(method: .post)
    probe.body = RequestBody(stream: InputStream(data: Data(count: 3)), contentType: "a/b")
    await #expect(throws: RequestBodyError.alreadySent) { try await manager.send(probe) }
    probe.body = RequestBody(data: Data(count: 3), contentType: "a/b")
    #expect(try await manager.send(probe) == Item(id: 3))
  }

  /// The request stays on its actor, although middleware runs elsewhere.
  @MainActor @Test func mainActorRequestIsReadOnMainActor() async throws {
    server.route("/main", .status(503), .json(Item(id: 6)))
    let manager = Wire.automatic.manager(server)
    let count = Locked(0)
    manager.middleware = [
      Intercept { request, _, next in
        count.withLock { $0 += 1 }
        return try await next(request)
      }
    ]
    #expect(try await manager.send(MainActorProbe()) == Item(id: 6))
    #expect(count.withLock { $0 } == 1)
  }
}

struct GetItem: NetworkRequest, Sendable {
  typealias Response = Item
  var path = "/item"
  let method = HTTPMethod.get
}

@MainActor private struct MainActorProbe: @MainActor NetworkRequest {
  typealias Response = Item
  var path: String {
    MainActor.assertIsolated()
    return "/main"
  }
  var method: HTTPMethod { .get }
  var retryPolicy: RetryPolicy { RetryPolicy(maxRetryCount: 1, delay: 0) }
}
