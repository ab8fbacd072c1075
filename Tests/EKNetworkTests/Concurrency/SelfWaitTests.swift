import LoopbackServer
import Testing

@testable import EKNetwork

/// Nothing waits for itself, directly or through other work: refreshes, shared requests and flushes.
@Suite(.timeLimit(.minutes(10))) struct SelfWaitTests {
  private let server: LoopbackServer
  private let deduplicator = PrismRequestDeduplicator()
  private let manager: NetworkManager

  init() throws {
    server = try LoopbackServer()
    manager = Wire.automatic.manager(server)
    for path in ["/item", "/queued"] {
      server.route(path) { $0.headers["Authorization"] == "Bearer new" ? .json(Item(id: 1)) : .status(401) }
    }
  }

  private func reaches(_ count: Int, _ value: () -> Int) async {
    while value() < count { await Task.yield() }
  }

  private func isUnauthorized<Value>(_ result: Result<Value, any Error>?) -> Bool {
    result?.failure as? NetworkError == .unauthorized
  }

  // MARK: - Refreshes

  enum Order: CaseIterable, Sendable {
    /// The refresh joins a request, whose 401 comes then.
    case refreshWaitsFirst
    /// The request waits for the refresh, which then wants to join it.
    case requestWaitsFirst
    /// The refresh starts the request.
    case refreshStarts
  }

  /// The app renews its token before it expires, with the function that its refresher also uses.
  @Test(arguments: Order.allCases, [false, true])
  func refreshThroughDeduplicator(_ order: Order, inTask: Bool) async throws {
    let (server, manager, deduplicator) = (server, manager, deduplicator)
    let (response, refresh, isDown) = (Gate(), Gate(), Locked(true))
    server.route("/token") { _ in
      guard isDown.withLock({ $0 }) else { return .json(Item(id: 9, name: "new")) }
      response.waitBlocking()
      return .status(401)
    }
    let renew: @Sendable () async throws -> String = {
      try await deduplicator.deduplicate({ try await manager.send(ItemProbe(path: "/token")).name }, key: "token")
    }
    let tokens = TestTokens("old") { _ in
      await refresh.wait()
      return try await inTask ? Task { try await renew() }.value : renew()
    }
    manager.tokenRefresher = tokens
    defer { manager.tokenRefresher = nil }
    let send: @Sendable () async throws -> Item = { try await manager.send(ItemProbe()) { tokens.current } }

    async let sent = ending(send)
    await reaches(1) { manager.tokens.waiterCount }
    if order == .refreshStarts {
      refresh.open()
      response.open()
    } else {
      async let renewed = ending(renew)
      _ = await server.waitForRequests(count: 2)
      if order == .refreshWaitsFirst {
        refresh.open()
        await reaches(2) { deduplicator.waiterCount("token", String.self) }
        response.open()
      } else {
        response.open()
        await reaches(2) { manager.tokens.waiterCount }
        refresh.open()
      }
      #expect(isUnauthorized(await renewed))
    }
    #expect(isUnauthorized(await sent))
    #expect(!manager.tokens.isRefreshing)
    isDown.withLock { $0 = false }
    #expect(try await ending(send)?.get() == Item(id: 1))
  }

  @Test(arguments: Order.allCases)
  func refreshThatFlushesQueue(_ order: Order) async throws {
    let (server, manager) = (server, manager)
    let (response, refresh) = (Gate(), Gate())
    let tokens = Locked("old")
    server.route("/queued") { request in
      response.waitBlocking()
      return request.headers["Authorization"] == "Bearer new" ? .status(204) : .status(401)
    }
    let queue = try PrismOfflineQueue(
      directory: nil, delivery: .manager(manager) { tokens.withLock { $0 } }, autoFlush: false)
    try await queue.enqueue(URLRequest(url: server.url("/queued")))
    let provider = TestTokens("old") { _ in
      await refresh.wait()
      try await queue.flush()
      tokens.withLock { $0 = "new" }
      return "new"
    }
    manager.tokenRefresher = provider
    defer { manager.tokenRefresher = nil }
    let send: @Sendable () async throws -> Item = { try await manager.send(ItemProbe()) { tokens.withLock { $0 } } }

    async let sent = ending(send)
    await reaches(1) { manager.tokens.waiterCount }
    switch order {
    case .refreshStarts:
      refresh.open()
      response.open()
      // The delivery is part of the refresh, and cannot wait for it.
      #expect(isUnauthorized(await sent))
    case .refreshWaitsFirst:
      async let flushed = ending { try await queue.flush() }
      _ = await server.waitForRequests(count: 2)
      refresh.open()
      await reaches(2) { queue.flights.waiterCount(Void.self, of: 0) }
      response.open()
      #expect(isUnauthorized(await flushed))
      #expect(isUnauthorized(await sent))
      #expect(await queue.count == 1)
    case .requestWaitsFirst:
      response.open()
      async let flushed = ending { try await queue.flush() }
      await reaches(2) { manager.tokens.waiterCount }
      refresh.open()
      // The flush of the refresh returns at once, and the delivery gets its new token.
      #expect(await flushed?.failure == nil)
      #expect(try await sent?.get() == Item(id: 1))
      #expect(await queue.count == 0)
    }
    #expect(!manager.tokens.isRefreshing)
  }

  /// The body of the refresh's own request sends another request with the old token.
  @Test func bodyOfRefreshIsPartOfIt() async throws {
    let manager = manager
    server.route("/token") { _ in .json(Item(id: 9, name: "new")) }
    let tokens = TestTokens("old") { _ in
      let pieces = AsyncThrowingStream<Data, any Error> {
        _ = try await manager.send(ItemProbe()) { "old" }
        return nil
      }
      let body = RequestBody(sequence: pieces, contentType: "a/b")
      return try await manager.send(ItemProbe(path: "/token", method: .post, body: body)).name
    }
    manager.tokenRefresher = tokens
    defer { manager.tokenRefresher = nil }
    let sent = await ending { try await manager.send(ItemProbe()) { tokens.current } }
    #expect(isUnauthorized(sent))
  }

  // MARK: - Shared work

  /// Each waits for what the other does: the one that notices it runs the request itself.
  @Test(arguments: 2...4) func ringOfSharedRequests(_ count: Int) async throws {
    let deduplicator = deduplicator
    let begun = (0..<count).map { _ in Gate() }
    let runs = Locked(0)
    let results = await withTaskGroup(of: Result<Int, any Error>?.self) { group in
      for number in 0..<count {
        group.addTask {
          await ending {
            try await deduplicator.deduplicate(
              {
                begun[number].open()
                for gate in begun { await gate.wait() }
                let next = (number + 1) % count
                return try await deduplicator.deduplicate(
                  {
                    runs.withLock { $0 += 1 }
                    return 7
                  }, key: "\(next)")
              }, key: "\(number)")
          }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    for result in results { #expect(try result?.get() == 7) }
    #expect(runs.withLock { $0 } >= 1)
  }

  /// A session that sends what it is asked for with another manager, or the same one.
  private final class Forwarding: URLSessionProtocol, Sendable {
    let target = Locked<NetworkManager?>(nil)
    func data(for request: URLRequest) async throws -> (Data, URLResponse) {
      if let manager = target.withLock({ $0 }) {
        target.withLock { $0 = nil }
        let data = try await manager.send(Probe<Data>(path: "/item"))
        let head = HTTPURLResponse(
          url: request.url ?? URL(fileURLWithPath: "/"), statusCode: 200, httpVersion: nil,
          headerFields: ["Cache-Control": "max-age=60"])
        return (data, try #require(head))
      }
      let stub = StubSession()
      stub.on(.get, "/item", .data(Data("x".utf8), headers: ["Cache-Control": "max-age=60"]))
      return try await stub.data(for: request)
    }
  }

  @Test(arguments: [false, true]) func sessionThatComesBack(withCache: Bool) async throws {
    let session = Forwarding()
    let manager = NetworkManager(baseURL: { self.server.baseURL }, session: session)
    manager.sharesIdenticalRequests = !withCache
    if withCache { manager.httpCache = HTTPCache() }
    session.target.withLock { $0 = manager }
    let sent = await ending { try await manager.send(Probe<Data>(path: "/item")) }
    #expect(try sent?.get() == Data("x".utf8))
  }

  // MARK: - Handlers

  /// No lock is held while a handler is called.
  @Test func handlersMayComeBack() async throws {
    let manager = manager
    let calls = Locked(Set<String>())
    let comeBack: @Sendable (String) -> Void = { name in
      calls.withLock { _ = $0.insert(name) }
      (manager.middleware, manager.attemptMiddleware) = (manager.middleware, manager.attemptMiddleware)
      (manager.logHandler, manager.eventHandler) = (manager.logHandler, manager.eventHandler)
      manager.responseDecoderProvider = manager.responseDecoderProvider
      manager.tokenRefresher = manager.tokenRefresher
      manager.httpCache = manager.httpCache
    }
    manager.httpCache = HTTPCache()
    manager.eventHandler = { _ in comeBack("event") }
    manager.logHandler = { _ in comeBack("log") }
    manager.responseDecoderProvider = {
      comeBack("decoder")
      return JSONDecoder()
    }
    manager.attemptMiddleware = [
      RateLimiter(client: { _ in
        comeBack("client")
        return ""
      }),
      TracePropagator {
        comeBack("trace")
        return nil
      },
    ]
    manager.tokenRefresher = TestTokens("old") { _ in
      comeBack("refresher")
      return "new"
    }
    defer { manager.tokenRefresher = nil }
    let token: @Sendable () -> String? = {
      comeBack("token")
      return calls.withLock { $0.contains("refresher") } ? "new" : "old"
    }
    #expect(try await ending { try await manager.send(ItemProbe(), accessToken: token) }?.get() == Item(id: 1))
    #expect(calls.withLock { $0 } == ["event", "log", "decoder", "client", "trace", "refresher", "token"])
  }

  // MARK: - Middleware that sends requests

  /// Adds a token that it gets with the same manager.
  private func authorizing(_ manager: NetworkManager) -> Intercept {
    Intercept { request, _, next in
      guard request.url?.path == "/item" else { return try await next(request) }
      _ = try await manager.send(ItemProbe(path: "/auth"))
      return try await next(request)
    }
  }

  @Test(arguments: [false, true]) func requestInsideTrialIsPartOfIt(isAttempt: Bool) async throws {
    let now = Locked(Duration.zero)
    let breaker = CircuitBreaker(failures: 1, cooldown: .seconds(10)) { now.withLock { $0 } }
    let manager = manager
    let middleware: [any NetworkMiddleware] = [breaker, authorizing(manager)]
    if isAttempt { manager.attemptMiddleware = middleware } else { manager.middleware = middleware }
    server.route("/item") { _ in .json(Item(id: 1)) }
    server.route("/auth", .raw([.close]), .raw([.close]), .json(Item(id: 2)))
    let send: @Sendable () async throws -> Item = { try await manager.send(ItemProbe()) }
    for _ in 0..<2 {
      await #expect(throws: URLError.self) { try await send() }
      // The failed request inside a trial is that of the trial.
      let refusal = await #expect(throws: CircuitBreaker.OpenError.self) { try await send() }
      #expect(refusal?.retryAfter == .seconds(10))
      now.withLock { $0 += .seconds(10) }
    }
    #expect(try await ending(send)?.get() == Item(id: 1))
    #expect(try await ending(send)?.get() == Item(id: 1))
  }

  @Test(arguments: [false, true]) func requestInsideAdmittedOneDoesNotWait(isAttempt: Bool) async throws {
    let limiter = RateLimiter(RateLimitRules(maximumWait: .seconds(3_600)), clock: ManualClock().stopwatch())
    let manager = manager
    let middleware: [any NetworkMiddleware] = [limiter, authorizing(manager)]
    if isAttempt { manager.attemptMiddleware = middleware } else { manager.middleware = middleware }
    server.route("/item", .status(429), .json(Item(id: 1)))
    server.route("/auth") { _ in .json(Item(id: 2)) }
    await #expect(throws: HTTPError.self) { try await manager.send(ItemProbe()) }
    // One request is sent to see whether the limit is over, with what it needs.
    #expect(try await ending { try await manager.send(ItemProbe()) }?.get() == Item(id: 1))
    #expect(limiter.line.underWayCount == 0)
  }
}
