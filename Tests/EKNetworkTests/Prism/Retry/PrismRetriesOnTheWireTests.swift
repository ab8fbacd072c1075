import LoopbackServer
import Testing

@testable import EKNetwork

/// Which requests of an adapter are repeated (RFC 9110 §9.2.2).
struct PrismRetriesOnTheWireTests {
  private let server: LoopbackServer
  private let clock = RecordingClock()

  init() throws { server = try LoopbackServer() }

  /// The redirect says that the POST was carried out (RFC 9110 §15.4.4), whatever happens to the GET after it.
  @Test(arguments: [TransportChoice.automatic, .urlSession], [301, 302, 303])
  func postIsNotRepeatedAfterRedirectToGET(_ transport: TransportChoice, _ status: Int) async throws {
    server.route("POST", "/item") { _ in .redirect(to: "/done", status: status) }
    server.route("GET", "/done") { _ in .status(503) }
    let client = PrismNetworkAdapter.forTests(
      retryPolicy: PrismLinearRetry(maxAttempts: 2), transport: transport, clock: clock)
    await #expect(throws: PrismNetworkError.serverError) {
      _ = try await client.request(on: server.teapot { $0.method = .post })
    }
    #expect(server.requests.map(\.method) == ["POST", "GET"])
  }

  @Test func postIsNotRepeatedIfTheTargetOfItsRedirectIsUnreachable() async throws {
    let port = try LoopbackServer.refusedPort()
    server.route("POST", "/item") { _ in .redirect(to: "http://127.0.0.1:\(port)/done", status: 303) }
    let client = PrismNetworkAdapter.forTests(retryPolicy: PrismLinearRetry(maxAttempts: 2), clock: clock)
    await #expect(throws: PrismNetworkError.noConnectivity) {
      _ = try await client.request(on: server.teapot { $0.method = .post })
    }
    #expect(server.requests.map(\.method) == ["POST"])
  }

  /// The next attempt may be redirected differently.
  @Test(arguments: [307, 308]) func postIsRepeatedAfterRedirectThatKeepsIt(_ status: Int) async throws {
    server.route("POST", "/item") { _ in .redirect(to: "/done", status: status) }
    server.route("POST", "/done", .status(503), .json(Teapot(id: 1)))
    let client = PrismNetworkAdapter.forTests(retryPolicy: PrismLinearRetry(maxAttempts: 2), clock: clock)
    #expect(try await client.request(on: server.teapot { $0.method = .post }) == Teapot(id: 1))
    #expect(server.requests.map(\.path) == ["/item", "/done", "/item", "/done"])
  }

  /// PUT and DELETE may be repeated even if they were carried out.
  @Test func putIsRepeatedAfterRedirectToGET() async throws {
    server.route("PUT", "/item") { _ in .redirect(to: "/done", status: 303) }
    server.route("GET", "/done", .status(503), .json(Teapot(id: 1)))
    let client = PrismNetworkAdapter.forTests(retryPolicy: PrismLinearRetry(maxAttempts: 2), clock: clock)
    #expect(try await client.request(on: server.teapot { $0.method = .put }) == Teapot(id: 1))
    #expect(server.requests.map(\.method) == ["PUT", "GET", "PUT", "GET"])
  }

  @Test(arguments: [(PrismNetworkMethod.post, 1), (.get, 2)])
  func retryableRequestRepeatsOnlyWhatIsHarmless(_ method: PrismNetworkMethod, _ count: Int) async throws {
    server.route("/item", .status(500), .json(Teapot(id: 1)))
    let (client, request) = (PrismNetworkAdapter.forTests(), server.teapot { $0.method = method })
    let retryable = PrismRetryableRequest(policy: PrismLinearRetry(), clock: clock) {
      try await client.request(on: request)
    }
    if count == 1 {
      await #expect(throws: PrismNetworkError.serverError) { _ = try await retryable.execute() }
    } else {
      #expect(try await retryable.execute() == Teapot(id: 1))
    }
    #expect(server.requestCount == count)
  }

  /// The rule is the same for the requests of a manager.
  @Test(arguments: [(HTTPMethod.post, 500, 1), (.get, 500, 2), (.post, 503, 2), (.put, 500, 2)])
  func requestOfAManagerIsRepeatedOnlyIfThatIsHarmless(
    _ method: HTTPMethod, _ status: Int, _ count: Int
  ) async throws {
    server.route("/item", .status(status), .json(Teapot(id: 1)))
    let manager = Wire.automatic.manager(server)
    let retryable = PrismRetryableRequest(policy: PrismLinearRetry(), clock: clock) {
      try await manager.send(Probe<Teapot>(method: method))
    }
    if count == 1 {
      await #expect(throws: HTTPError.self) { _ = try await retryable.execute() }
    } else {
      #expect(try await retryable.execute() == Teapot(id: 1))
    }
    #expect(server.requestCount == count)
  }

  @Test func operationWithCompletePostOfAManagerIsNotRepeated() async throws {
    server.route("POST", "/item") { _ in .json(Teapot(id: 1)) }
    server.route("GET", "/item") { _ in .status(503) }
    let manager = Wire.automatic.manager(server)
    let retryable = PrismRetryableRequest(policy: PrismLinearRetry(), clock: clock) {
      _ = try await manager.send(Probe<Teapot>(method: .post))
      return try await manager.send(Probe<Teapot>())
    }
    await #expect(throws: HTTPError.self) { _ = try await retryable.execute() }
    #expect(server.requests.map(\.method) == ["POST", "GET"])
  }

  /// The method that middleware has chosen counts, and each request that it sends.
  @Test func requestsOfMiddlewareCount() async throws {
    server.route("POST", "/item", .status(500), .status(503))
    let client = PrismNetworkAdapter.forTests()
    client.middleware = [
      Intercept { request, _, next in
        var post = request
        post.httpMethod = "POST"
        do { return try await next(post) } catch { return try await next(post) }
      }
    ]
    let get = server.teapot()
    let retryable = PrismRetryableRequest(policy: PrismLinearRetry(), clock: clock) {
      try await client.request(on: get)
    }
    await #expect(throws: PrismNetworkError.serverError) { _ = try await retryable.execute() }
    #expect(server.requests.map(\.method) == ["POST", "POST"])
  }

  /// Of a mutation that middleware sends twice, the server may have carried out the first one.
  @Test(arguments: [("mutation { a }", 2), ("{ a }", 3)])
  func operationThatMiddlewareSendsTwiceIsRepeatedOnlyIfItIsAQuery(_ text: String, _ count: Int) async throws {
    server.route("POST", "/graphql", .status(500), .status(503), .json(#"{"data":{"a":1}}"#))
    let manager = Wire.automatic.manager(server)
    manager.attemptMiddleware = [
      Intercept { request, _, next in
        let response = try await next(request)
        return response.statusCode == 500 ? try await next(request) : response
      }
    ]
    let client = PrismGraphQLClient(endpointURL: server.url("/graphql"), manager: manager)
    let retryable = PrismRetryableRequest(policy: PrismLinearRetry(), clock: clock) {
      try await client.execute(PrismGraphQLQuery(query: text)) as PrismGraphQLResponse<[String: Int]>
    }
    if count == 2 {
      await #expect(throws: (any Error).self) { _ = try await retryable.execute() }
    } else {
      #expect(try await retryable.execute().data == ["a": 1])
    }
    #expect(server.requestCount == count)
  }

  /// A renewal that has succeeded is over, and may be that of other requests as well.
  @Test(arguments: [true, false]) func renewalOfTheTokenDoesNotPreventRetries(isClosure: Bool) async throws {
    server.route("POST", "/token") { _ in .json(Teapot(id: 1)) }
    let (adapter, manager) = (PrismNetworkAdapter.forTests(), Wire.automatic.manager(server))
    let renewal = server.teapot {
      $0.method = .post
      $0.path = "/token"
    }
    var options = PrismGraphQLOptions()
    if isClosure {
      server.route("POST", "/graphql", .status(503), .json(#"{"data":{"a":1}}"#))
      options.accessTokenProvider = { try await adapter.request(on: renewal).name }
    } else {
      server.route("POST", "/graphql", .status(401), .status(503), .json(#"{"data":{"a":1}}"#))
      manager.tokenRefresher = TestTokens("old") { _ in try await adapter.request(on: renewal).name }
    }
    let client = PrismGraphQLClient(endpointURL: server.url("/graphql"), manager: manager, options: options)
    let retryable = PrismRetryableRequest(policy: PrismLinearRetry(), clock: clock) {
      try await client.execute(PrismGraphQLQuery(query: "{ a }")) as PrismGraphQLResponse<[String: Int]>
    }
    #expect(try await retryable.execute().data == ["a": 1])
    #expect(server.requests.filter { $0.path == "/graphql" }.count == (isClosure ? 2 : 3))
    #expect(server.requests.filter { $0.path == "/token" }.count == (isClosure ? 2 : 1))
  }

  /// Those of a renewal that fails are repeated with the operation.
  @Test func failedRenewalPreventsRetries() async throws {
    server.route("POST", "/token") { _ in .status(500) }
    server.route("GET", "/item") { _ in .status(401) }
    let (adapter, manager) = (PrismNetworkAdapter.forTests(), Wire.automatic.manager(server))
    let renewal = server.teapot {
      $0.method = .post
      $0.path = "/token"
    }
    manager.tokenRefresher = TestTokens("old") { _ in try await adapter.request(on: renewal).name }
    let retryable = PrismRetryableRequest(policy: PrismLinearRetry(), clock: clock) {
      try await manager.send(Probe<Teapot>())
    }
    await #expect(throws: PrismNetworkError.serverError) { _ = try await retryable.execute() }
    #expect(server.requestCount == 2)
  }

  /// The server has processed the request, whatever the error of its own decoding means.
  @Test(arguments: [PrismNetworkMethod.post, .get])
  func undecodableResponseIsNotRequestedAgain(_ method: PrismNetworkMethod) async throws {
    struct Order: PrismNetworkRequest {
      typealias Response = Teapot
      let endpoint: LocalEndpoint
      func decode(data: Data, with formatter: DateFormatter?) throws -> Teapot { throw PrismNetworkError.serverError }
    }
    server.route("/item") { _ in .json(Teapot(id: 1)) }
    let (client, request) = (PrismNetworkAdapter.forTests(), Order(endpoint: server.endpoint { $0.method = method }))
    let manager = Wire.automatic.manager(server)
    let retryable = PrismRetryableRequest(policy: PrismLinearRetry(), clock: clock) {
      try await client.request(on: request)
    }
    await #expect(throws: PrismNetworkError.serverError) { _ = try await retryable.execute() }
    let sent = PrismRetryableRequest(policy: PrismLinearRetry(), clock: clock) {
      try await manager.send(Probe<[Int]>(method: method == .get ? .get : .post))
    }
    await #expect(throws: DecodingError.self) { _ = try await sent.execute() }
    #expect(server.requestCount == 2)
  }

  @Test func retryableRequestWaitsAsServerWishes() async throws {
    let (client, manager) = (PrismNetworkAdapter.forTests(), Wire.automatic.manager(server))
    let request = server.teapot()
    let operations: [@Sendable () async throws -> Teapot] = [
      { try await client.request(on: request) }, { try await manager.send(Probe<Teapot>()) },
      { try await PrismNetworkFailure.detailed { try await client.request(on: request) } },
    ]
    for (index, operation) in operations.enumerated() {
      server.route(
        "/item", .status(503, headers: ["Retry-After": "7"]), .status(503, headers: ["Retry-After": "1"]),
        .status(429, headers: ["Retry-After": "100000"]), .json(Teapot(id: 1)))
      _ = try await PrismRetryableRequest(policy: PrismLinearRetry(), clock: clock, operation: operation).execute()
      #expect(clock.sleeps.suffix(3) == [.seconds(7), .seconds(2), .seconds(60)], "\(index)")
    }
  }

  /// One request of the operation must not be sent again, whichever fails last.
  @Test(arguments: [0, 1]) func operationWithHarmfulFailureIsNotRepeated(_ last: Int) async throws {
    server.route("POST", "/item") { _ in .status(500) }
    server.route("GET", "/item") { _ in .status(503) }
    let client = PrismNetworkAdapter.forTests()
    let requests = [server.teapot { $0.method = .post }, server.teapot()]
    let retryable = PrismRetryableRequest(policy: PrismLinearRetry(), clock: clock) {
      _ = try? await client.request(on: requests[1 - last])
      return try await client.request(on: requests[last])
    }
    await #expect(throws: PrismNetworkError.serverError) { _ = try await retryable.execute() }
    #expect(server.requestCount == 2)
  }

  /// The harmful failure counts even if the operation has handled it, or throws an error of its own.
  @Test func harmfulFailureIsNotForgotten() async throws {
    struct SavingFailed: Error {}
    server.route("POST", "/item") { _ in .status(500) }
    server.route("GET", "/item") { _ in .status(503) }
    let client = PrismNetworkAdapter.forTests()
    let (post, get) = (server.teapot { $0.method = .post }, server.teapot())
    let operations: [@Sendable () async throws -> Teapot] = [
      { do { return try await client.request(on: post) } catch { throw SavingFailed() } },
      {
        _ = try? await PrismNetworkFailure.detailed { try await client.request(on: post) }
        return try await client.request(on: get)
      },
    ]
    for operation in operations {
      let retryable = PrismRetryableRequest(policy: PrismLinearRetry(), clock: clock, operation: operation)
      await #expect(throws: (any Error).self) { _ = try await retryable.execute() }
    }
    #expect(server.requests.map(\.method) == ["POST", "POST", "GET"])
  }

  /// RFC 9110 §15.5.2: a server that responds with 401 has not processed the request.
  @Test func operationWithRefusedPostIsRepeated() async throws {
    server.route("POST", "/item", .status(401), .status(503), .status(401), .json(Teapot(id: 1)))
    let (client, post) = (PrismNetworkAdapter.forTests(), server.teapot { $0.method = .post })
    let retryable = PrismRetryableRequest(policy: PrismLinearRetry(), clock: clock) {
      do { return try await client.request(on: post) } catch PrismNetworkError.unauthorized {
        return try await client.request(on: post)
      }
    }
    #expect(try await retryable.execute() == Teapot(id: 1))
    #expect(server.requestCount == 4)
  }

  /// The adapter's request was not started.
  @Test func postIsRepeatedIfMiddlewareFailsBeforeIt() async throws {
    let attempts = Locked(0)
    server.route("POST", "/item", .json(Teapot(id: 1)), .json(Teapot(id: 2)))
    let (client, post) = (PrismNetworkAdapter.forTests(), server.teapot { $0.method = .post })
    client.middleware = [
      Intercept { request, _, next in
        let attempt = attempts.withLock { attempts in
          attempts += 1
          return attempts
        }
        if attempt == 1 { throw URLError(.timedOut) }
        let response = try await next(request)
        if attempt == 3 { throw URLError(.cannotConnectToHost) }
        return response
      }
    ]
    let retryable = PrismRetryableRequest(policy: PrismLinearRetry(), clock: clock) {
      try await client.request(on: post)
    }
    #expect(try await retryable.execute() == Teapot(id: 1))
    await #expect(throws: PrismNetworkError.noConnectivity) { _ = try await retryable.execute() }
    #expect(server.requestCount == 2)
  }

  @Test func retryableRequestPassesTheCauseOn() async throws {
    server.route("/item") { _ in .text("busy", status: 503) }
    let (client, request) = (PrismNetworkAdapter.forTests(), server.teapot())
    let retryable = PrismRetryableRequest(policy: PrismLinearRetry(maxAttempts: 1), clock: clock) {
      try await client.request(on: request)
    }
    await #expect(throws: PrismNetworkError.serverError) { _ = try await retryable.execute() }
    let failure = await #expect(throws: PrismNetworkFailure.self) {
      _ = try await PrismNetworkFailure.detailed { try await retryable.execute() }
    }
    #expect(failure?.statusCode == 503)
    #expect(failure?.data == Data("busy".utf8))
    // An operation that asks for the cause itself keeps it.
    let detailed = PrismRetryableRequest(policy: PrismLinearRetry(maxAttempts: 1), clock: clock) {
      try await PrismNetworkFailure.detailed { try await client.request(on: request) }
    }
    await #expect(throws: PrismNetworkFailure.self) { _ = try await detailed.execute() }
  }
}
