import LoopbackServer
import Testing

@testable import EKNetwork

@Suite(.timeLimit(.minutes(10))) struct PrismGraphQLClientTests {
  private struct Answer: Codable, Sendable, Equatable { var a: Int? }
  private typealias Result = PrismGraphQLResponse<Answer>

  private let server: LoopbackServer
  private let query = PrismGraphQLQuery(query: "query Q($n: Int) { a(n: $n) }", variables: ["n": 1], operationName: "Q")

  init() throws { server = try LoopbackServer() }

  private func client(
    _ change: (inout PrismGraphQLOptions) -> Void = { _ in }, manager: NetworkManager? = nil
  ) -> PrismGraphQLClient {
    var options = PrismGraphQLOptions()
    // A busy machine may be slow; the test of the timeout moves its own clock.
    options.acknowledgementTimeout = .seconds(600)
    change(&options)
    return PrismGraphQLClient(
      endpointURL: server.url("/graphql?v=1"), manager: manager ?? Wire.automatic.manager(server),
      additionalHeaders: ["X-App": "1"], options: options)
  }

  private static let success = LoopbackServer.Response.json(#"{"data":{"a":1}}"#)

  private static func response(_ text: String, status: Int = 200, type: String) -> LoopbackServer.Response {
    .text(text, status: status, headers: ["Content-Type": type])
  }

  @Test func operationIsSentAsPOST() async throws {
    server.route("POST", "/graphql") { _ in Self.success }
    let response: Result = try await client().execute(query)
    #expect(response.data == Answer(a: 1))
    #expect(response.errors == nil)
    let request = try #require(server.requests.first)
    #expect(request.target == "/graphql?v=1")
    #expect(request.text == #"{"operationName":"Q","query":"query Q($n: Int) { a(n: $n) }","variables":{"n":1}}"#)
    #expect(request.header("Content-Type") == "application/json")
    #expect(request.header("Accept") == "application/graphql-response+json, application/json;q=0.9")
    #expect(request.header("X-App") == "1")
  }

  @Test func documentedInitialiserWorks() async throws {
    server.route("POST", "/graphql") { _ in Self.success }
    let client = PrismGraphQLClient(endpointURL: server.url("/graphql"))
    let response: Result = try await client.execute(PrismGraphQLQuery(query: "{ a }"))
    #expect(response.data == Answer(a: 1))
  }

  @Test func onlyShortQueriesUseGET() async throws {
    server.route("/graphql") { _ in Self.success }
    let client = client { $0.usesGETForQueries = true }
    _ = try await client.execute(query) as Result
    _ = try await client.execute(PrismGraphQLQuery(query: "mutation { a }")) as Result
    _ = try await client.execute(PrismGraphQLQuery(query: "query A {a} mutation B {a}", operationName: "B")) as Result
    let long = "{ " + String(repeating: "a ", count: 4_000) + "}"
    _ = try await client.execute(PrismGraphQLQuery(query: long)) as Result
    // Each blank is three bytes in a URL.
    let indented = "{ a" + String(repeating: " ", count: 2_000) + "}"
    _ = try await client.execute(PrismGraphQLQuery(query: indented)) as Result
    #expect(server.requests.map(\.method) == ["GET", "POST", "POST", "POST", "POST"])
    let items = URLComponents(string: server.requests[0].target)?.queryItems ?? []
    #expect(items.map(\.name) == ["v", "operationName", "query", "variables"])
    #expect(items.last?.value == #"{"n":1}"#)
  }

  @Test func persistedQueries() async throws {
    let missing = #"{"errors":[{"message":"PersistedQueryNotFound"}]}"#
    server.route("/graphql", .json(missing), Self.success, Self.success)
    let client = client {
      $0.usesPersistedQueries = true
      $0.usesGETForQueries = true
    }
    for _ in 0..<2 { #expect((try await client.execute(query) as Result).data == Answer(a: 1)) }
    let hash = SHA256.hexadecimal(Array(query.query.utf8))
    let targets = server.requests.map { $0.target.removingPercentEncoding ?? "" }
    #expect(targets.allSatisfy { $0.contains(hash) })
    #expect(targets.map { $0.contains("query=") } == [false, true, false])
  }

  /// Such as that of a server behind the server, which the gateway passes on.
  @Test func errorOfAFieldDoesNotRepeatTheRequest() async throws {
    server.route(
      "/graphql",
      .json(
        #"{"data":{"a":1},"errors":[{"message":"PersistedQueryNotFound","path":["b"],"#
          + #""extensions":{"code":"PERSISTED_QUERY_NOT_SUPPORTED"}}]}"#))
    let client = client { $0.usesPersistedQueries = true }
    let response: Result = try await client.execute(PrismGraphQLQuery(query: "mutation { a b }"))
    #expect(response.data == Answer(a: 1) && response.errors?.count == 1)
    #expect(server.requestCount == 1)
  }

  /// The server has carried the operation out, whatever it says beside the data.
  @Test(arguments: ["PersistedQueryNotFound", "PersistedQueryNotSupported"], [#"{"a":1}"#, #"{"other":1}"#])
  func dataIsNotRequestedAgain(_ message: String, _ data: String) async throws {
    server.route("/graphql", .json(#"{"data":\#(data),"errors":[{"message":"\#(message)"}]}"#))
    let client = client { $0.usesPersistedQueries = true }
    let response: Result = try await client.execute(PrismGraphQLQuery(query: "mutation { a }"))
    #expect(response.errors?.count == 1)
    #expect(server.requestCount == 1)
  }

  /// Some servers write an entry for the data into every response, also when they do not know the document.
  @Test func absentDataDoesNotPreventTheDocument() async throws {
    server.route(
      "/graphql", .json(#"{"data":null,"errors":[{"message":"PersistedQueryNotFound"}]}"#), Self.success)
    let client = client { $0.usesPersistedQueries = true }
    #expect((try await client.execute(PrismGraphQLQuery(query: "mutation { a }")) as Result).data == Answer(a: 1))
    #expect(server.requests.map { $0.text.contains("mutation") } == [false, true])
  }

  @Test func unsupportedPersistedQueryIsTriedOnce() async throws {
    let refusal = #"{"errors":[{"message":"no","extensions":{"code":"PERSISTED_QUERY_NOT_SUPPORTED"}}]}"#
    server.route("/graphql", .json(refusal), Self.success)
    let client = client { $0.usesPersistedQueries = true }
    for _ in 0..<2 { #expect((try await client.execute(query) as Result).data == Answer(a: 1)) }
    #expect(server.requests.map { $0.text.contains("sha256Hash") } == [true, false, false])
  }

  @Test(arguments: [200, 400, 401, 422, 500])
  func graphQLResponseIsDecodedForAnyStatus(_ status: Int) async throws {
    server.route("/graphql") { _ in
      Self.response(
        #"{"errors":[{"message":"no"}]}"#, status: status, type: "application/graphql-response+json; charset=utf-8")
    }
    let response: Result = try await client().execute(query)
    #expect(response.errors == [PrismGraphQLError(message: "no")])
  }

  @Test func legacyAndForeignJSONAreDistinguished() async throws {
    server.route(
      "/graphql", Self.response(#"{"errors":[{"message":"no"}]}"#, status: 400, type: "application/json"),
      Self.response(#"{"error":"gateway"}"#, status: 400, type: "application/json"),
      Self.response(#"{"data":{"a":1}}"#, status: 400, type: "application/json"),
      Self.response(#"{"errors":[{"message":"no"}]}"#, status: 502, type: "application/json"),
      Self.response("<html>", status: 200, type: "text/html"), .json("{}"))
    let client = client()
    #expect((try await client.execute(query) as Result).errors?.count == 1)
    for expected in [PrismNetworkError.badRequest, .badRequest, .serverError, .invalidResponse, .invalidResponse] {
      await #expect(throws: expected) { _ = try await client.execute(query) as Result }
    }
  }

  @Test func onlyQueriesAreRetried() async throws {
    server.route("/graphql", .status(503), Self.success, .status(503))
    let client = client { $0.retryPolicy = PrismLinearRetry(fixedDelay: .zero) }
    #expect((try await client.execute(query) as Result).data == Answer(a: 1))
    await #expect(throws: PrismNetworkError.serverError) {
      _ = try await client.execute(PrismGraphQLQuery(query: "mutation { a }")) as Result
    }
    #expect(server.requestCount == 3)
  }

  /// A mutation is sent again only if it cannot have been carried out.
  @Test(arguments: [
    (500, "{ a }", 2), (500, "mutation { a }", 1), (503, "mutation { a }", 2), (303, "mutation { a }", 1),
  ])
  func retryableRequestRepeatsOnlyWhatIsHarmless(_ status: Int, _ document: String, _ count: Int) async throws {
    let response: LoopbackServer.Response = status == 303 ? .redirect(to: "/done", status: 303) : .status(status)
    server.route("/graphql", response, Self.success)
    server.route("/done") { _ in .status(503) }
    let client = client()
    let retryable = PrismRetryableRequest(policy: PrismLinearRetry(), clock: RecordingClock()) {
      try await client.execute(PrismGraphQLQuery(query: document)) as Result
    }
    if count == 1 {
      await #expect(throws: PrismNetworkError.serverError) { _ = try await retryable.execute() }
    } else {
      #expect(try await retryable.execute().data == Answer(a: 1))
    }
    #expect(server.requests.filter { $0.path == "/graphql" }.count == count)
  }

  /// An operation that returns errors may throw one of its own, and be repeated as a whole. Data, even `null`, and the error
  /// of a field belong to a mutation that was executed.
  @Test(arguments: [
    (401, #"{"errors":[{"message":"sign in"}]}"#, 2),
    (401, #"{"data":null,"errors":[{"message":"sign in"}]}"#, 1),
    (401, #"{"errors":[{"message":"sign in","path":["a"]}]}"#, 1),
    (200, #"{"errors":[{"message":"sign in"}]}"#, 1),
  ])
  func mutationThatWasRefusedIsNotComplete(_ status: Int, _ body: String, _ count: Int) async throws {
    struct Refused: Error {}
    struct Once: PrismRetryPolicy {
      func shouldRetry(for error: Error, attempt: Int) -> Bool { attempt == 0 }
      func delay(for attempt: Int) -> Duration { .zero }
    }
    server.route(
      "/graphql", Self.response(body, status: status, type: "application/graphql-response+json"), Self.success)
    let client = client()
    let retryable = PrismRetryableRequest(policy: Once(), clock: RecordingClock()) {
      let response: Result = try await client.execute(PrismGraphQLQuery(query: "mutation { a }"))
      guard response.data != nil else { throw Refused() }
      return response
    }
    if count == 1 {
      await #expect(throws: Refused.self) { _ = try await retryable.execute() }
    } else {
      #expect(try await retryable.execute().data == Answer(a: 1))
    }
    #expect(server.requestCount == count)
  }

  /// Returns a client whose token was refused with a response, and was renewed; now it is refused, and not renewed.
  private func refreshing(after refusal: LoopbackServer.Response) async throws -> PrismGraphQLClient {
    server.route("/graphql") { $0.header("Authorization") == "Bearer new" ? Self.success : refusal }
    let tokens = TestTokens("old")
    let manager = Wire.automatic.manager(server)
    manager.tokenRefresher = tokens
    let client = client({ $0.accessToken = { tokens.current } }, manager: manager)
    #expect((try await client.execute(query) as Result).data == Answer(a: 1))
    manager.tokenRefresher = nil
    tokens.token.withLock { $0 = "old" }
    return client
  }

  @Test func tokenIsRefreshed() async throws {
    let client = try await refreshing(after: .status(401))
    await #expect(throws: PrismNetworkError.unauthorized) { _ = try await client.execute(query) as Result }
  }

  /// The body of its response is not a response to the operation.
  @Test(arguments: [true, false]) func errorOfTheRefreshIsThrown(isSubscription: Bool) async throws {
    server.route("POST", "/graphql") { _ in .status(401) }
    server.route("POST", "/token") { _ in
      Self.response(#"{"errors":[{"message":"expired"}]}"#, status: 400, type: "application/json")
    }
    let manager = Wire.automatic.manager(server)
    manager.tokenRefresher = TestTokens("old") { _ in
      try await manager.send(Probe<Item>(path: "/token", method: .post)).name
    }
    defer { manager.tokenRefresher = nil }
    let client = client(manager: manager)
    await #expect(throws: PrismNetworkError.badRequest) {
      if isSubscription {
        for try await _ in client.subscribe(query, as: Answer.self, over: .serverSentEvents) {}
      } else {
        _ = try await client.execute(query) as Result
      }
    }
    #expect(server.requests.map(\.path) == ["/graphql", "/token"])
  }

  /// The token is refreshed first, even though the 401 is a GraphQL response.
  @Test func refusedTokenIsRefreshedBeforeItsErrorsAreReturned() async throws {
    let refusal = #"{"errors":[{"message":"sign in"}]}"#
    let client = try await refreshing(after: Self.response(refusal, status: 401, type: "application/json"))
    #expect((try await client.execute(query) as Result).errors == [PrismGraphQLError(message: "sign in")])
  }

  @Test func unencodableVariableIsBadRequest() async throws {
    struct Opaque: Sendable {}
    await #expect(throws: PrismNetworkError.badRequest) {
      _ = try await client().execute(PrismGraphQLQuery(query: "{a}", variables: ["o": Opaque()])) as Result
    }
    #expect(server.requestCount == 0)
  }

  // MARK: - Subscriptions

  private func serveSocket(_ messages: [String], subprotocol: String? = "graphql-transport-ws", close: Int = 1000) {
    server.route("/graphql") { request in
      if request.header("Authorization") == "Bearer old" { return .status(401) }
      return .webSocket(request, subprotocol: subprotocol) { peer in
        guard peer.readFrame() != nil else { return }
        peer.send(#"{"type":"connection_ack"}"#)
        guard peer.readFrame() != nil else { return }
        for message in messages { peer.send(message) }
        if close > 0 { peer.close(close) }
        while peer.readFrame() != nil {}
      }
    }
  }

  private func next(_ number: Int) -> String { #"{"type":"next","id":"1","payload":{"data":{"a":\#(number)}}}"# }

  @Test func subscriptionOverWebSocket() async throws {
    serveSocket([next(1), #"{"type":"ping"}"#, next(2), #"{"type":"complete","id":"1"}"#], close: 0)
    var values: [Int?] = []
    for try await response in client().subscribe(query, as: Answer.self) { values.append(response.data?.a) }
    #expect(values == [1, 2])
    #expect(await server.waitForOpenConnections(0))
    #expect(server.requests.first?.header("Sec-WebSocket-Protocol") == "graphql-transport-ws")
    #expect(server.requests.first?.header("X-App") == "1")
  }

  /// Nor is a ping before them an error, to which no pong can be sent any more.
  @Test func resultsBeforeCloseFrameAreNotLost() async throws {
    let messages = [next(1), #"{"type":"ping"}"#, next(2), #"{"type":"complete","id":"1"}"#]
    let hasClosed = Gate()
    server.route("/graphql") { request in
      .webSocket(request, subprotocol: "graphql-transport-ws") { peer in
        guard peer.readFrame() != nil else { return }
        peer.send(#"{"type":"connection_ack"}"#)
        guard peer.readFrame() != nil else { return }
        for message in messages { peer.send(message) }
        peer.close(1000)
        while let frame = peer.readFrame(), frame.opcode != 8 {}
        hasClosed.open()
      }
    }
    var results = client().subscribe(query, as: Answer.self).makeAsyncIterator()
    #expect(try await results.next()?.data?.a == 1)
    #expect(await hasClosed.wait())
    #expect(try await results.next()?.data?.a == 2)
    #expect(try await results.next() == nil)
  }

  @Test func prematureEndOfSubscriptionThrows() async throws {
    func run() async throws { for try await _ in client().subscribe(query, as: Answer.self) {} }
    serveSocket([#"{"type":"error","id":"1","payload":[{"message":"no"}]}"#])
    await #expect(throws: PrismGraphQLSubscriptionError.rejected([PrismGraphQLError(message: "no")])) {
      try await run()
    }
    for code in [1000, 1011] {
      serveSocket([next(1)], close: code)
      await #expect(throws: PrismNetworkError.noConnectivity) { try await run() }
    }
    serveSocket([next(1)], close: 4403)
    await #expect(throws: PrismNetworkError.forbidden) { try await run() }
    serveSocket(["nonsense"])
    await #expect(throws: PrismGraphQLSubscriptionError.self) { try await run() }
    serveSocket([], subprotocol: nil)
    await #expect(throws: PrismGraphQLSubscriptionError.self) { try await run() }
    server.route("/graphql") { _ in .status(403) }
    await #expect(throws: PrismNetworkError.forbidden) { try await run() }
  }

  @Test func tokenRefusedBySocketIsRefreshed() async throws {
    serveSocket([next(1), #"{"type":"complete","id":"1"}"#], close: 0)
    let tokens = TestTokens("old")
    let manager = Wire.automatic.manager(server)
    manager.tokenRefresher = tokens
    var values: [Int?] = []
    let client = client({ $0.accessToken = { tokens.current } }, manager: manager)
    for try await response in client.subscribe(query, as: Answer.self) { values.append(response.data?.a) }
    #expect(values == [1])
    #expect(tokens.count == 1)
  }

  @Test func missingAcknowledgementTimesOut() async throws {
    server.route("/graphql") { .webSocket($0, subprotocol: "graphql-transport-ws") { while $0.readFrame() != nil {} } }
    let clock = ManualClock()
    let client = client {
      $0.webSocket.clock = clock
      $0.webSocket.connectTimeout = .seconds(86_400)
      // The time for a close handshake is not added.
      $0.webSocket.closeTimeout = .seconds(1 << 40)
    }
    let query = query
    let task = Task { for try await _ in client.subscribe(query, as: Answer.self) {} }
    let moves = Task {
      // Passes the timeouts of the handshake, which is complete, and of the acknowledgement.
      while !Task.isCancelled {
        await clock.waitForSleepers()
        clock.advance(by: .seconds(11))
        await Task.yield()
      }
    }
    await #expect(throws: PrismGraphQLSubscriptionError.notAcknowledged) { try await task.value }
    moves.cancel()
  }

  @Test func completedSubscriptionDoesNotWaitForCloseFrame() async throws {
    let (isOver, hasClosed) = (Gate(), Gate())
    let code = Locked<Data?>(nil)
    server.route("/graphql") { request in
      .webSocket(request, subprotocol: "graphql-transport-ws") { peer in
        guard peer.readFrame() != nil else { return }
        peer.send(#"{"type":"connection_ack"}"#)
        guard peer.readFrame() != nil else { return }
        peer.send(#"{"type":"complete","id":"1"}"#)
        let payload = peer.readFrame()?.payload
        code.withLock { $0 = payload }
        hasClosed.open()
        _ = peer.bytes.wait(for: isOver)
      }
    }
    for try await _ in client({ $0.webSocket.closeTimeout = .seconds(86_400) }).subscribe(query, as: Answer.self) {}
    #expect(await hasClosed.wait())
    // 1000: a normal closure (RFC 6455 §7.4.1).
    #expect(code.withLock { $0 } == Data([0x03, 0xE8]))
    isOver.open()
    #expect(await server.waitForOpenConnections(0))
  }

  @Test func leavingLoopClosesConnection() async throws {
    serveSocket([next(1)], close: 0)
    for try await _ in client().subscribe(query, as: Answer.self) { break }
    #expect(await server.waitForOpenConnections(0))
    let (client, query) = (client(), query)
    let task = Task { for try await _ in client.subscribe(query, as: Answer.self) {} }
    await server.expectRequests(2)
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(await server.waitForOpenConnections(0))
  }
}
