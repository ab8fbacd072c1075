import LoopbackServer
import Testing

@testable import EKNetwork

/// Middleware that adds the credentials of whoever is signed in, and the responses stored by the policies of a client.
struct MiddlewareCacheTests {
  enum Kind: CaseIterable { case adapter, manager }

  /// A client with middleware around calls or attempts.
  struct Client: Sendable {
    let adapter: PrismNetworkAdapter
    let manager: NetworkManager
    let value: @Sendable (PrismCachePolicy) async throws -> Int
    let values: @Sendable () -> PrismResponses<Teapot>
  }

  struct GetTeapot: NetworkRequest, Sendable {
    typealias Response = Teapot
    let path = "/item"
    let method = HTTPMethod.get
  }

  private static let users = ["alice": 1, "bob": 2, "": 0]
  private let server: LoopbackServer
  private let user = Locked("alice")

  init() throws {
    server = try LoopbackServer()
    server.route("/item") { request in
      .json(Teapot(id: Self.users[request.headers["X-Session-Token"] ?? ""] ?? 9))
    }
  }

  private func client(_ kind: Kind, isAttempt: Bool, _ others: [any NetworkMiddleware] = []) -> Client {
    let signing = Intercept { [user] request, _, next in
      var request = request
      let name = user.withLock { $0 }
      if !name.isEmpty { request.setValue(name, forHTTPHeaderField: "X-Session-Token") }
      return try await next(request)
    }
    let (adapter, manager) = (PrismNetworkAdapter.forTests(), Wire.automatic.manager(server))
    if isAttempt {
      (adapter.attemptMiddleware, manager.attemptMiddleware) = (others + [signing], others + [signing])
    } else {
      (adapter.middleware, manager.middleware) = (others + [signing], others + [signing])
    }
    let (request, cache) = (server.teapot(), PrismResponseCache())
    return switch kind {
    case .adapter:
      Client(
        adapter: adapter, manager: manager, value: { try await adapter.request(on: request, policy: $0).id },
        values: { adapter.responses(on: request) })
    case .manager:
      Client(
        adapter: adapter, manager: manager,
        value: { try await manager.send(GetTeapot(), policy: $0, cache: cache).id },
        values: { manager.responses(GetTeapot(), cache: cache) })
    }
  }

  private func signIn(_ name: String) { user.withLock { $0 = name } }

  @Test(arguments: Kind.allCases, [false, true])
  func storedResponsesAreThoseOfTheUserSignedIn(_ kind: Kind, isAttempt: Bool) async throws {
    let client = client(kind, isAttempt: isAttempt)
    for policy in [PrismCachePolicy.cacheFirst, .staleWhileRevalidate, .cacheFirst] {
      for (name, id) in Self.users {
        signIn(name)
        #expect(try await client.value(policy) == id, "\(policy) \(name)")
      }
    }
    // Each user's was requested once.
    #expect(server.requestCount == 3)
    for (name, id) in Self.users {
      signIn(name)
      var ids: [Int] = []
      for try await teapot in client.values() { ids.append(teapot.id) }
      #expect(ids == [id, id])
      #expect(try await client.value(.networkOnly) == id)
    }
    #expect(server.requestCount == 9)
  }

