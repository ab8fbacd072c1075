import LoopbackServer
import Testing

@testable import EKNetwork

struct PrismRetryPolicyTests {
  private let clock = RecordingClock()

  @Test func backoffFollowsFormula() {
    func delays(_ random: Double) -> [Duration] {
      let policy = PrismExponentialBackoff(
        baseDelay: .seconds(1), maxDelay: .seconds(6), maxAttempts: 9, random: { random })
      return (0...4).map { policy.delay(for: $0) }
    }
    #expect(delays(0) == [.seconds(1), .seconds(2), .seconds(4), .seconds(6), .seconds(6)])
    #expect(
      delays(1) == [.milliseconds(1_500), .milliseconds(2_500), .milliseconds(4_500), .seconds(6), .seconds(6)])
    let policy = PrismExponentialBackoff()
    #expect(policy.baseDelay == .seconds(1) && policy.maxDelay == .seconds(30) && policy.maxAttempts == 3)
    for _ in 1...200 { #expect((Duration.seconds(2)...Duration.milliseconds(2_500)).contains(policy.delay(for: 1))) }
  }

  @Test(arguments: [Duration.zero, .nanoseconds(1), .seconds(1), .seconds(Int64.max), .seconds(Int64.min)])
  func extremeDelaysDoNotTrap(_ duration: Duration) {
    let durations: [Duration] = [.zero, .seconds(1), .seconds(Int64.max), duration]
    for longest in durations {
      let policy = PrismExponentialBackoff(baseDelay: duration, maxDelay: longest, maxAttempts: .max)
      for attempt in [Int.min, -1, 0, 1, 63, 64, 1_023, 1_024, 5_000, Int.max] {
        let delay = policy.delay(for: attempt)
        #expect(delay >= .zero && delay <= max(longest, .zero))
      }
    }
    #expect(PrismLinearRetry(fixedDelay: duration).delay(for: .max) == max(duration, .zero))
    #expect(RetryPolicy(PrismLinearRetry(fixedDelay: duration)).delay >= 0)
  }

