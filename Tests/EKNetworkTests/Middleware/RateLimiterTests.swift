import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

struct RateLimiterTests {
  private let server: LoopbackServer
  private let clock = ManualClock()

  init() throws {
    server = try LoopbackServer()
    server.route("/item") { _ in .json(Item(id: 1)) }
  }

  private func limiter(
    _ requests: Int? = nil, wait: Duration = .seconds(3_600), waiting: Int = 1_000,
    client: (@Sendable (URLRequest) -> String)? = nil
  ) -> RateLimiter {
    let rules = RateLimitRules(
      requests: requests, period: .seconds(1), maximumWait: wait, maximumWaiting: waiting)
    return RateLimiter(rules, clock: clock.stopwatch(), client: client)
  }

  /// Waits until `sent` requests have got their responses and `waiting` requests wait.
  private func settled(_ limiter: RateLimiter, sent: Int, waiting: Int) async {
    #expect(await server.waitForRequests(count: sent).count == sent)
    while limiter.line.waitingCount != waiting || limiter.line.underWayCount > 0 { await Task.yield() }
  }

  // MARK: - Own limit

  /// Of a hundred concurrent requests, ten are sent in each second.
  @Test(arguments: Wire.allCases)
  func concurrentRequestsAreSpreadOverTime(_ wire: Wire) async throws {
    let limiter = limiter(10)
    let manager = wire.manager(server)
    manager.attemptMiddleware = [limiter]
    try await withThrowingTaskGroup(of: Item.self) { group in
      for _ in 0..<100 { group.addTask { try await manager.send(ItemProbe()) } }
      for round in 1...10 {
        await settled(limiter, sent: 10 * round, waiting: 100 - 10 * round)
        guard round < 10 else { break }
        await clock.waitForSleepers()
        clock.advance(by: .seconds(1))
      }
      for try await item in group { #expect(item == Item(id: 1)) }
    }
    #expect(server.requestCount == 100)
    #expect(clock.sleeperCount == 0)
  }

  @Test func cancelledWaitEndsAtOnce() async throws {
    let limiter = limiter(1)
    let manager = Wire.automatic.manager(server)
    manager.attemptMiddleware = [limiter]
    #expect(try await manager.send(ItemProbe()) == Item(id: 1))
    let tasks = (0..<100).map { _ in Task { try await manager.send(ItemProbe()) } }
    while limiter.line.waitingCount < 100 { await Task.yield() }
    for task in tasks.dropFirst() { task.cancel() }
    for task in tasks.dropFirst() { await #expect(throws: CancellationError.self) { try await task.value } }
    #expect(limiter.line.waitingCount == 1)
    await clock.waitForSleepers()
    clock.advance(by: .seconds(1))
    #expect(try await tasks[0].value == Item(id: 1))
    #expect(server.requestCount == 2)
    #expect(clock.sleeperCount == 0)
  }

  /// Time passes while requests arrive, end and are cancelled.
  @Test func randomCancellationsLeaveNothingWaiting() async throws {
    let limiter = limiter(20)
    let sent = Locked(0)
    let next = NetworkMiddlewareNext { _ in
      sent.withLock { $0 += 1 }
      return NetworkMiddlewareResponse(statusCode: 200)
    }
    let request = URLRequest(url: server.baseURL)
    let tasks = (0..<500).map { _ in
      Task { _ = try await limiter.intercept(request, context: NetworkMiddlewareContext(), next: next) }
    }
    let time = Task { [clock] in
      while !Task.isCancelled {
        clock.advance(by: .milliseconds(100))
        await Task.yield()
      }
    }
    for task in tasks.shuffled().prefix(250) {
      task.cancel()
      await Task.yield()
    }
    var succeeded = 0
    for task in tasks {
      if case .success = await task.result { succeeded += 1 }
    }
    time.cancel()
    await time.value
    let seconds = Int(clock.now.offset.components.seconds)
    #expect(succeeded >= 250)
    #expect(sent.withLock { $0 } == succeeded)
    #expect(succeeded <= 20 * (seconds + 1))
    #expect(limiter.line.waitingCount == 0)
    #expect(limiter.line.underWayCount == 0)
    #expect(clock.sleeperCount == 0)
  }

  @Test func tooLongWaitIsRefused() async throws {
    let limiter = limiter(1, wait: .seconds(2))
    let manager = Wire.automatic.manager(server)
    manager.attemptMiddleware = [limiter]
    var probe = ItemProbe()
    probe.retryPolicy = RetryPolicy(maxRetryCount: 5, delay: 0)
    #expect(try await manager.send(probe) == Item(id: 1))
    let waiting = (0..<2).map { _ in Task { try await manager.send(ItemProbe()) } }
    while limiter.line.waitingCount < 2 { await Task.yield() }
    let error = await #expect(throws: RateLimiter.LimitError.self) { try await manager.send(probe) }
    #expect(error == RateLimiter.LimitError(host: "127.0.0.1", reason: .waitTooLong, retryAfter: .seconds(3)))
    for task in waiting { task.cancel() }
    for task in waiting { _ = await task.result }
    #expect(server.requestCount == 1)
  }

  /// Sends a request, as far as the limiter knows.
  private func pass(_ limiter: RateLimiter, report: RateLimitReport) async throws {
    let key = try key
    let generation = try #require(try await limiter.line.enter(key))
    limiter.line.leave(key, of: generation, report: report)
  }

  private var key: RateLimitLine.Key {
    get throws { RateLimitLine.Key(origin: try #require(Origin(server.baseURL)), client: nil) }
  }

  @Test func waitEndsWithTheTimeOfTheRequest() async throws {
    let limiter = limiter()
    let manager = Wire.automatic.manager(server)
    manager.attemptMiddleware = [CircuitBreaker(failures: 1), limiter]
    // After a refusal without a time, one request is sent, and the others wait for its response.
    try await pass(limiter, report: RateLimitReport(isRefusal: true))
    let trial = try #require(try await limiter.line.enter(key))
    @Sendable func send() async throws -> Item {
      var probe = ItemProbe()
      probe.totalTimeout = .seconds(60)
      return try await manager.send(probe)
    }
    let waiting = Task { try await send() }
    await clock.waitForSleepers(2)
    clock.advance(by: .seconds(60))
    let error = await #expect(throws: URLError.self) { try await waiting.value }
    #expect(error?.code == .timedOut && error?.failingURL == server.url("/item"))
    #expect(error?.localizedDescription.contains("rate limit of 127.0.0.1") == true)
    #expect(limiter.line.waitingCount == 0 && clock.sleeperCount == 0)
    // It says nothing about the server.
    limiter.line.leave(try key, of: trial, report: RateLimitReport())
    #expect(try await send() == Item(id: 1))
  }

  @Test(arguments: [false, true]) func waitThatWouldEndTooLateIsRefused(isAroundCalls: Bool) async throws {
    let limiter = limiter()
    let manager = Wire.automatic.manager(server)
    if isAroundCalls { manager.middleware = [limiter] } else { manager.attemptMiddleware = [limiter] }
    try await pass(limiter, report: RateLimitReport(pause: .seconds(30)))
    var probe = ItemProbe()
    probe.totalTimeout = .seconds(20)
    let error = await #expect(throws: RateLimiter.LimitError.self) { try await manager.send(probe) }
    #expect(error == RateLimiter.LimitError(host: "127.0.0.1", reason: .waitTooLong, retryAfter: .seconds(30)))
    #expect(server.requestCount == 0)
  }

  /// It is that of each attempt, and the next one has its own.
  @Test func timeLimitOfTheSessionRefusesNothing() async throws {
    let limiter = limiter()
    let manager = Wire.automatic.manager(server) { $0.timeoutIntervalForResource = 20 }
    manager.attemptMiddleware = [limiter]
    try await pass(limiter, report: RateLimitReport(pause: .seconds(30)))
    let waiting = Task { try await manager.send(ItemProbe()) }
    await clock.waitForSleepers()
    clock.advance(by: .seconds(30))
    #expect(try await waiting.value == Item(id: 1))
  }

  // MARK: - Limits of the server

  @Test(arguments: Wire.allCases)
  func pauseAppliesToItsOriginOnly(_ wire: Wire) async throws {
    server.route("/item", .status(429, headers: ["Retry-After": "20"]), .json(Item(id: 1)))
    let other = try LoopbackServer()
    defer { other.stop() }
    other.route("/item") { _ in .json(Item(id: 2)) }
    let limiter = limiter()
    let (manager, second) = (wire.manager(server), wire.manager(other))
    manager.attemptMiddleware = [limiter]
    second.attemptMiddleware = [limiter]
    await #expect(throws: HTTPError.self) { try await manager.send(ItemProbe()) }
    let tasks = (0..<50).map { _ in Task { try await manager.send(ItemProbe()) } }
    while limiter.line.waitingCount < 50 { await Task.yield() }
    #expect(try await second.send(ItemProbe()) == Item(id: 2))
    #expect(server.requestCount == 1)
    await clock.waitForSleepers()
    clock.advance(by: .seconds(20))
    for task in tasks { #expect(try await task.value == Item(id: 1)) }
    #expect(server.requestCount == 51)
  }

  @Test(arguments: Wire.allCases)
  func retryWaitsForPauseOfServer(_ wire: Wire) async throws {
    server.route("/item", .status(503, headers: ["Retry-After": "20"]), .json(Item(id: 1)))
    let limiter = limiter()
    let manager = wire.manager(server, clock: RecordingClock())
    manager.attemptMiddleware = [limiter]
    var probe = ItemProbe()
    probe.retryPolicy = RetryPolicy(maxRetryCount: 1, delay: 0)
    let task = Task { [probe] in try await manager.send(probe) }
    await clock.waitForSleepers()
    #expect(server.requestCount == 1)
    clock.advance(by: .seconds(20))
    #expect(try await task.value == Item(id: 1))
  }

  /// An upload or a long poll may be in progress for longer than anybody waits.
  @Test func requestInProgressDoesNotDelayOthersAfterPause() async throws {
    let mayRespond = Gate()
    let json = #"{"id":1,"name":"teapot"}"#
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: \(json.utf8.count)\r\n\r\n"
    server.route("/slow") { _ in .raw([.wait(mayRespond), .sendString(head + json)]) }
    server.route("/item", .status(429, headers: ["Retry-After": "20"]), .json(Item(id: 1)))
    let limiter = limiter()
    let manager = Wire.automatic.manager(server)
    manager.attemptMiddleware = [limiter]
    let slow = Task { try await manager.send(ItemProbe(path: "/slow")) }
    await server.expectRequests(1)
    await #expect(throws: HTTPError.self) { try await manager.send(ItemProbe()) }
    let tasks = (0..<3).map { _ in Task { try await manager.send(ItemProbe()) } }
    while limiter.line.waitingCount < 3 { await Task.yield() }
    await clock.waitForSleepers()
    clock.advance(by: .seconds(20))
    for task in tasks { #expect(try await task.value == Item(id: 1)) }
    mayRespond.open()
    #expect(try await slow.value == Item(id: 1))
    #expect(limiter.line.keyCount == 0)
  }

  @Test func longPauseIsBounded() async throws {
    server.route("/item", .status(429, headers: ["Retry-After": "999999999"]), .json(Item(id: 1)))
    let manager = Wire.automatic.manager(server)
    let limiter = limiter(wait: .seconds(60))
    manager.attemptMiddleware = [limiter]
    await #expect(throws: HTTPError.self) { try await manager.send(ItemProbe()) }
    let error = await #expect(throws: RateLimiter.LimitError.self) { try await manager.send(ItemProbe()) }
    #expect(error?.retryAfter == .seconds(300))
    clock.advance(by: .seconds(300))
    #expect(try await manager.send(ItemProbe()) == Item(id: 1))
    #expect(limiter.line.keyCount == 0)
  }

  /// Each response reports what is left, and no request is sent that the server would refuse.
  @Test(arguments: Wire.allCases)
  func quotaIsNeverExceeded(_ wire: Wire) async throws {
    let left = Locked(7)
    server.route("/item") { _ in
      let remaining = left.withLock { left in
        left -= 1
        return left
      }
      guard remaining >= 0 else { return .status(429) }
      return .json(
        Item(id: 1), headers: ["RateLimit": "\"q\";r=\(remaining);t=30", "RateLimit-Policy": "\"q\";q=7;w=30"])
    }
    let limiter = limiter()
    let manager = wire.manager(server)
    manager.attemptMiddleware = [limiter]
    #expect(try await manager.send(ItemProbe()) == Item(id: 1))
    try await withThrowingTaskGroup(of: Item.self) { group in
      for _ in 0..<20 { group.addTask { try await manager.send(ItemProbe()) } }
      for round in 1...2 {
        await settled(limiter, sent: 7 * round, waiting: 21 - 7 * round)
        await clock.waitForSleepers()
        left.withLock { $0 = 7 }
        clock.advance(by: .seconds(30))
      }
      for try await item in group { #expect(item == Item(id: 1)) }
    }
    #expect(server.requestCount == 21)
  }

  /// Those of a response that a cache policy has stored are about the time at which it was received.
  @Test func limitsOfStoredResponseAreNotAppliedAgain() async throws {
    server.route("/item") { _ in .json(Item(id: 1), headers: ["RateLimit": "\"q\";r=0;t=30"]) }
    server.route("/other") { _ in .json(Item(id: 2)) }
    let adapter = PrismNetworkAdapter.forTests()
    adapter.attemptMiddleware = [limiter(wait: .zero)]
    let kept = LocalRequest<Item>(server.endpoint { $0.cacheInterval = 60 })
    let other = LocalRequest<Item>(server.endpoint { $0.path = "/other" })
    #expect(try await adapter.request(on: kept) == Item(id: 1))
    await #expect(throws: PrismNetworkError.self) { _ = try await adapter.request(on: other) }
    clock.advance(by: .seconds(30))
    for _ in 0..<2 { #expect(try await adapter.request(on: kept) == Item(id: 1)) }
    #expect(try await adapter.request(on: other) == Item(id: 2))
    #expect(server.requestCount == 2)
  }

  // MARK: - Scope

  @Test(arguments: Wire.allCases)
  func redirectCountsTowardsItsTarget(_ wire: Wire) async throws {
    let other = try LoopbackServer()
    defer { other.stop() }
    other.route("/item") { _ in .status(429, headers: ["Retry-After": "20"]) }
    server.route("/away", .redirect(to: other.url("/item").absoluteString))
    let limiter = limiter(wait: .zero)
    let manager = wire.manager(server)
    manager.attemptMiddleware = [limiter]
    await #expect(throws: HTTPError.self) { try await manager.send(ItemProbe(path: "/away")) }
    // The server that redirected has not refused anything.
    #expect(try await manager.send(ItemProbe()) == Item(id: 1))
    server.route("/away", .redirect(to: other.url("/item").absoluteString))
    await #expect(throws: RateLimiter.LimitError.self) { try await manager.send(ItemProbe(path: "/away")) }
    #expect(other.requestCount == 1)
  }

  @Test func clientsHaveSeparateLimits() async throws {
    let limiter = limiter(1, wait: .zero) { $0.value(forHTTPHeaderField: "X-User") ?? "" }
    let manager = Wire.automatic.manager(server)
    manager.attemptMiddleware = [limiter]
    for user in ["a", "b"] {
      let probe = ItemProbe(headers: ["X-User": user])
      #expect(try await manager.send(probe) == Item(id: 1))
      await #expect(throws: RateLimiter.LimitError.self) { try await manager.send(probe) }
    }
  }

  @Test func memoryIsBounded() async throws {
    let limiter = limiter(1, wait: .zero)
    let next = NetworkMiddlewareNext { _ in NetworkMiddlewareResponse(statusCode: 200) }
    let send = { (number: Int) async throws -> Void in
      let url = try #require(URL(string: "http://host\(number)/"))
      _ = try await limiter.intercept(URLRequest(url: url), context: NetworkMiddlewareContext(), next: next)
    }
    for number in 0..<1_500 { try await send(number) }
    #expect(limiter.line.keyCount == RateLimitLine.maximumKeys)
    // Tracked hosts stay limited, and are dropped once their period is over.
    await #expect(throws: RateLimiter.LimitError.self) { try await send(0) }
    clock.advance(by: .seconds(1))
    try await send(2_000)
    #expect(limiter.line.keyCount == 1)
  }

  @Test func endpointsAreLimited() async throws {
    let adapter = PrismNetworkAdapter(configuration: .ephemeral)
    adapter.attemptMiddleware = [limiter(1, wait: .zero)]
    let request = LocalRequest<Item>(server.endpoint())
    #expect(try await adapter.request(on: request, with: nil) == Item(id: 1))
    let error = await #expect(throws: PrismNetworkFailure.self) {
      try await PrismNetworkFailure.detailed { try await adapter.request(on: request, with: nil) }
    }
    #expect(error?.underlyingError is RateLimiter.LimitError)
    #expect(server.requestCount == 1)
  }
}
