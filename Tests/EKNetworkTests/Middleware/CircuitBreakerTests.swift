import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

struct CircuitBreakerTests {
  private let start = Duration.seconds(100)

  // MARK: - State

  @Test func onlyConsecutiveFailuresOpenCircuit() {
    var circuit = CircuitState(threshold: 3, cooldown: .seconds(10))
    for _ in 0..<10 {
      circuit.failed(at: start)
      circuit.failed(at: start)
      #expect(circuit.arrived(at: start, trial: 1) == .go)
      circuit.succeeded()
      #expect(circuit.isUnused)
    }
    for _ in 0..<3 { circuit.failed(at: start) }
    #expect(circuit.arrived(at: start + .seconds(4), trial: 1) == .refuse(.seconds(6)))
  }

  @Test func oneTrialIsAllowedAfterCooldown() {
    var circuit = CircuitState(threshold: 1, cooldown: .seconds(10))
    circuit.failed(at: start)
    let later = start + .seconds(10)
    #expect(circuit.arrived(at: later, trial: 1) == .tryOut)
    #expect(circuit.arrived(at: later, trial: 2) == .refuse(.zero))
    circuit.failed(trial: 1, at: later)
    #expect(circuit.arrived(at: later, trial: 3) == .refuse(.seconds(10)))
    #expect(circuit.arrived(at: later + .seconds(10), trial: 4) == .tryOut)
    // After a cancelled trial, the next request is the trial.
    circuit.abandoned(trial: 4, at: later + .seconds(11))
    #expect(circuit.arrived(at: later + .seconds(11), trial: 5) == .tryOut)
    circuit.succeeded()
    #expect(circuit.arrived(at: later, trial: 6) == .go)
    #expect(circuit.isUnused)
  }

  @Test func earlierRequestsDoNotProlongCooldown() {
    var circuit = CircuitState(threshold: 1, cooldown: .seconds(10))
    circuit.failed(at: start)
    circuit.failed(at: start + .seconds(9))
    circuit.abandoned(at: start + .seconds(9))
    #expect(circuit.arrived(at: start + .seconds(9), trial: 1) == .refuse(.seconds(1)))
    // Nor does its result end the trial of another request.
    let later = start + .seconds(10)
    #expect(circuit.arrived(at: later, trial: 2) == .tryOut)
    circuit.abandoned(at: later)
    circuit.failed(at: later)
    circuit.failed(trial: 1, at: later)
    #expect(circuit.arrived(at: later, trial: 3) == .refuse(.zero))
  }

  @Test func sharedFailureCountsOnce() {
    var circuit = CircuitState(threshold: 3, cooldown: .seconds(10))
    for flight in [1, 1, 2, 1, 2] { circuit.failed(flight: flight, at: start) }
    #expect(circuit.arrived(at: start, trial: 1) == .go)
    circuit.failed(flight: 3, at: start)
    // The trial may have joined a request that was sent before the circuit opened.
    let later = start + .seconds(10)
    #expect(circuit.arrived(at: later, trial: 2) == .tryOut)
    circuit.failed(trial: 2, flight: 3, at: later)
    #expect(circuit.arrived(at: later, trial: 3) == .refuse(.seconds(10)))
  }

  // MARK: - Many origins