  @Test func attemptsAreCountedFromZero() {
    let policies: [any PrismRetryPolicy] = [
      PrismExponentialBackoff(maxAttempts: 3), PrismLinearRetry(fixedDelay: .seconds(2), maxAttempts: 3),
    ]
    for policy in policies {
      #expect(
        (0...4).map { policy.shouldRetry(for: PrismNetworkError.serverError, attempt: $0) }
          == [true, true, true, false, false])
      for error in PrismNetworkError.allCases {
        #expect(
          policy.shouldRetry(for: error, attempt: 0)
            == [.noConnectivity, .serverError].contains(error))
      }
      #expect(policy.shouldRetry(for: URLError(.timedOut), attempt: 0))
      #expect(!policy.shouldRetry(for: URLError(.secureConnectionFailed), attempt: 0))
      for foreign in [OwnError(), POSIXError(.ECONNRESET), NSError(domain: "test", code: 1)] as [any Error] {
        #expect((0...3).map { policy.shouldRetry(for: foreign, attempt: $0) } == [true, true, true, false])
      }
      let hopeless: [any Error] = [
        NetworkMiddlewareError.changedDestination, StreamingError.invalidResponse, HopelessError(),
      ]
      for error in hopeless { #expect(!policy.shouldRetry(for: error, attempt: 0)) }
      #expect(!policy.shouldRetry(for: CancellationError(), attempt: 0))
      #expect(!policy.shouldRetry(for: URLError(.cancelled), attempt: 0))
    }
    #expect(!PrismLinearRetry(maxAttempts: -5).shouldRetry(for: PrismNetworkError.serverError, attempt: 0))
    #expect(PrismLinearRetry(maxAttempts: -5).maxAttempts == 0)
  }

  private struct OwnError: Error {}
  private struct HopelessError: NonRetriableError {}

  @Test func errorOfAMiddlewareIsRetriedIfThatDoesNoHarm() async throws {
    struct Failing: NetworkMiddleware {
      let count = Locked(0)
      func intercept(
        _ request: URLRequest, context: NetworkMiddlewareContext, next: NetworkMiddlewareNext
      ) async throws -> NetworkMiddlewareResponse {
        _ = try await next(request)
        count.withLock { $0 += 1 }
        throw OwnError()
      }
    }
    struct Ping: NetworkRequest {
      typealias Response = EmptyResponse
      let path = "/ping"
      let method: HTTPMethod
      var retryPolicy: RetryPolicy { RetryPolicy(PrismLinearRetry(fixedDelay: .zero, maxAttempts: 2)) }
    }
    let server = try LoopbackServer()
    for method in ["GET", "POST"] { server.route(method, "/ping") { _ in .status(204) } }
    for (method, expected) in [(HTTPMethod.get, 3), (.post, 1)] {
      let failing = Failing()
      let manager = Wire.automatic.manager(server)
      manager.attemptMiddleware = [failing]
      await #expect(throws: OwnError.self) { try await manager.send(Ping(method: method)) }
      #expect(failing.count.withLock { $0 } == expected)
    }
  }

  // MARK: - On the wire

  /// Records the calls of `shouldRetry`.
  private final class Recorder: PrismRetryPolicy {
    struct Dump: Equatable {
      var error: PrismNetworkError?
      var attempt: Int
      var status: Int?
    }

    let asked = Locked<[Dump]>([])
    let limit: Int
    init(limit: Int = 3) { self.limit = limit }

    func shouldRetry(for error: Error, attempt: Int) -> Bool {
      let question = Dump(
        error: error as? PrismNetworkError, attempt: attempt, status: PrismNetworkFailure.current?.statusCode)
      asked.withLock { $0.append(question) }
      return attempt < limit
    }

    func delay(for attempt: Int) -> Duration { .seconds(attempt + 1) }
  }

  @Test func adapterRetriesByItsPolicy() async throws {
    let server = try LoopbackServer()
    server.route(
      "/item", .status(503), .status(429, headers: ["Retry-After": "7"]), .raw("nonsense\r\n\r\n"),
      .json(Teapot(id: 1)))
    let policy = Recorder()
    let client = PrismNetworkAdapter.forTests(retryPolicy: policy, clock: clock)
    #expect(try await client.request(on: server.teapot()).id == 1)
    #expect(clock.sleeps == [.seconds(1), .seconds(7), .seconds(3)])
    #expect(
      policy.asked.withLock { $0 } == [
        .init(error: .serverError, attempt: 0, status: 503), .init(error: .serverError, attempt: 1, status: 429),
        .init(error: .invalidResponse, attempt: 2, status: nil),
      ])
    #expect(PrismNetworkFailure.current == nil)
  }

  @Test func adapterGivesUpAtMaximumAttempts() async throws {
    let server = try LoopbackServer()
    server.route("/item") { _ in .status(503) }
    let policy = PrismExponentialBackoff(maxAttempts: 3)
    let client = PrismNetworkAdapter.forTests(retryPolicy: policy, clock: clock)
    await #expect(throws: PrismNetworkError.serverError) { _ = try await client.request(on: server.teapot()) }
    #expect(server.requestCount == 4)
    #expect(clock.sleeps.count == 3)
  }

  @Test(arguments: [
    // Of the responses to idempotent methods, only server errors are worth another attempt.
    (PrismNetworkMethod.get, 404, false, false), (.get, 409, false, false), (.get, 422, false, false),
    (.get, 301, false, false), (.get, 500, false, true), (.put, 502, false, true), (.delete, 504, false, true),
    // A request that may have been executed is repeated only with an idempotency key.
    (.post, 500, false, false), (.post, 502, false, false), (.patch, 504, false, false), (.post, 404, false, false),
    (.post, 500, true, true), (.post, 503, false, true), (.post, 429, false, true), (.patch, 408, false, true),
  ])
  func builtInPoliciesRespectStatusAndMethod(
    _ method: PrismNetworkMethod, _ status: Int, _ hasKey: Bool, _ isRepeated: Bool
  ) async throws {
    let server = try LoopbackServer()
    for policy in [PrismExponentialBackoff(), PrismLinearRetry()] as [any PrismRetryPolicy] {
      server.reset()
      server.route("/item", .status(status), .json(Teapot(id: 1)))
      let client = PrismNetworkAdapter.forTests(retryPolicy: policy, clock: clock)
      let request = server.teapot {
        $0.method = method
        if method != .get { $0.text = "body" }
        if hasKey { $0.headers["Idempotency-Key"] = "1" }
      }
      _ = try? await client.request(on: request)
      #expect(server.requestCount == (isRepeated ? 2 : 1), "\(method) \(status)")
    }
  }

  @Test func postWithBrokenConnectionIsNotRepeated() async throws {
    let server = try LoopbackServer()
    server.route("/item") { _ in .raw([.close]) }
    let client = PrismNetworkAdapter.forTests(retryPolicy: PrismLinearRetry(maxAttempts: 2), clock: clock)
    let post = server.teapot {
      $0.method = .post
      $0.text = "body"
    }
    await #expect(throws: PrismNetworkError.noConnectivity) { _ = try await client.request(on: post) }
    #expect(clock.sleeps.isEmpty)
    // A request that never reached the server is repeated.
    let port = server.port
    server.stop()
    var endpoint = LocalEndpoint(port: port)
    endpoint.method = .post
    await #expect(throws: PrismNetworkError.noConnectivity) {
      _ = try await client.request(on: LocalRequest<Teapot>(endpoint))
    }
    #expect(clock.sleeps.count == 2)
  }

  @Test func undecodableResponseIsNotRetried() async throws {
    let server = try LoopbackServer()
    server.route("/item") { _ in .text("no json") }
    let client = PrismNetworkAdapter.forTests(retryPolicy: PrismLinearRetry(), clock: clock)
    await #expect(throws: PrismNetworkError.invalidResponse) { _ = try await client.request(on: server.teapot()) }
    #expect(server.requestCount == 1)
  }

  @Test(.timeLimit(.minutes(10))) func cancellingEndsTheDelay() async throws {
    let server = try LoopbackServer()
    server.route("/item") { _ in .status(503) }
    let stopped = StoppedClock()
    let client = PrismNetworkAdapter.forTests(
      retryPolicy: PrismLinearRetry(fixedDelay: .seconds(Int64.max)), clock: stopped)
    let task = Task { try await client.request(on: server.teapot()) }
    for await _ in stopped.isSleeping.stream {}
    task.cancel()
    await #expect(throws: CancellationError.self) { _ = try await task.value }
    #expect(server.requestCount == 1)
  }

  @Test(.timeLimit(.minutes(10))) func cancelledRequestIsNotRetried() async throws {
    let server = try LoopbackServer()
    server.route("/item") { _ in .raw([.stall]) }
    let policy = Recorder()
    let client = PrismNetworkAdapter.forTests(retryPolicy: policy, clock: clock)
    let task = Task { try await client.request(on: server.teapot()) }
    await server.expectRequests(1)
    task.cancel()
    await #expect(throws: CancellationError.self) { _ = try await task.value }
    #expect(policy.asked.withLock { $0.isEmpty })
  }

  @Test func networkRequestRetriesByItsPolicy() async throws {
    let server = try LoopbackServer()
    server.route("/item", .status(503), .status(401), .status(502, headers: ["Retry-After": "9"]), .json(Item(id: 1)))
    let policy = Recorder()
    let manager = Wire.automatic.manager(server, clock: clock)
    #expect(try await manager.send(ItemProbe(retryPolicy: RetryPolicy(policy))) == Item(id: 1))
    #expect(clock.sleeps == [.seconds(1), .seconds(2), .seconds(9)])
    #expect(
      policy.asked.withLock { $0 } == [
        .init(error: .serverError, attempt: 0, status: 503), .init(error: .unauthorized, attempt: 1, status: 401),
        .init(error: .serverError, attempt: 2, status: 502),
      ])
  }

  @Test func delayMayDependOnTheResponse() async throws {
    struct Busy: Error {}
    struct Obedient: PrismRetryPolicy {
      func shouldRetry(for error: Error, attempt: Int) -> Bool { attempt < 1 }
      func delay(for attempt: Int) -> Duration {
        .seconds(PrismNetworkFailure.current?.headers.field("X-Retry-In").flatMap { Int($0) } ?? 0)
      }
    }
    let server = try LoopbackServer()
    let (policy, clock) = (Obedient(), clock)
    let (client, plain) = (
      PrismNetworkAdapter.forTests(retryPolicy: policy, clock: clock), PrismNetworkAdapter.forTests()
    )
    let manager = Wire.automatic.manager(server, clock: clock)
    let request = server.teapot()
    let retryable = PrismRetryableRequest(policy: policy, clock: clock) { try await plain.request(on: request) }
    let loads: [() async throws -> Void] = [
      { _ = try await client.request(on: request) },
      { _ = try await manager.send(ItemProbe(retryPolicy: RetryPolicy(policy))) },
      { _ = try await manager.send(ItemProbe(retryPolicy: RetryPolicy(policy), errorDecoder: { _ in Busy() })) },
      { _ = try await retryable.execute() },
    ]
    for (index, load) in loads.enumerated() {
      server.route("/item", .status(503, headers: ["X-Retry-In": "\(index + 5)"]), .json(Teapot(id: 1)))
      try await load()
    }
    #expect(clock.sleeps == [.seconds(5), .seconds(6), .seconds(7), .seconds(8)])
    #expect(PrismNetworkFailure.current == nil)
  }

  /// The delays of a policy may depend on those before.
  @Test func adapterCallsItsPolicyOnlyAfterFailure() async throws {
    struct Counting: PrismRetryPolicy {
      let delays = Locked(0)
      func shouldRetry(for error: Error, attempt: Int) -> Bool { attempt < 1 }
      func delay(for attempt: Int) -> Duration {
        delays.withLock { delays in
          delays += 1
          return .seconds(delays)
        }
      }
    }
    let server = try LoopbackServer()
    server.route("/item", .json(Teapot(id: 1)), .status(503), .json(Teapot(id: 2)))
    let client = PrismNetworkAdapter.forTests(retryPolicy: Counting(), clock: clock)
    for id in 1...2 { #expect(try await client.request(on: server.teapot()) == Teapot(id: id)) }
    #expect(clock.sleeps == [.seconds(1)])
  }

  @Test func requestRulesOverridePolicy() async throws {
    struct Final: NonRetriableError {}
    let server = try LoopbackServer()
    server.route("/item") { _ in .status(503) }
    let policy = RetryPolicy(Recorder(limit: .max))
    let manager = Wire.automatic.manager(server, clock: clock)
    let stream = RequestBody(stream: InputStream(data: Data(count: 10)), contentType: "text/x")
    for request in [
      ItemProbe(retryPolicy: policy, allowsRetry: false),
      ItemProbe(retryPolicy: policy, errorDecoder: { _ in Final() }),
      ItemProbe(method: .post, body: stream, retryPolicy: policy),
    ] {
      server.reset()
      await #expect(throws: (any Error).self) { _ = try await manager.send(request) }
      #expect(server.requestCount == 1)
    }
  }
}
