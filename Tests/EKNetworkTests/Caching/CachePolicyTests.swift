import LoopbackServer
import Testing

@testable import EKNetwork

/// The policies end to end, through the adapter and through the manager.
struct CachePolicyTests {
  /// The adapter or the manager behind one interface, with a way to advance time.
  struct Face: Sendable, CustomStringConvertible {
    let description: String
    let value: @Sendable (PrismCachePolicy) async throws -> Teapot
    let values: @Sendable (PrismCachePolicy) -> PrismResponses<Teapot>
    let age: @Sendable (Duration) -> Void
  }

  struct GetTeapot: NetworkRequest, Sendable {
    typealias Response = Teapot
    let path = "/item"
    let method = HTTPMethod.get
  }

  struct GetBytes: NetworkRequest, Sendable {
    typealias Response = Data
    let path = "/bytes"
    let method = HTTPMethod.get
    var decodesContent = true
  }

  enum Kind: CaseIterable { case adapter, manager }

  private let server: LoopbackServer

  init() throws {
    server = try LoopbackServer()
    server.countTeapots()
  }

  private func face(_ kind: Kind) -> Face {
    switch kind {
    case .adapter:
      let now = Locked(Date())
      let client = PrismNetworkAdapter.forTests(now: { now.withLock { $0 } })
      let request = server.teapot { $0.cacheInterval = 60 }
      return Face(
        description: "adapter", value: { try await client.request(on: request, policy: $0) },
        values: { client.responses(on: request, policy: $0) },
        age: { duration in now.withLock { $0 += duration.timeInterval } })
    case .manager:
      let clock = ManualClock()
      let cache = PrismResponseCache(maxSize: 10, clock: clock)
      let manager = Wire.automatic.manager(server)
      return Face(
        description: "manager",
        value: { try await manager.send(GetTeapot(), policy: $0, cache: cache, ttl: .seconds(60)) },
        values: { manager.responses(GetTeapot(), policy: $0, cache: cache, ttl: .seconds(60)) },
        age: { clock.advance(by: $0) })
    }
  }

  private func all(_ responses: PrismResponses<Teapot>) async throws -> [Int] {
    var ids: [Int] = []
    for try await teapot in responses { ids.append(teapot.id) }
    return ids
  }

  /// What is stored of one request is not what the other expects.
  @Test(arguments: [true, false]) func encodedAndDecodedBodiesAreKeptApart(_ hasMiddleware: Bool) async throws {
    let plain = Data("plain".utf8)
    let encoded = try Bomb.gzip(plain)
    server.route("/bytes") { _ in .data(encoded, headers: ["Content-Encoding": "gzip"]) }
    let manager = Wire.automatic.manager(server)
    if hasMiddleware { manager.attemptMiddleware = [HARRecorder()] }
    let cache = PrismResponseCache()
    for _ in 0..<2 {
      for (decodesContent, body) in [(false, encoded), (true, plain)] {
        let request = GetBytes(decodesContent: decodesContent)
        #expect(try await manager.send(request, policy: .cacheFirst, cache: cache) == body)
      }
    }
    #expect(server.requestCount == 2)
  }

