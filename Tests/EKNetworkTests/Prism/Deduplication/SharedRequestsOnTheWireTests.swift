import LoopbackServer
import Testing

@testable import EKNetwork

@Suite(.timeLimit(.minutes(10))) struct SharedRequestsOnTheWireTests {
  private let server: LoopbackServer
  private let gate = Gate()

  init() throws { server = try LoopbackServer() }

  private func holdItem(_ response: @escaping @Sendable (LoopbackServer.Request) -> LoopbackServer.Response) {
    server.route("GET", "/item") { [gate] request in
      gate.waitBlocking()
      return response(request)
    }
  }

  private func wait(
    _ count: Int, in flights: SharedFlights<ExchangeKey>, _ request: HTTPRequest, over transport: any Transport
  ) async throws {
    let hop = try Exchange(transport: transport).hop(request)
    let key = try #require(ExchangeKey(hop, redirectPolicy: .follow, limits: ResponseLimits()))
    while flights.waiterCount(CollectedResponse.self, of: key) < count { await Task.yield() }
  }

  private func request(_ token: String?, of manager: NetworkManager) throws -> HTTPRequest {
    try RequestBuilder.build(ItemProbe(), baseURL: server.baseURL, accessToken: token, userAgent: nil)
  }

  @Test func concurrentCallersShareOneRequest() async throws {
    holdItem { _ in .json(Item(id: 1)) }
    let manager = Wire.automatic.manager(server)
    manager.sharesIdenticalRequests = true
    let tasks = (0..<100).map { _ in Task { try await manager.send(ItemProbe(), accessToken: { "alice" }) } }
    try await wait(100, in: manager.sharedExchanges, request("alice", of: manager), over: manager.transport)
    gate.open()
    for task in tasks { #expect(try await task.value == Item(id: 1)) }
    #expect(server.requestCount == 1)
    _ = try await manager.send(ItemProbe(), accessToken: { "alice" })
    #expect(server.requestCount == 2)
  }

  @Test func differentTokensAreNotShared() async throws {
    holdItem { request in .json(Item(id: 1, name: request.header("Authorization") ?? "")) }
    let manager = Wire.automatic.manager(server)
    manager.sharesIdenticalRequests = true
    let alice = Task { try await manager.send(ItemProbe(), accessToken: { "alice" }) }
    let bob = Task { try await manager.send(ItemProbe(), accessToken: { "bob" }) }
    await server.expectRequests(2)
    gate.open()
    #expect(try await alice.value.name == "Bearer alice")
    #expect(try await bob.value.name == "Bearer bob")
  }

  /// Requests that treat the response differently are not identical.
  @Test func keyIncludesDecodingAndCacheMode() throws {
    let hop = HopRequest(URLRequest(url: server.url("/item")))
    func key(_ decodesContent: Bool = true, _ cacheMode: CacheMode = .default) -> ExchangeKey? {
      ExchangeKey(
        hop, redirectPolicy: .follow, limits: ResponseLimits(), decodesContent: decodesContent, cacheMode: cacheMode)
    }
    #expect(key() == key())
    #expect(key(false) != key())
    for mode in CacheMode.allCases where mode != .default { #expect(key(true, mode) != key()) }
  }

  /// One of them fails because of a body that the other does not read.
  @Test func requestsThatUseAndIgnoreTheContentAreNotShared() async throws {
    holdItem { _ in .text("not compressed", headers: ["Content-Encoding": "gzip"]) }
    let manager = Wire.automatic.manager(server)
    manager.sharesIdenticalRequests = true
    let reading = Task { try await manager.send(ItemProbe()) }
    await server.expectRequests(1)
    let ignoring = Task { try await manager.send(Probe<EmptyResponse>()) }
    await server.expectRequests(2)
    gate.open()
    _ = try await ignoring.value
    await #expect(throws: (any Error).self) { _ = try await reading.value }
  }

  /// A span of its own does not make a request another one.
  @Test func keyIgnoresTraceFields() throws {
    func key(_ fields: [String: String]) -> ExchangeKey? {
      var request = URLRequest(url: server.url("/item"))
      request.allHTTPHeaderFields = fields
      return ExchangeKey(HopRequest(request), redirectPolicy: .follow, limits: ResponseLimits())
    }
    #expect(key(["Traceparent": "1", "tracestate": "a", "X-A": "b"]) == key(["traceparent": "2", "X-A": "b"]))
    #expect(key(["traceparent": "1", "X-A": "b"]) == key(["X-A": "b"]))
    #expect(key(["traceparent": "1", "X-A": "b"]) != key(["traceparent": "1", "X-A": "c"]))
    #expect(key(["traceparent2": "1"]) != key(["traceparent2": "2"]))
  }

  @Test func nothingIsSharedByDefault() async throws {
    holdItem { _ in .json(Item(id: 1)) }
    let manager = Wire.automatic.manager(server)
    let tasks = (0..<3).map { _ in Task { try await manager.send(ItemProbe()) } }
    await server.expectRequests(3)
    gate.open()
    for task in tasks { _ = try await task.value }
    #expect(server.requestCount == 3)
  }

  @Test func postIsNeverShared() async throws {
    server.route("POST", "/item") { [gate] _ in
      gate.waitBlocking()
      return .json(Item(id: 1))
    }
    let manager = Wire.automatic.manager(server)
    manager.sharesIdenticalRequests = true
    let tasks = (0..<3).map { _ in Task { try await manager.send(ItemProbe(method: .post)) } }
    await server.expectRequests(3)
    gate.open()
    for task in tasks { _ = try await task.value }
  }

  @Test(arguments: [false, true]) func requestFromBeforeChangeIsNotSharedAfterIt(streams: Bool) async throws {
    holdItem { _ in .json(Item(id: 1)) }
    server.route("POST", "/change") { _ in .json(Item(id: 2)) }
    let manager = Wire.automatic.manager(server)
    manager.sharesIdenticalRequests = true
    let before = Task { try await manager.send(ItemProbe()) }
    await server.expectRequests(1)
    let change = ItemProbe(path: "/change", method: .post)
    if streams { _ = try await manager.stream(change) } else { _ = try await manager.send(change) }
    let after = Task { try await manager.send(ItemProbe()) }
    await server.expectRequests(3)
    gate.open()
    _ = try await (before.value, after.value)
    #expect(server.requests(path: "/item").count == 2)
  }

  /// For example, polling while a stream is read.
  @Test(arguments: [false, true]) func requestFromDuringStreamIsNotSharedAfterIt(cancels: Bool) async throws {
    holdItem { _ in .json(Item(id: 1)) }
    let end = Gate()
    server.route(
      "POST", "/change",
      .raw([.sendString("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na"), .wait(end), .sendString("b")]))
    let manager = Wire.automatic.manager(server)
    manager.sharesIdenticalRequests = true
    var stream: StreamingResponse? = try await manager.stream(ItemProbe(path: "/change", method: .post))
    let within = Task { try await manager.send(ItemProbe()) }
    await server.expectRequests(2)
    end.open()
    if !cancels, let body = stream?.body { for try await _ in body {} }
    stream = nil
    let after = Task { try await manager.send(ItemProbe()) }
    await server.expectRequests(3)
    gate.open()
    _ = try await (within.value, after.value)
    #expect(server.requests(path: "/item").count == 2)
  }

  @Test func connectionClosesWithoutWaiters() async throws {
    server.route("GET", "/item") { _ in .raw([.stall]) }
    let manager = Wire.automatic.manager(server)
    manager.sharesIdenticalRequests = true
    let tasks = (0..<3).map { _ in Task { try await manager.send(ItemProbe()) } }
    try await wait(3, in: manager.sharedExchanges, request(nil, of: manager), over: manager.transport)
    await server.expectRequests(1)
    for task in tasks { task.cancel() }
    for task in tasks { await #expect(throws: CancellationError.self) { _ = try await task.value } }
    #expect(await server.waitForOpenConnections(0))
    #expect(server.requestCount == 1)
  }

  @Test func sharedRequestRefreshesTokenOnce() async throws {
    server.route("GET", "/item") { [gate] request in
      if request.header("Authorization") == "Bearer new" { return .json(Item(id: 1)) }
      gate.waitBlocking()
      return .status(401)
    }
    let manager = Wire.automatic.manager(server)
    manager.sharesIdenticalRequests = true
    let tokens = TestTokens("old")
    manager.tokenRefresher = tokens
    let tasks = (0..<20).map { _ in Task { try await manager.send(ItemProbe(), accessToken: { tokens.current }) } }
    try await wait(20, in: manager.sharedExchanges, request("old", of: manager), over: manager.transport)
    gate.open()
    for task in tasks { _ = try await task.value }
    #expect(tokens.count == 1)
    #expect(server.requests(path: "/item").filter { $0.header("Authorization") == "Bearer old" }.count == 1)
  }

  @Test func adapterSharesIdenticalRequests() async throws {
    holdItem { _ in .json(Teapot(id: 1)) }
    let client = PrismNetworkAdapter.forTests()
    client.sharesIdenticalRequests = true
    let request = server.teapot()
    let tasks = (0..<50).map { _ in Task { try await client.request(on: request) } }
    try await wait(
      50, in: client.runner.sharedExchanges, client.own(for: request.endpoint),
      over: client.runner.transport)
    gate.open()
    for task in tasks { #expect(try await task.value == Teapot(id: 1)) }
    #expect(server.requestCount == 1)
    let failing = (0..<2).map { _ in Task { try await client.request(on: server.teapot { $0.path = "/none" }) } }
    for task in failing { await #expect(throws: PrismNetworkError.invalidResponse) { _ = try await task.value } }
  }
}
