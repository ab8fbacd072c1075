import LoopbackServer
import Testing

@testable import EKNetwork

struct TokenRefreshOnTheWireTests {
  private let server: LoopbackServer

  init() throws {
    server = try LoopbackServer()
    server.route("/item") { $0.headers["Authorization"] == "Bearer new" ? .json(Item(id: 1)) : .status(401) }
  }

  @Test(arguments: Wire.allCases)
  func manyUnauthorizedResponsesCauseOneRefresh(_ wire: Wire) async throws {
    let tokens = TestTokens("old")
    let manager = wire.manager(server)
    manager.tokenRefresher = tokens
    let count = wire == .automatic ? 1_000 : 200
    try await withThrowingTaskGroup(of: Item.self) { group in
      for _ in 0..<count { group.addTask { try await manager.send(ItemProbe()) { tokens.current } } }
      for try await item in group { #expect(item == Item(id: 1)) }
    }
    #expect(tokens.count == 1)
  }

  /// The refresh does not need the body of the 401.
  @Test(arguments: Wire.allCases)
  func unauthorizedIsRefreshedDespiteItsBody(_ wire: Wire) async throws {
    let body = Data(count: 2 << 20)
    server.route("/item") {
      $0.headers["Authorization"] == "Bearer new" ? .json(Item(id: 1)) : .data(body, status: 401)
    }
    server.route("/broken") {
      $0.headers["Authorization"] == "Bearer new"
        ? .json(Item(id: 1)) : .streaming(contentLength: 100, status: 401, [.sendString("x"), .close])
    }
    let folder = try ScratchFolder()
    for path in ["/item", "/broken"] {
      for isDownload in [false, true] {
        let tokens = TestTokens("old")
        let manager = wire.manager(server)
        manager.tokenRefresher = tokens
        let probe = ItemProbe(path: path)
        if isDownload {
          #expect(try await manager.download(probe, to: folder["a"]) { tokens.current }.statusCode == 200)
        } else {
          #expect(try await manager.stream(probe) { tokens.current }.statusCode == 200)
        }
        #expect(tokens.count == 1)
      }
    }
    // Without a refresher the original error is thrown.
    await #expect(throws: StreamingError.errorPayloadTooLarge(limitBytes: 1 << 20)) {
      _ = try await wire.manager(server).stream(ItemProbe()) { "old" }
    }
  }

  /// RFC 9110 §15.4.4: the redirect says that the POST was carried out.
  @Test(arguments: Wire.allCases) func refreshDoesNotRepeatRedirectedPOST(_ wire: Wire) async throws {
    for (method, isRepeated) in [(HTTPMethod.post, false), (.put, true)] {
      server.reset()
      server.route("/order") { _ in .redirect(to: "/item", status: 303) }
      let tokens = TestTokens("old")
      let manager = wire.manager(server)
      manager.tokenRefresher = tokens
      let order = ItemProbe(path: "/order", method: method)
      if isRepeated {
        #expect(try await manager.send(order) { tokens.current } == Item(id: 1))
      } else {
        await #expect(throws: NetworkError.unauthorized) { _ = try await manager.send(order) { tokens.current } }
      }
      #expect(server.requests(path: "/order").count == (isRepeated ? 2 : 1))
    }
  }

  @Test func refresherMayUseSameManager() async throws {
    server.route("/token") { $0.headers["Authorization"] == nil ? .json(Item(id: 9, name: "new")) : .status(400) }
    let manager = Wire.automatic.manager(server)
    let tokens = TestTokens("old") { _ in try await manager.send(ItemProbe(path: "/token")).name }
    manager.tokenRefresher = tokens
    #expect(try await manager.send(ItemProbe()) { tokens.current } == Item(id: 1))
    manager.tokenRefresher = nil
  }

  @Test(.timeLimit(.minutes(10))) func unauthorizedRefreshRequestFails() async throws {
    server.route("/token") { _ in .status(401) }
    let manager = Wire.automatic.manager(server)
    let tokens = TestTokens("old") { _ in try await manager.send(ItemProbe(path: "/token")).name }
    manager.tokenRefresher = tokens
    await #expect(throws: NetworkError.unauthorized) { _ = try await manager.send(ItemProbe()) { tokens.current } }
    #expect(tokens.count == 1)
    manager.tokenRefresher = nil
  }

  @Test func failedRefreshIsThrownAndTriedAgain() async throws {
    struct NoToken: Error {}
    let tokens = TestTokens("old") { number in
      if number == 1 { throw NoToken() }
      return "new"
    }
    let manager = Wire.automatic.manager(server)
    manager.tokenRefresher = tokens
    await #expect(throws: NoToken.self) { _ = try await manager.send(ItemProbe()) { tokens.current } }
    #expect(try await manager.send(ItemProbe()) { tokens.current } == Item(id: 1))
    #expect(tokens.count == 2)
  }

