import LoopbackServer
import Testing

@testable import EKNetwork

struct RetryOnTheWireTests {
  private let server: LoopbackServer
  private let clock = RecordingClock()

  init() throws { server = try LoopbackServer() }

  @Test(arguments: Wire.allCases)
  func failuresAreRetriedUntilSuccess(_ wire: Wire) async throws {
    let cutOff = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n12"
    server.route("GET", "/item", .status(500), .raw(cutOff), .status(404), .json(Item(id: 4)))
    let request = ItemProbe(retryPolicy: RetryPolicy(maxRetryCount: 5, delay: 2))
    #expect(try await wire.manager(server, clock: clock).send(request) == Item(id: 4))
    #expect(clock.sleeps == [.seconds(2), .seconds(2), .seconds(2)])
    #expect(server.requestCount == 4)
  }

  @Test(arguments: Wire.allCases)
  func lastErrorIsThrown(_ wire: Wire) async throws {
    server.route("GET", "/item", .status(500), .status(502), .text("gone", status: 503, headers: ["X-A": "b"]))
    let request = ItemProbe(retryPolicy: RetryPolicy(maxRetryCount: 2, delay: 0))
    let error = await #expect(throws: HTTPError.self) {
      _ = try await wire.manager(server, clock: clock).send(request)
    }
    #expect(error?.statusCode == 503)
    #expect(error?.data == Data("gone".utf8))
    #expect(error?.headers["X-A"] == "b")
    #expect(server.requestCount == 3)
  }

  @Test func retryAfterLengthensDelayUpToCap() async throws {
    server.route(
      "GET", "/item", .status(503, headers: ["Retry-After": "7"]), .status(503, headers: ["Retry-After": "1"]),
      .status(503, headers: ["Retry-After": "100000"]), .status(503, headers: ["Retry-After": "soon"]),
      .json(Item(id: 1)))
    let request = ItemProbe(retryPolicy: RetryPolicy(maxRetryCount: 9, delay: 2))
    _ = try await Wire.automatic.manager(server, clock: clock).send(request)
    #expect(clock.sleeps == [.seconds(7), .seconds(2), .seconds(60), .seconds(2)])
  }

  @Test func requestMayForbidRetries() async throws {
    struct Final: NonRetriableError {}
    server.route("/item") { _ in .status(500) }
    let policy = RetryPolicy(maxRetryCount: 5, delay: 0)
    let manager = Wire.automatic.manager(server, clock: clock)
    for request in [
      ItemProbe(retryPolicy: policy, allowsRetry: false),
      ItemProbe(retryPolicy: policy, errorDecoder: { _ in Final() }),
      ItemProbe(retryPolicy: RetryPolicy(maxRetryCount: 5, delay: 0, shouldRetry: { _ in false })),
    ] {
      server.reset()
      await #expect(throws: (any Error).self) { _ = try await manager.send(request) }
      #expect(server.requestCount == 1)
    }
  }

  @Test func cancellationEndsRetryDelay() async throws {
    server.route("/item") { _ in .status(500) }
    let stopped = StoppedClock()
    let manager = Wire.automatic.manager(server, clock: stopped)
    let task = Task { try await manager.send(ItemProbe(retryPolicy: RetryPolicy(maxRetryCount: 5, delay: 3_600))) }
    for await _ in stopped.isSleeping.stream {}
    task.cancel()
    await #expect(throws: CancellationError.self) { _ = try await task.value }
    #expect(server.requestCount == 1)
  }

  @Test func cancellationIsNeverRetried() async throws {
    server.route("/item") { _ in .raw([.stall]) }
    let manager = Wire.automatic.manager(server, clock: clock)
    let policy = RetryPolicy(maxRetryCount: 5, delay: 0, shouldRetry: { _ in true })
    let task = Task { try await manager.send(ItemProbe(retryPolicy: policy)) }
    await server.expectRequests(1, path: "/item")
    task.cancel()
    await #expect(throws: CancellationError.self) { _ = try await task.value }
    #expect(server.requestCount == 1)
    #expect(clock.sleeps.isEmpty)
  }

  @Test func consumedStreamFailsWithOriginalError() async throws {
    server.route("/item") { _ in .status(500) }
    let body = RequestBody(stream: InputStream(data: Data(count: 10)), contentType: "text/x")
    let request = ItemProbe(method: .post, body: body, retryPolicy: RetryPolicy(maxRetryCount: 5, delay: 1))
    let error = await #expect(throws: HTTPError.self) {
      _ = try await Wire.automatic.manager(server, clock: clock).send(request)
    }
    #expect(error?.statusCode == 500)
    #expect(clock.sleeps.isEmpty)
    #expect(server.requestCount == 1)
  }

  @Test func recreatedStreamBodyIsRetried() async throws {
    struct Fresh: NetworkRequest {
      typealias Response = Item
      let path = "/item"
      let method = HTTPMethod.post
      var body: RequestBody? { RequestBody(stream: InputStream(data: Data([1, 2, 3])), contentType: "text/x") }
      var retryPolicy: RetryPolicy { RetryPolicy(maxRetryCount: 1, delay: 0) }
    }
    server.route("POST", "/item", .status(500), .json(Item(id: 1)))
    _ = try await Wire.automatic.manager(server, clock: clock).send(Fresh())
    #expect(server.requests.map(\.body) == [Data([1, 2, 3]), Data([1, 2, 3])])
  }

  @Test func decodingErrorIsNotRetried() async throws {
    server.route("/item") { _ in .text("not json") }
    let request = ItemProbe(retryPolicy: RetryPolicy(maxRetryCount: 5, delay: 0))
    await #expect(throws: DecodingError.self) {
      _ = try await Wire.automatic.manager(server, clock: clock).send(request)
    }
    #expect(server.requestCount == 1)
  }

  @Test(.timeLimit(.minutes(10))) func retryWaitsForWholeDelay() async throws {
    server.route("/item", .status(500), .json(Item(id: 1)))
    let clock = ManualClock()
    let manager = Wire.automatic.manager(server, clock: clock)
    let task = Task { try await manager.send(ItemProbe(retryPolicy: RetryPolicy(maxRetryCount: 1, delay: 2))) }
    await clock.waitForSleepers()
    clock.advance(by: .milliseconds(1_999))
    #expect(clock.sleeperCount == 1)
    #expect(server.requestCount == 1)
    clock.advance(by: .milliseconds(1))
    #expect(try await task.value == Item(id: 1))
    #expect(server.requestCount == 2)
  }

  /// The range of the first row allows for a busy machine.
  @Test(arguments: [(3_000.0, 2_000...3_000), (-30.0, 2...2), (100_000.0, 5_000...5_000)])
  func retryAfterMayBeADate(_ offset: TimeInterval, _ seconds: ClosedRange<Int>) async throws {
    let number = Locked(0)
    server.route("/item") { _ in
      let isFirst = number.withLock { number in
        number += 1
        return number == 1
      }
      guard isFirst else { return .json(Item(id: 1)) }
      let format = DateFormatter()
      format.locale = Locale(identifier: "en_US_POSIX")
      format.timeZone = TimeZone(identifier: "GMT")
      format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
      return .status(429, headers: ["Retry-After": format.string(from: Date(timeIntervalSinceNow: offset))])
    }
    var request = ItemProbe(retryPolicy: RetryPolicy(maxRetryCount: 1, delay: 2))
    request.retryPolicy.maxRetryAfter = 5_000
    _ = try await Wire.automatic.manager(server, clock: clock).send(request)
    let slept = try #require(clock.sleeps.first)
    #expect(slept >= .seconds(seconds.lowerBound) && slept <= .seconds(seconds.upperBound), "\(slept)")
  }

  @Test(arguments: Wire.allCases) func lostConnectionIsRetriedWithSameBody(_ wire: Wire) async throws {
    server.route("POST", "/item", .raw([.reset]), .raw(""), .json(Item(id: 1)))
    let request = ItemProbe(
      method: .post, body: RequestBody(encodable: Item(id: 3)), retryPolicy: RetryPolicy(maxRetryCount: 2, delay: 1))
    #expect(try await wire.manager(server, clock: clock).send(request) == Item(id: 1))
    #expect(try server.requests.map { try $0.json(Item.self) } == [Item(id: 3), Item(id: 3), Item(id: 3)])
    #expect(clock.sleeps.count == 2)
  }

  private struct Order: NetworkRequest {
    typealias Response = StatusCodeResponse
    var method = HTTPMethod.post
    var headers: [String: String]?
    var timeout: Duration?
    var errorDecoder: ((Data) -> Error?)?
    let body: RequestBody? = RequestBody(encodable: Item(id: 3))
    var path: String { "/orders" }
    var retryPolicy: RetryPolicy { .transientFailures }
  }

  enum Trouble: CaseIterable, Sendable {
    case internalError, badGateway, gatewayTimeout, silence, close, reset

    var response: LoopbackServer.Response {
      switch self {
      case .internalError: .status(500)
      case .badGateway: .status(502)
      case .gatewayTimeout: .status(504)
      case .silence: .raw([.stall])
      case .close: .raw([.close])
      case .reset: .raw([.reset])
      }
    }
  }

  /// RFC 9110 §9.2.2: the server may have placed the order before it failed.
  @Test(arguments: Wire.allCases, Trouble.allCases)
  func transientFailuresPlaceNoSecondOrder(_ wire: Wire, _ trouble: Trouble) async throws {
    struct Failed: Error {}
    let timeout: Duration? = trouble == .silence ? .milliseconds(300) : nil
    let manager = wire.manager(server, clock: clock)
    let orders = [Order(timeout: timeout), Order(errorDecoder: { _ in Failed() })]
    for order in orders.prefix(trouble == .silence ? 1 : 2) {
      server.reset()
      server.route("/orders", trouble.response, .status(201))
      await #expect(throws: (any Error).self) { try await manager.send(order) }
      // A busy machine may time out before anything is sent.
      #expect(trouble == .silence ? server.requestCount <= 1 : server.requestCount == 1)
    }
    #expect(clock.sleeps.isEmpty)
    for order in [
      Order(method: .put, timeout: timeout), Order(headers: ["Idempotency-Key": "k"], timeout: timeout),
    ] {
      server.route("/orders", trouble.response, .status(201))
      #expect(try await manager.send(order).statusCode == 201)
    }
    server.route("/item", trouble.response, .json(Item(id: 1)))
    let request = ItemProbe(retryPolicy: .transientFailures, timeout: timeout)
    #expect(try await manager.send(request) == Item(id: 1))
  }

  @Test(arguments: Wire.allCases)
  func transientFailuresRepeatWhatWasNotCarriedOut(_ wire: Wire) async throws {
    server.route(
      "POST", "/orders", .status(503, headers: ["Retry-After": "7"]), .status(429, headers: ["Retry-After": "8"]),
      .status(425), .status(201))
    #expect(try await wire.manager(server, clock: clock).send(Order()).statusCode == 201)
    #expect(server.requestCount == 4)
    #expect(clock.sleeps.prefix(2) == [.seconds(7), .seconds(8)])
    let gone = try #require(URL(string: "http://127.0.0.1:\(try LoopbackServer.refusedPort())"))
    await #expect(throws: URLError.self) { try await wire.manager(gone, clock: clock).send(Order()) }
    #expect(clock.sleeps.count == 6)
  }

  @Test func ownPolicyRepeatsOnlyWhatIsHarmless() async throws {
    server.route("POST", "/item", .status(503), .status(500), .json(Item(id: 1)))
    server.route("GET", "/item", .status(500), .json(Item(id: 1)))
    let manager = Wire.automatic.manager(server, clock: clock)
    var policy = RetryPolicy(maxRetryCount: 2, delay: 1, shouldRetry: RetryPolicy.isTransient)
    policy.repeatsOnlyIfHarmless = true
    let error = await #expect(throws: HTTPError.self) {
      _ = try await manager.send(ItemProbe(method: .post, retryPolicy: policy))
    }
    #expect(error?.statusCode == 500)
    #expect(try await manager.send(ItemProbe(retryPolicy: policy)) == Item(id: 1))
    #expect(server.requests.map(\.method) == ["POST", "POST", "GET", "GET"])
  }

  /// A policy of one's own can ask for the same rule, of every interface.
  @Test func ownPolicyAsksWhetherRepetitionIsHarmless() async throws {
    struct Careful: PrismRetryPolicy {
      let replies = Locked<[Bool?]>([])
      func shouldRetry(for error: Error, attempt: Int) -> Bool {
        replies.withLock { $0.append(PrismNetworkFailure.current?.isHarmlessToRepeat) }
        return false
      }
      func delay(for attempt: Int) -> Duration { .zero }
    }
    server.route("/item") { $0.method == "PUT" ? .status(503) : .status(500) }
    let (policy, manager) = (Careful(), Wire.automatic.manager(server, clock: clock))
    for method in [HTTPMethod.get, .post, .put] {
      let request = ItemProbe(method: method, retryPolicy: RetryPolicy(policy))
      await #expect(throws: HTTPError.self) { _ = try await manager.send(request) }
      let retryable = PrismRetryableRequest(policy: policy) { try await manager.send(Probe<Item>(method: method)) }
      await #expect(throws: HTTPError.self) { _ = try await retryable.execute() }
    }
    #expect(policy.replies.withLock { $0 } == [true, true, false, false, true, true])
  }

  #if os(Linux)
    /// Until there is a connection, nothing was sent.
    @Test func timeoutWhileConnectingIsHarmless() async throws {
      let unresponsive = try LoopbackServer.UnresponsivePort()
      let url = try #require(URL(string: "http://127.0.0.1:\(unresponsive.port)"))
      let manager = Wire.automatic.manager(url, clock: clock)
      let error = await #expect(throws: URLError.self) {
        try await manager.send(Order(timeout: .milliseconds(100)))
      }
      #expect(error?.code == .timedOut)
      #expect(clock.sleeps.count == 3)
      withExtendedLifetime(unresponsive) {}
    }
  #endif

  /// The second request may fail in a harmless way; the server may have carried out the first.
  @Test(arguments: Wire.allCases, [500, 200])
  func requestsThatMiddlewareRepeatsAreNotForgotten(_ wire: Wire, _ status: Int) async throws {
    server.route("POST", "/orders", .status(status), .status(503), .status(201))
    let manager = wire.manager(server, clock: clock)
    manager.attemptMiddleware = [
      Intercept { request, _, next in
        var first = try await next(request)
        _ = try await first.data()
        return try await next(request)
      }
    ]
    let error = await #expect(throws: HTTPError.self) { try await manager.send(Order()) }
    #expect(error?.statusCode == 503)
    #expect(clock.sleeps.isEmpty)
    server.route("PUT", "/orders", .status(status), .status(503), .status(500), .status(201))
    #expect(try await manager.send(Order(method: .put)).statusCode == 201)
  }

  /// RFC 9110 §15.4.4: the redirect says that the POST was carried out, whatever happens to the GET after it.
  @Test(arguments: Wire.allCases, [301, 302, 303])
  func postIsNotRetriedAfterRedirectToGET(_ wire: Wire, _ status: Int) async throws {
    struct Expired: Error {}
    let gone = try LoopbackServer.refusedPort()
    server.route("POST", "/item") { _ in .redirect(to: "/done", status: status) }
    server.route("POST", "/gone") { _ in .redirect(to: "http://127.0.0.1:\(gone)/", status: status) }
    server.route("POST", "/app") { _ in .redirect(to: "app://done", status: status) }
    server.route("GET", "/done", .status(503), .status(401), .raw([.close]))
    let manager = wire.manager(server, clock: clock)
    manager.tokenRefresher = TestTokens("old")
    var request = ItemProbe(method: .post, retryPolicy: RetryPolicy(maxRetryCount: 2, delay: 0))
    await #expect(throws: HTTPError.self) { _ = try await manager.send(request) }
    request.errorDecoder = { _ in Expired() }
    await #expect(throws: Expired.self) { _ = try await manager.send(request) }
    await #expect(throws: URLError.self) { _ = try await manager.send(request) }
    #expect(server.requests.filter { $0.method == "POST" }.count == 3)
    for path in ["/gone", "/app"] {
      request.path = path
      await #expect(throws: URLError.self) { _ = try await manager.send(request) }
      #expect(server.requests(path: path).count == 1)
    }
    #expect(clock.sleeps.isEmpty)
  }

  @Test(arguments: Wire.allCases)
  func idempotentRequestIsRetriedAfterRedirectToGET(_ wire: Wire) async throws {
    let policy = RetryPolicy(maxRetryCount: 2, delay: 0)
    let requests = [
      ItemProbe(method: .put, retryPolicy: policy), ItemProbe(method: .post, retryPolicy: policy, resends: true),
    ]
    for request in requests {
      server.reset()
      server.route("/item") { _ in .redirect(to: "/done", status: 303) }
      server.route("/done", .status(503), .json(Item(id: 1)))
      #expect(try await wire.manager(server, clock: clock).send(request) == Item(id: 1))
      #expect(server.requests(path: "/item").count == 2)
    }
  }

  @Test func tokenIsReadForEachAttempt() async throws {
    server.route("/item", .status(500), .status(500), .json(Item(id: 1)))
    let reads = Locked(0)
    let request = ItemProbe(retryPolicy: RetryPolicy(maxRetryCount: 2, delay: 1))
    _ = try await Wire.automatic.manager(server, clock: clock).send(request) {
      reads.withLock { count in
        count += 1
        return "\(count)"
      }
    }
    #expect(server.requests.map { $0.headers["Authorization"] } == ["Bearer 1", "Bearer 2", "Bearer 3"])
  }
}
