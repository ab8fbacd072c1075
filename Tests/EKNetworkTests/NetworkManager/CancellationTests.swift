import LoopbackServer
import Testing

@testable import EKNetwork

/// Cancelling the task ends `send` promptly, at any stage, and closes the connection.
@Suite(.serialized, .timeLimit(.minutes(10))) struct CancellationTests {
  private let server: LoopbackServer

  init() throws { server = try LoopbackServer() }

  /// Cancels `send` when `isReady` returns, up to twenty times.
  ///
  /// The fastest round counts: load may delay any of them, and a missing cancellation makes none of them fast.
  private func expectPromptEnd(
    _ send: @escaping @Sendable () async throws -> Void, isReady: (Int) async -> Void, afterwards: () -> Void = {}
  ) async throws {
    var fastest = Duration.seconds(60)
    for round in 1...20 where fastest >= .milliseconds(round <= 5 ? 50 : 500) {
      let task = Task { try await send() }
      await isReady(round)
      fastest = await min(
        fastest,
        ContinuousClock().measure {
          task.cancel()
          await #expect(throws: CancellationError.self) { try await task.value }
        })
    }
    #expect(fastest < .milliseconds(500))
    afterwards()
    #expect(await server.waitForOpenConnections(0))
  }

  @Test(arguments: Wire.allCases) func beforeStart(_ wire: Wire) async throws {
    let manager = wire.manager(server)
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      _ = try await manager.send(ItemProbe())
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(server.acceptedConnections == 0)
  }

  #if os(Linux)
    @Test(arguments: Wire.allCases) func whileConnecting(_ wire: Wire) async throws {
      var options = LoopbackServer.Options()
      options.backlog = 1
      options.acceptGate = Gate()
      let full = try LoopbackServer(options: options)
      defer { full.stop() }
      // Connections that are not accepted, until the backlog is full.
      var waiting: [RawClient] = []
      while waiting.count < 64, let client = try? RawClient(port: full.port, patience: 100_000) {
        waiting.append(client)
      }
      // The last one, which did not fit, is abandoned.
      let leaving = ContinuousClock.now + .seconds(300)
      while connectingSockets(to: full.port) > 0, ContinuousClock.now < leaving { await Task.yield() }
      let before = connectingSockets(to: full.port)
      let manager = wire.manager(full)
      try await expectPromptEnd {
        _ = try await manager.send(ItemProbe())
      } isReady: { _ in
        let patience = ContinuousClock.now + .seconds(300)
        while connectingSockets(to: full.port) <= before, ContinuousClock.now < patience { await Task.yield() }
        #expect(connectingSockets(to: full.port) > before)
      }
      let patience = ContinuousClock.now + .seconds(300)
      while connectingSockets(to: full.port) > before, ContinuousClock.now < patience { await Task.yield() }
      #expect(connectingSockets(to: full.port) <= before)
      withExtendedLifetime(waiting) {}
    }
  #endif

  @Test(arguments: Wire.allCases) func whileWaitingForHead(_ wire: Wire) async throws {
    server.route("/item") { _ in .raw([.stall]) }
    let manager = wire.manager(server)
    try await expectPromptEnd {
      _ = try await manager.send(ItemProbe())
    } isReady: {
      await server.expectRequests($0)
    }
  }

  @Test(arguments: Wire.allCases) func amidHead(_ wire: Wire) async throws {
    server.route("/item") { _ in .raw([.sendString("HTTP/1.1 200 OK\r\nX-A: "), .stall]) }
    let manager = wire.manager(server)
    try await expectPromptEnd {
      _ = try await manager.send(ItemProbe())
    } isReady: {
      await server.expectRequests($0)
    }
  }

  @Test(arguments: Wire.allCases) func amidBody(_ wire: Wire) async throws {
    server.route("/item") { _ in .streaming(contentLength: 200_000, [.send(Data(count: 100_000)), .stall]) }
    let manager = wire.manager(server)
    let progress = Locked(NetworkProgress())
    try await expectPromptEnd {
      _ = try await manager.send(ItemProbe(progress: progress.withLock { $0 }))
    } isReady: { _ in
      let progress = progress.withLock { $0 }
      for await fraction in progress.$fractionCompleted.values where fraction > 0 { break }
    }
  }

  @Test(arguments: Wire.allCases, [true, false])
  func whileUploading(_ wire: Wire, _ isStream: Bool) async throws {
    let stalled = Locked<[Gate]>([])
    // The server sees the end of the connection only after it has read what the system has buffered.
    let goOn = Gate()
    server.route("POST", "/item") { _ in
      let gate = Gate()
      stalled.withLock { $0.append(gate) }
      return .steps([.read(total: 1 << 16), .open(gate), .wait(goOn)])
    } _: { _ in
      .json(Item(id: 1))
    }
    let manager = wire.manager(server)
    let data = Data(count: 32 << 20)
    try await expectPromptEnd {
      let body =
        isStream
        ? RequestBody(stream: InputStream(data: data), contentType: "text/x")
        : RequestBody(data: data, contentType: "text/x")
      _ = try await manager.send(ItemProbe(method: .post, body: body))
    } isReady: { round in
      #expect(await server.waitForAcceptedConnections(round))
      while stalled.withLock({ $0.count }) < round { await Task.yield() }
      await stalled.withLock { $0[round - 1] }.wait()
    } afterwards: {
      goOn.open()
    }
  }

  @Test(arguments: Wire.allCases) func whileFollowingRedirect(_ wire: Wire) async throws {
    server.route("/item") { _ in .redirect(to: "/there", status: 302) }
    server.route("/there") { _ in .raw([.stall]) }
    let manager = wire.manager(server)
    try await expectPromptEnd {
      _ = try await manager.send(ItemProbe())
    } isReady: {
      await server.expectRequests($0, path: "/there")
    }
  }

  @Test func duringRetryDelay() async throws {
    server.route("/item") { _ in .status(500).then(.close) }
    let clock = ManualClock()
    let manager = Wire.automatic.manager(server, clock: clock)
    try await expectPromptEnd {
      let policy = RetryPolicy(maxRetryCount: 9, delay: 3_600, shouldRetry: { _ in true })
      _ = try await manager.send(ItemProbe(retryPolicy: policy))
    } isReady: { _ in
      await clock.waitForSleepers()
    }
    #expect(clock.sleeperCount == 0)
    #expect(server.requests.allSatisfy { $0.indexOnConnection == 0 })
  }

  @Test func duringTokenRefresh() async throws {
    server.route("/item") {
      $0.headers["Authorization"] == "Bearer new" ? .json(Item(id: 1)) : .status(401).then(.close)
    }
    let (started, finish) = (Gate(), Gate())
    let tokens = TestTokens("old") { _ in
      started.open()
      await finish.wait()
      return "new"
    }
    let manager = Wire.automatic.manager(server)
    manager.tokenRefresher = tokens
    try await expectPromptEnd {
      _ = try await manager.send(ItemProbe()) { tokens.current }
    } isReady: { _ in
      await started.wait()
      while manager.tokens.waiterCount == 0 { await Task.yield() }
    }
    // The shared refresh is not cancelled with its callers.
    finish.open()
    #expect(try await manager.send(ItemProbe()) { tokens.current } == Item(id: 1))
    #expect(tokens.count == 1)
  }
}