  private func fail(_ host: String, _ breaker: CircuitBreaker) async throws {
    let request = URLRequest(url: try #require(URL(string: "http://\(host)/")))
    let next = NetworkMiddlewareNext { _ in NetworkMiddlewareResponse(statusCode: 500) }
    _ = try await breaker.intercept(request, context: NetworkMiddlewareContext(), next: next)
  }

  @Test func newOriginIsTrackedAfterManyOthers() async throws {
    let breaker = CircuitBreaker(failures: 3)
    for number in 0..<10_000 { try await fail("host-\(number).example", breaker) }
    for _ in 0..<3 { try await fail("another.example", breaker) }
    await #expect(throws: CircuitBreaker.OpenError.self) { try await fail("another.example", breaker) }
  }

  /// An open circuit whose cooldown has ended is removed before one that still counts.
  @Test func expiredCircuitsAreRemovedFirst() async throws {
    let passed = Locked(Duration.zero)
    let breaker = CircuitBreaker(failures: 2, cooldown: .seconds(30)) { passed.withLock { $0 } }
    try await fail("counts.example", breaker)
    for number in 0..<9_999 {
      for _ in 0..<2 { try await fail("host-\(number).example", breaker) }
    }
    passed.withLock { $0 = .seconds(30) }
    try await fail("another.example", breaker)
    for host in ["counts.example", "another.example"] {
      try await fail(host, breaker)
      await #expect(throws: CircuitBreaker.OpenError.self) { try await fail(host, breaker) }
    }
  }

  // MARK: - On the wire

  @Test(arguments: Wire.allCases)
  func failingServerIsNotContacted(_ wire: Wire) async throws {
    let server = try LoopbackServer()
    defer { server.stop() }
    server.route("/item", .status(500), .status(503), .json(Item(id: 1)))
    server.route("/well") { _ in .json(Item(id: 2)) }
    let other = try LoopbackServer()
    defer { other.stop() }
    other.route("/item") { _ in .json(Item(id: 3)) }
    let passed = Locked(Duration.zero)
    let breaker = CircuitBreaker(failures: 2, cooldown: .seconds(30)) { passed.withLock { $0 } }
    let manager = wire.manager(server)
    manager.attemptMiddleware = [breaker]
    var probe = ItemProbe()
    probe.retryPolicy = RetryPolicy(maxRetryCount: 5, delay: 0)
    // Two attempts fail; the third is refused, and not retried.
    let error = await #expect(throws: CircuitBreaker.OpenError.self) { try await manager.send(probe) }
    #expect(error?.host == "127.0.0.1")
    #expect(error?.retryAfter == .seconds(30))
    #expect(server.requestCount == 2)
    await #expect(throws: CircuitBreaker.OpenError.self) { try await manager.send(ItemProbe(path: "/well")) }
    #expect(server.requestCount == 2)
    // Another origin has a circuit of its own.
    let second = wire.manager(other)
    second.attemptMiddleware = [breaker]
    #expect(try await second.send(ItemProbe()) == Item(id: 3))
    passed.withLock { $0 = .seconds(30) }
    #expect(try await manager.send(probe) == Item(id: 1))
    #expect(try await manager.send(ItemProbe(path: "/well")) == Item(id: 2))
  }

  @Test func failureOfCollapsedRequestsCountsOnce() async throws {
    let bench = try CacheBench()
    bench.manager.attemptMiddleware = [CircuitBreaker(failures: 2)]
    try await bench.failTogether(4)
    await #expect(throws: URLError.self) { try await bench.send() }
    await #expect(throws: CircuitBreaker.OpenError.self) { try await bench.send() }
  }

  /// A response whose status is accepted is no error of the call.
  @Test(.timeLimit(.minutes(5))) func sharedResponseCountsOnce() async throws {
    let server = try LoopbackServer()
    defer { server.stop() }
    let gate = Gate()
    server.route("/item") { _ in
      gate.waitBlocking()
      return .status(503)
    }
    let manager = Wire.automatic.manager(server)
    manager.sharesIdenticalRequests = true
    manager.middleware = [CircuitBreaker(failures: 2)]
    let calls = (0..<4).map { _ in Task { try await manager.response(to: ItemProbe()).statusCode } }
    while manager.sharedExchanges.waiterCount(CollectedResponse.self) < 4 { await Task.yield() }
    gate.open()
    for call in calls { #expect(try await call.value == 503) }
    #expect(try await manager.response(to: ItemProbe()).statusCode == 503)
    await #expect(throws: CircuitBreaker.OpenError.self) { try await manager.response(to: ItemProbe()) }
    #expect(server.requestCount == 2)
  }

  /// Nor does the failure count once for each caller if a stale response hides it.
  @Test(.timeLimit(.minutes(5))) func sharedFailureBehindAStaleResponseCountsOnce() async throws {
    let bench = try CacheBench()
    let gate = Gate()
    bench.server.route("/a") { request in
      guard request.headers["X-Down"] != nil else {
        return .text("1", headers: ["Cache-Control": "max-age=5, stale-if-error=60"])
      }
      gate.waitBlocking()
      return .status(503)
    }
    let manager = bench.manager
    _ = try await manager.send(CacheProbe())
    bench.date.advance(by: 10)
    manager.sharesIdenticalRequests = true
    manager.middleware = [CircuitBreaker(failures: 2)]
    let down = ["X-Down": "1"]
    let calls = (0..<4).map { _ in Task { try await manager.send(CacheProbe(headers: down)).text } }
    while manager.sharedExchanges.waiterCount(CollectedResponse.self) < 4 { await Task.yield() }
    gate.open()
    for call in calls { #expect(try await call.value == "1") }
    #expect(try await manager.send(CacheProbe(headers: down)).text == "1")
    await #expect(throws: CircuitBreaker.OpenError.self) { try await manager.send(CacheProbe(headers: down)) }
    #expect(bench.server.requestCount == 3)
  }

  @Test func cachedResponseDoesNotResetFailures() async throws {
    let server = try LoopbackServer()
    defer { server.stop() }
    server.route("/a") { _ in .text("a", headers: ["Cache-Control": "max-age=60"]) }
    server.route("/down") { _ in .status(500) }
    let manager = Wire.automatic.manager(server)
    manager.httpCache = HTTPCache()
    manager.attemptMiddleware = [CircuitBreaker(failures: 2)]
    _ = try await manager.send(CacheProbe())
    for _ in 0..<2 {
      await #expect(throws: HTTPError.self) { try await manager.send(CacheProbe(path: "/down")) }
      // Served from the cache unless the circuit is open.
      _ = try? await manager.send(CacheProbe())
    }
    await #expect(throws: CircuitBreaker.OpenError.self) { try await manager.send(CacheProbe(path: "/down")) }
    #expect(server.requestCount == 3)
  }

  /// Nor is a response that a cache policy has stored one of the server, for which it would also end a trial.
  @Test func responseStoredByPolicyIsNotSuccess() async throws {
    let server = try LoopbackServer()
    defer { server.stop() }
    server.route("/kept") { _ in .json(Teapot(id: 1)) }
    server.route("/down") { _ in .status(500) }
    let passed = Locked(Duration.zero)
    let adapter = PrismNetworkAdapter.forTests()
    adapter.attemptMiddleware = [
      CircuitBreaker(failures: 2, cooldown: .seconds(30)) { passed.withLock { $0 } }
    ]
    let kept = server.teapot {
      $0.path = "/kept"
      $0.cacheInterval = 60
    }
    let failing = server.teapot { $0.path = "/down" }
    for _ in 0..<2 {
      // The second one from the store.
      #expect(try await adapter.request(on: kept).id == 1)
      await #expect(throws: PrismNetworkError.serverError) { _ = try await adapter.request(on: failing) }
    }
    #expect(server.requestCount == 3)
    passed.withLock { $0 = .seconds(30) }
    // In the place of the trial, which the next request is then.
    #expect(try await adapter.request(on: kept).id == 1)
    await #expect(throws: PrismNetworkError.serverError) { _ = try await adapter.request(on: failing) }
    let failure = await #expect(throws: PrismNetworkFailure.self) {
      try await PrismNetworkFailure.detailed { try await adapter.request(on: failing) }
    }
    #expect(failure?.underlyingError is CircuitBreaker.OpenError)
    #expect(server.requestCount == 4)
  }

  @Test func clientErrorsDoNotOpenCircuit() async throws {
    let server = try LoopbackServer()
    defer { server.stop() }
    server.route("/item") { _ in .status(404) }
    let manager = Wire.automatic.manager(server)
    manager.attemptMiddleware = [CircuitBreaker(failures: 1)]
    for _ in 0..<3 { await #expect(throws: HTTPError.self) { try await manager.send(ItemProbe()) } }
    manager.httpCache = HTTPCache()
    await #expect(throws: URLError.self) { try await manager.send(CacheProbe(cacheMode: .onlyIfCached)) }
    await #expect(throws: HTTPError.self) {
      try await manager.send(CacheProbe(headers: ["Cache-Control": "only-if-cached"]))
    }
    manager.httpCache = nil
    let stalled = Gate()
    server.route("/stall") { _ in .raw([.open(stalled), .stall]) }
    let task = Task { try await manager.send(ItemProbe(path: "/stall")) }
    #expect(await stalled.wait())
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    await #expect(throws: HTTPError.self) { try await manager.send(ItemProbe()) }
  }
}