  /// What it leads to may be stored, but not for the URL that has redirected.
  @Test(arguments: Kind.allCases, [("Cache-Control", "private, no-store"), ("Vary", "*")])
  func redirectThatMustNotBeStoredIsRequestedEachTime(
    _ kind: Kind, _ field: (name: String, value: String)
  ) async throws {
    server.route("/item", .redirect(to: "/other", headers: [field.name: field.value]), .redirect(to: "/other"))
    server.route("/other", .json(Teapot(id: 9)))
    let face = face(kind)
    for _ in 0..<3 { #expect(try await face.value(.cacheFirst).id == 9) }
    #expect(server.requestCount == 4)
  }

  /// Makes a response of its own, as one that decrypts does.
  private struct Unwrapping: NetworkMiddleware {
    func intercept(
      _ request: URLRequest, context: NetworkMiddlewareContext, next: NetworkMiddlewareNext
    ) async throws -> NetworkMiddlewareResponse {
      var response = try await next(request)
      return NetworkMiddlewareResponse(statusCode: response.statusCode, data: try await response.data())
    }
  }

  @Test(arguments: [HARRecorder(), Unwrapping()] as [any NetworkMiddleware])
  func redirectIsRequestedEachTimeBehindMiddleware(_ middleware: any NetworkMiddleware) async throws {
    server.route("/bytes", .redirect(to: "/other", headers: ["Cache-Control": "no-store"]))
    server.route("/other", .text("other"))
    let manager = Wire.automatic.manager(server)
    manager.middleware = [middleware]
    manager.attemptMiddleware = [HARRecorder()]
    let cache = PrismResponseCache()
    for _ in 0..<2 {
      #expect(try await manager.send(GetBytes(), policy: .cacheFirst, cache: cache) == Data("other".utf8))
    }
    #expect(server.requestCount == 4)
    #expect(await cache.count == 0)
  }

  @Test(arguments: Kind.allCases) func networkOnlyAlwaysFetches(_ kind: Kind) async throws {
    let face = face(kind)
    #expect(try await face.value(.networkOnly).id == 1)
    #expect(try await face.value(.networkOnly).id == 2)
    #expect(try await all(face.values(.networkOnly)) == [3])
    #expect(try await face.value(.cacheFirst).id == 3)
  }

  @Test func policyStoresWithoutInterval() async throws {
    let client = PrismNetworkAdapter.forTests()
    #expect(try await client.request(on: server.teapot(), policy: .networkOnly).id == 1)
    #expect(try await client.request(on: server.teapot(), policy: .cacheFirst).id == 1)
    // Without a policy or an interval, the cache is neither read nor written.
    #expect(try await client.request(on: server.teapot()).id == 2)
    #expect(try await client.request(on: server.teapot(), policy: .cacheFirst).id == 1)
  }

  @Test func entryFromTheFutureIsStale() async throws {
    let now = Locked(Date())
    let client = PrismNetworkAdapter.forTests(now: { now.withLock { $0 } })
    let request = server.teapot { $0.cacheInterval = 60 }
    #expect(try await client.request(on: request).id == 1)
    #expect(try await client.request(on: request).id == 1)
    // The clock is set back.
    now.withLock { $0 -= 86_400 }
    #expect(try await client.request(on: request).id == 2)
    #expect(try await client.request(on: request).id == 2)
  }

  @Test(arguments: Kind.allCases) func cacheFirstFetchesWithoutFreshEntry(_ kind: Kind) async throws {
    let face = face(kind)
    #expect(try await face.value(.cacheFirst).id == 1)
    #expect(try await face.value(.cacheFirst).id == 1)
    #expect(try await all(face.values(.cacheFirst)) == [1])
    face.age(.seconds(61))
    #expect(try await face.value(.cacheFirst).id == 2)
    #expect(server.requestCount == 2)
  }

  @Test(arguments: Kind.allCases) func cacheThenNetworkYieldsTwice(_ kind: Kind) async throws {
    let face = face(kind)
    #expect(try await all(face.values(.cacheThenNetwork)) == [1])
    #expect(try await all(face.values(.cacheThenNetwork)) == [1, 2])
    let same = face.values(.cacheThenNetwork)
    #expect(try await all(same) == [2, 3])
    #expect(try await all(same) == [3, 4])
    face.age(.seconds(61))
    // The first value may be stale: a fresh one follows.
    #expect(try await all(same) == [4, 5])
  }

  @Test(arguments: Kind.allCases) func leavingTheLoopSendsNothing(_ kind: Kind) async throws {
    let face = face(kind)
    _ = try await face.value(.cacheFirst)
    for try await _ in face.values(.cacheThenNetwork) { break }
    #expect(server.requestCount == 1)
  }

  @Test(arguments: Kind.allCases) func failureFollowsStoredResponse(_ kind: Kind) async throws {
    let face = face(kind)
    _ = try await face.value(.cacheFirst)
    server.route("/item") { _ in .status(500) }
    var iterator = face.values(.cacheThenNetwork).makeAsyncIterator()
    #expect(try await iterator.next()?.id == 1)
    await #expect(throws: (any Error).self) { _ = try await iterator.next() }
    #expect(try await iterator.next() == nil)
    #expect(try await face.value(.cacheFirst).id == 1)
  }

  /// The second request is not the one that was made before the first: the token may have expired since.
  @Test func secondRequestIsBuiltAnew() async throws {
    let other = try LoopbackServer()
    defer { other.stop() }
    other.countTeapots()
    let (base, token) = (Locked(server.baseURL), Locked("1"))
    let manager = NetworkManager(baseURL: { base.withLock { $0 } }, session: URLSession(configuration: .ephemeral))
    let cache = PrismResponseCache()
    let accessToken: @Sendable () -> String? = { token.withLock { $0 } }
    _ = try await manager.send(GetTeapot(), accessToken: accessToken, policy: .networkOnly, cache: cache)
    var values = manager.responses(GetTeapot(), accessToken: accessToken, cache: cache).makeAsyncIterator()
    _ = try await values.next()
    token.withLock { $0 = "2" }
    base.withLock { $0 = other.baseURL }
    #expect(try await values.next()?.id == 1)
    #expect(server.requests.map { $0.headers["Authorization"] } == ["Bearer 1"])
    #expect(other.requests.map { $0.headers["Authorization"] } == ["Bearer 2"])
  }

  @Test func secondRequestHasTheCurrentEndpoint() async throws {
    struct Request: PrismNetworkRequest {
      typealias Response = Teapot
      let server: LoopbackServer
      let tenant: Locked<String>
      var endpoint: LocalEndpoint { server.endpoint { $0.headers = ["X-Tenant": tenant.withLock { $0 }] } }
    }
    let request = Request(server: server, tenant: Locked("1"))
    let client = PrismNetworkAdapter.forTests()
    _ = try await client.request(on: request, policy: .networkOnly)
    var values = client.responses(on: request).makeAsyncIterator()
    _ = try await values.next()
    request.tenant.withLock { $0 = "2" }
    _ = try await values.next()
    #expect(server.requests.map { $0.headers["X-Tenant"] } == ["1", "2"])
    // It is stored for the tenant that it was sent for.
    #expect(try await client.request(on: request, policy: .cacheFirst).id == 2)
    request.tenant.withLock { $0 = "1" }
    #expect(try await client.request(on: request, policy: .cacheFirst).id == 1)
  }

  @Test(.timeLimit(.minutes(10)), arguments: Kind.allCases)
  func singleCacheThenNetworkValueIsRevalidated(_ kind: Kind) async throws {
    let face = face(kind)
    _ = try await face.value(.cacheFirst)
    #expect(try await face.value(.cacheThenNetwork).id == 1)
    await server.expectRequests(2)
    while try await face.value(.cacheFirst).id == 1 { await Task.yield() }
  }

  @Test(.timeLimit(.minutes(10)), arguments: Kind.allCases)
  func concurrentStaleReadsSendOneRequest(_ kind: Kind) async throws {
    let face = face(kind)
    _ = try await face.value(.staleWhileRevalidate)
    #expect(try await face.value(.staleWhileRevalidate).id == 1)
    #expect(server.requestCount == 1, "what is good is not renewed")
    face.age(.seconds(61))
    let gate = Gate()
    server.route("/item") { _ in
      gate.waitBlocking()
      return .json(Teapot(id: 2))
    }
    try await withThrowingTaskGroup { group in
      for _ in 1...1_000 { group.addTask { try await face.value(.staleWhileRevalidate).id } }
      for try await id in group { #expect(id == 1) }
    }
    await server.expectRequests(2)
    gate.open()
    while try await face.value(.staleWhileRevalidate).id == 1 { await Task.yield() }
    // From now on the fresh entry is served.
    try await withThrowingTaskGroup { group in
      for _ in 1...200 { group.addTask { try await face.value(.staleWhileRevalidate).id } }
      for try await id in group { #expect(id == 2) }
    }
    #expect(server.requestCount == 2)
  }

  @Test(.timeLimit(.minutes(10)), arguments: Kind.allCases)
  func cancelledCallerDoesNotEndRevalidation(_ kind: Kind) async throws {
    let face = face(kind)
    _ = try await face.value(.cacheFirst)
    face.age(.seconds(61))
    let task = Task { try await face.value(.staleWhileRevalidate).id }
    #expect(try await task.value == 1)
    task.cancel()
    while try await face.value(.staleWhileRevalidate).id == 1 { await Task.yield() }
    #expect(server.requestCount == 2)
  }

  @Test(.timeLimit(.minutes(10)), arguments: Kind.allCases)
  func failedRevalidationIsRetried(_ kind: Kind) async throws {
    let face = face(kind)
    _ = try await face.value(.cacheFirst)
    face.age(.seconds(61))
    server.route("/item", .text("no json"), .status(500), .json(Teapot(id: 9)))
    while try await face.value(.staleWhileRevalidate).id == 1 { await Task.yield() }
    #expect(server.requestCount == 4)
  }

  @Test func managerUsersDoNotShareEntries() async throws {
    server.route("/item") { .json(Teapot(id: $0.header("Authorization") == "Bearer anna" ? 1 : 2)) }
    let cache = PrismResponseCache()
    let manager = Wire.automatic.manager(server)
    for _ in 1...2 {
      for (name, id) in [("anna", 1), ("berta", 2)] {
        let teapot = try await manager.send(GetTeapot(), accessToken: { name }, policy: .cacheFirst, cache: cache)
        #expect(teapot.id == id)
      }
    }
    #expect(server.requestCount == 2)
  }

  @Test func sessionUsersDoNotShareEntries() async throws {
    let cache = PrismResponseCache()
    func manager(_ configure: (URLSessionConfiguration) -> Void) -> NetworkManager {
      Wire.automatic.manager(server, configure)
    }
    func cookie(_ value: String) throws -> HTTPCookie {
      try #require(HTTPCookie(properties: [.name: "sid", .value: value, .domain: "127.0.0.1", .path: "/"]))
    }
    let (anna, berta) = (try cookie("anna"), try cookie("berta"))
    let managers = [
      manager { $0.httpAdditionalHeaders = ["Authorization": "Bearer anna"] },
      manager { $0.httpAdditionalHeaders = ["Authorization": "Bearer berta"] },
      manager { $0.httpCookieStorage?.setCookie(anna) }, manager { $0.httpCookieStorage?.setCookie(berta) },
      manager { _ in },
      // The effects of a delegate or a custom session are unknown: nothing is shared.
      delegated(), delegated(), NetworkManager(baseURL: server.baseURL, session: OpaqueSession()),
      NetworkManager(baseURL: server.baseURL, session: OpaqueSession()),
    ]
    for _ in 1...2 {
      for (index, manager) in managers.enumerated() {
        let teapot = try await manager.send(GetTeapot(), policy: .cacheFirst, cache: cache)
        #expect(teapot.id == index + 1)
      }
    }
    // Sessions with equal configurations share entries.
    let other = manager { $0.httpAdditionalHeaders = ["Authorization": "Bearer anna"] }
    #expect(try await other.send(GetTeapot(), policy: .cacheFirst, cache: cache).id == 1)
  }

  private func delegated() -> NetworkManager {
    let session = URLSession(configuration: .ephemeral, delegate: RedirectDelegate { $0 }, delegateQueue: nil)
    return NetworkManager(baseURL: server.baseURL, session: session)
  }

  private struct OpaqueSession: URLSessionProtocol {
    func data(for request: URLRequest) async throws -> (Data, URLResponse) {
      try await URLSession(configuration: .ephemeral).loadThroughEKNetwork(request)
    }
  }

  /// The account changes after the first call of the closure.
  @Test func keyMatchesSentRequest() async throws {
    server.route("/item") { .json(Teapot(id: 0, name: $0.header("Authorization") ?? "")) }
    let calls = Locked(0)
    let changing: @Sendable () -> String? = {
      calls.withLock { calls in
        calls += 1
        return calls == 1 ? "anna" : "berta"
      }
    }
    let cache = PrismResponseCache()
    let manager = Wire.automatic.manager(server)
    let first = try await manager.send(GetTeapot(), accessToken: changing, policy: .cacheFirst, cache: cache)
    #expect(first.name == "Bearer anna")
    #expect(calls.withLock { $0 } == 1)
    let anna = try await manager.send(GetTeapot(), accessToken: { "anna" }, policy: .cacheFirst, cache: cache)
    #expect(anna.name == "Bearer anna")
    let berta = try await manager.send(GetTeapot(), accessToken: { "berta" }, policy: .cacheFirst, cache: cache)
    #expect(berta.name == "Bearer berta")
    #expect(server.requestCount == 2)
  }

  /// The refreshed token may belong to another account.
  @Test func refreshedTokenChangesKey() async throws {
    server.route("/item") {
      $0.header("Authorization") == "Bearer old"
        ? .status(401) : .json(Teapot(id: 0, name: $0.header("Authorization") ?? ""))
    }
    let tokens = TestTokens("old")
    let cache = PrismResponseCache()
    let manager = Wire.automatic.manager(server)
    manager.tokenRefresher = tokens
    let token: @Sendable () -> String? = { tokens.current }
    #expect(
      try await manager.send(GetTeapot(), accessToken: token, policy: .cacheFirst, cache: cache).name == "Bearer new")
    let count = server.requestCount
    #expect(
      try await manager.send(GetTeapot(), accessToken: token, policy: .cacheFirst, cache: cache).name == "Bearer new")
    #expect(server.requestCount == count)
    #expect(await cache.count == 1)
  }

  /// It may be older than the reason for clearing, or belong to a user who has signed out.
  @Test(arguments: [false, true]) func responseIsNotStoredIfTheCacheWasClearedMeanwhile(clears: Bool) async throws {
    let gate = Gate()
    let json = Data(#"{"id":1,"name":"teapot"}"#.utf8)
    server.route("/item", .streaming(contentLength: json.count, [.wait(gate), .send(json)]), .json(Teapot(id: 2)))
    let cache = PrismResponseCache()
    let manager = Wire.automatic.manager(server)
    async let first = manager.send(GetTeapot(), policy: .cacheFirst, cache: cache)
    await server.expectRequests(1)
    if clears { await cache.clear() } else { await cache.invalidate(key: "another") }
    gate.open()
    #expect(try await first.id == 1)
    #expect(await cache.count == (clears ? 0 : 1))
    for _ in 1...2 {
      #expect(try await manager.send(GetTeapot(), policy: .cacheFirst, cache: cache).id == (clears ? 2 : 1))
    }
    #expect(server.requestCount == (clears ? 2 : 1))
  }

  @Test func managerDoesNotStorePost() async throws {
    struct Make: NetworkRequest, Sendable {
      typealias Response = Teapot
      let path = "/item"
      let method = HTTPMethod.post
    }
    let cache = PrismResponseCache()
    let manager = Wire.automatic.manager(server)
    for id in 1...2 { #expect(try await manager.send(Make(), policy: .cacheFirst, cache: cache).id == id) }
    #expect(await cache.count == 0)
  }

  @Test func statusAndHeadersAreStored() async throws {
    struct Head: NetworkRequest, Sendable {
      typealias Response = StatusCodeResponse
      let path = "/item"
      let method = HTTPMethod.get
    }
    server.route("/item") { _ in .status(202, headers: ["X-A": "b"]) }
    let cache = PrismResponseCache()
    let manager = Wire.automatic.manager(server)
    for _ in 1...2 {
      let response = try await manager.send(Head(), policy: .cacheFirst, cache: cache)
      #expect(response.statusCode == 202 && response.headers["X-A"] == "b")
    }
    #expect(server.requestCount == 1)
  }
}