  /// What is stored is the response before middleware, which receives a stored one as well.
  @Test(arguments: Kind.allCases, [false, true])
  func middlewareChangesStoredResponsesOnce(_ kind: Kind, isAttempt: Bool) async throws {
    let adding = Intercept { request, _, next in
      var response = try await next(request)
      let teapot = try JSONDecoder().decode(Teapot.self, from: try await response.data())
      let data = try JSONEncoder().encode(Teapot(id: teapot.id + 100))
      response = response.replacingBody(with: data)
      response.headers["Content-Length"] = "\(data.count)"
      return response
    }
    let client = client(kind, isAttempt: isAttempt, [adding])
    for _ in 0..<3 { #expect(try await client.value(.cacheFirst) == 101) }
    #expect(server.requestCount == 1)
  }

  @Test(arguments: [false, true], [false, true])
  func storedResponsesOfAnAdapterAreRemoved(hasMiddleware: Bool, isAttempt: Bool) async throws {
    let client = hasMiddleware ? client(.adapter, isAttempt: isAttempt).adapter : PrismNetworkAdapter.forTests()
    let request = server.teapot { $0.cacheInterval = 60 }
    func stored() async -> Int? { try? await client.cachedResponse(on: request).id }
    for name in ["alice", "bob"] {
      signIn(name)
      _ = try await client.request(on: request)
    }
    let bob = hasMiddleware ? 2 : 0
    #expect(await stored() == bob)
    try await client.removeCachedResponse(on: request)
    #expect(await stored() == nil)
    signIn("alice")
    #expect(await stored() == (hasMiddleware ? 1 : nil))
    client.removeAllCachedResponses()
    #expect(await stored() == nil)
    // Looking up and removing send nothing.
    #expect(server.requestCount == (hasMiddleware ? 2 : 1))
    #expect(try await client.request(on: request).id == (hasMiddleware ? 1 : 0))
    #expect(await stored() == (hasMiddleware ? 1 : 0))
  }

  // MARK: - Without a request

  @Test(arguments: [false, true]) func storedResponsesDoNotCountTowardsRateLimit(isAttempt: Bool) async throws {
    let rules = RateLimitRules(requests: 1, period: .seconds(1), maximumWait: .zero)
    let limiter = RateLimiter(rules, clock: ManualClock().stopwatch())
    let adapter = client(.adapter, isAttempt: isAttempt, [limiter]).adapter
    let request = server.teapot { $0.cacheInterval = 60 }
    #expect(try await adapter.request(on: request).id == 1)
    await #expect(throws: PrismNetworkError.self) { _ = try await adapter.request(on: request, policy: .networkOnly) }
    for _ in 0..<2 { #expect(try await adapter.cachedResponse(on: request).id == 1) }
    try await adapter.removeCachedResponse(on: request)
    await #expect(throws: PrismNetworkError.noCache) { _ = try await adapter.cachedResponse(on: request) }
    // There is nothing to remove, which is no error.
    try await adapter.removeCachedResponse(on: request)
    #expect(server.requestCount == 1)
  }

  @Test func storedResponsesAreUsedWhileCircuitIsOpen() async throws {
    server.route("/down") { _ in .status(500) }
    let adapter = client(.adapter, isAttempt: true, [CircuitBreaker(failures: 1)]).adapter
    let (request, failing) = (server.teapot { $0.cacheInterval = 60 }, server.teapot { $0.path = "/down" })
    #expect(try await adapter.request(on: request).id == 1)
    await #expect(throws: PrismNetworkError.serverError) { _ = try await adapter.request(on: failing) }
    await #expect(throws: PrismNetworkError.self) { _ = try await adapter.request(on: request, policy: .networkOnly) }
    #expect(try await adapter.cachedResponse(on: request).id == 1)
    try await adapter.removeCachedResponse(on: request)
    await #expect(throws: PrismNetworkError.noCache) { _ = try await adapter.cachedResponse(on: request) }
    #expect(server.requestCount == 2)
  }

  /// Without the credentials that middleware adds, it is not known whose response is to be removed.
  @Test(arguments: [false, true]) func removalThrowsErrorOfMiddleware(isAttempt: Bool) async throws {
    let isOffline = Locked(false)
    let renewing = Intercept { request, _, next in
      if isOffline.withLock({ $0 }) { throw URLError(.notConnectedToInternet) }
      return try await next(request)
    }
    let adapter = client(.adapter, isAttempt: isAttempt, [renewing]).adapter
    let request = server.teapot { $0.cacheInterval = 60 }
    #expect(try await adapter.request(on: request).id == 1)
    isOffline.withLock { $0 = true }
    await #expect(throws: PrismNetworkError.noConnectivity) { try await adapter.removeCachedResponse(on: request) }
    isOffline.withLock { $0 = false }
    #expect(try await adapter.cachedResponse(on: request).id == 1)
    try await adapter.removeCachedResponse(on: request)
    await #expect(throws: PrismNetworkError.noCache) { _ = try await adapter.cachedResponse(on: request) }
  }
}