  @Test func outdatedTokenIsResentWithoutRefresh() async throws {
    let gate = Gate()
    let tokens = TestTokens("old")
    let manager = Wire.automatic.manager(server)
    manager.tokenRefresher = tokens
    server.route("/slow") { request in
      guard request.headers["Authorization"] == "Bearer old" else { return .json(Item(id: 2)) }
      gate.waitBlocking()
      return .status(401)
    }
    let slow = Task { try await manager.send(ItemProbe(path: "/slow")) { tokens.current } }
    #expect(await server.waitForAcceptedConnections(1))
    while tokens.current == "old" { _ = try await manager.send(ItemProbe()) { tokens.current } }
    gate.open()
    #expect(try await slow.value.id == 2)
    #expect(tokens.count == 1)
  }

  @Test(arguments: Wire.allCases)
  func secondUnauthorizedIsFinal(_ wire: Wire) async throws {
    struct Refused: Error {}
    let tokens = TestTokens("old") { _ in "still wrong" }
    let manager = wire.manager(server)
    manager.tokenRefresher = tokens
    await #expect(throws: NetworkError.unauthorized) { _ = try await manager.send(ItemProbe()) { tokens.current } }
    #expect(server.requestCount == 2)
    await #expect(throws: Refused.self) {
      _ = try await manager.send(ItemProbe(errorDecoder: { _ in Refused() })) { tokens.current }
    }
  }

  @Test func noRefreshWithoutPermissionOrRefresher() async throws {
    let tokens = TestTokens("old")
    let manager = Wire.automatic.manager(server)
    await #expect(throws: NetworkError.unauthorized) { _ = try await manager.send(ItemProbe()) { "old" } }
    manager.tokenRefresher = tokens
    await #expect(throws: NetworkError.unauthorized) {
      _ = try await manager.send(ItemProbe(allowsRetry: false)) { tokens.current }
    }
    #expect(tokens.count == 0)
    #expect(server.requestCount == 2)
  }

  @Test func consumedStreamIsNotResent() async throws {
    let tokens = TestTokens("old")
    let manager = Wire.automatic.manager(server)
    manager.tokenRefresher = tokens
    let body = RequestBody(stream: InputStream(data: Data(count: 10)), contentType: "text/x")
    await #expect(throws: NetworkError.unauthorized) {
      _ = try await manager.send(ItemProbe(method: .post, body: body)) { tokens.current }
    }
    #expect(server.requestCount == 1)
    #expect(tokens.count == 0)
  }

  @Test(.timeLimit(.minutes(10))) func cancelledWaiterDoesNotStopRefresh() async throws {
    let gate = Gate()
    let started = Gate()
    let tokens = TestTokens("old") { _ in
      started.open()
      await gate.wait()
      return "new"
    }
    let manager = Wire.automatic.manager(server)
    manager.tokenRefresher = tokens
    let leaving = Task { try await manager.send(ItemProbe()) { tokens.current } }
    let staying = Task { try await manager.send(ItemProbe()) { tokens.current } }
    await started.wait()
    leaving.cancel()
    await #expect(throws: CancellationError.self) { _ = try await leaving.value }
    gate.open()
    #expect(try await staying.value == Item(id: 1))
    #expect(tokens.count == 1)
  }

  /// The refresh ends when all requests have got a 401, so that none of them can have had the new token.
  @Test(.timeLimit(.minutes(10))) func thousandRequestsShareOneRefresh() async throws {
    let tokens = TestTokens("old") { [server] _ in
      await server.expectRequests(1_000)
      return "new"
    }
    let manager = Wire.automatic.manager(server)
    manager.tokenRefresher = tokens
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<1_000 { group.addTask { _ = try await manager.send(ItemProbe()) { tokens.current } } }
      try await group.waitForAll()
    }
    #expect(tokens.count == 1)
    let sent = server.requests.compactMap { $0.headers["Authorization"] }
    #expect(sent.filter { $0 == "Bearer old" }.count == 1_000)
    #expect(sent.filter { $0 == "Bearer new" }.count == 1_000)
  }

  @Test(.timeLimit(.minutes(10))) func failedRefreshReachesAllWaiters() async throws {
    struct NoToken: Error {}
    let server = server
    let tokens = TestTokens("old") { number in
      if number > 1 { return "new" }
      await server.expectRequests(100)
      throw NoToken()
    }
    let manager = Wire.automatic.manager(server)
    manager.tokenRefresher = tokens
    let failures = await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<100 {
        group.addTask {
          do { _ = try await manager.send(ItemProbe()) { tokens.current } } catch { return error is NoToken }
          return false
        }
      }
      return await group.reduce(0) { $1 ? $0 + 1 : $0 }
    }
    // Some responses may arrive after the refresh has failed; these cause another refresh.
    #expect(failures >= 1)
    #expect(tokens.count == (failures == 100 ? 1 : 2))
    #expect(try await manager.send(ItemProbe()) { tokens.current } == Item(id: 1))
    #expect(tokens.count == 2)
  }
}
