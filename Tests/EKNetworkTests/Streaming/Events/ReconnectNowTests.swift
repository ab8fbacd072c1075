import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("Reconnecting a subscription now", .timeLimit(.minutes(10))) struct ReconnectNowTests {
  private let server: LoopbackServer

  init() throws { server = try LoopbackServer() }

  private static func events(_ text: String, then: LoopbackServer.Response.Step = .close) -> LoopbackServer.Response {
    .streaming(headers: ["Content-Type": "text/event-stream"], [.chunk(Data(text.utf8)), then])
  }

  @Test("An open stream is replaced, and resumes after the last event", arguments: Wire.allCases)
  func openStream(_ wire: Wire) async throws {
    server.route(
      "GET", "/item", Self.events("retry: 86400000\nid: 1\ndata: a\n\n", then: .stall),
      Self.events("id: 2\ndata: b\n\n", then: .stall), Self.events("data: c\n\n", then: .stall))
    let events = wire.manager(server, clock: StoppedClock()).events(Probe<EmptyResponse>())
    var iterator = events.makeAsyncIterator()
    #expect(try await iterator.next()?.data == "a")
    // Before or while the loop waits.
    Task { [reconnect = events.reconnect] in reconnect() }
    #expect(try await iterator.next()?.data == "b")
    events.reconnect()
    #expect(try await iterator.next()?.data == "c")
    #expect(server.requests.map { $0.headers["Last-Event-ID"] } == [nil, "1", "2"])
    #expect(await server.waitForOpenConnections(1))
  }

  @Test("What has arrived is delivered before the next stream")
  func nothingIsLost() async throws {
    server.route(
      "GET", "/item", Self.events("id: 1\ndata: a\n\nid: 2\ndata: b\n\n", then: .stall),
      Self.events("data: c\n\n", then: .stall))
    let events = Wire.automatic.manager(server).events(Probe<EmptyResponse>())
    var iterator = events.makeAsyncIterator()
    #expect(try await iterator.next()?.data == "a")
    events.reconnect()
    #expect(try await iterator.next()?.data == "b")
    #expect(try await iterator.next()?.data == "c")
    #expect(server.requests.map { $0.headers["Last-Event-ID"] } == [nil, "2"])
  }

  #if os(Linux)
    @Test("What has arrived and was not read yet is delivered, too: a server without IDs would not send it again")
    func unreadIsDelivered() async throws {
      let (isRead, isSent, isBehind) = (Gate(), Gate(), Gate())
      let first = LoopbackServer.Response.streaming(
        headers: ["Content-Type": "text/event-stream"],
        [
          .chunk(Data("data: a\n\n".utf8)), .wait(isRead), .chunk(Data("data: b\n\ndata: c\n\ndata: ".utf8)),
          .open(isSent), .stall,
        ])
      server.route("GET", "/item", first, Self.events("data: d\n\n", then: .stall))
      server.route("/other") { _ in
        .streaming(
          headers: ["Content-Type": "text/event-stream"],
          [.chunk(Data("data: 1\n\n".utf8)), .wait(isBehind), .chunk(Data("data: 2\n\n".utf8)), .stall])
      }
      let manager = Wire.automatic.manager(server)
      let events = manager.events(Probe<EmptyResponse>())
      var iterator = events.makeAsyncIterator()
      #expect(try await iterator.next()?.data == "a")
      var other = manager.events(Probe<EmptyResponse>(path: "/other")).makeAsyncIterator()
      #expect(try await other.next()?.data == "1")
      isRead.open()
      await isSent.wait()
      isBehind.open()
      // The event loop of an origin reads its connections in the order in which something arrives on them.
      #expect(try await other.next()?.data == "2")
      events.reconnect()
      #expect(try await iterator.next()?.data == "b")
      #expect(try await iterator.next()?.data == "c")
      #expect(try await iterator.next()?.data == "d")
      #expect(server.requests.filter { $0.path == "/item" }.count == 2)
    }
  #endif

  @Test("Several calls are one, also while the loop is busy", arguments: Wire.allCases)
  func severalCalls(_ wire: Wire) async throws {
    server.route(
      "GET", "/item", Self.events("id: 1\ndata: a\n\n", then: .stall), Self.events("data: b\n\n", then: .stall))
    let events = wire.manager(server).events(Probe<EmptyResponse>())
    var iterator = events.makeAsyncIterator()
    #expect(try await iterator.next()?.data == "a")
    for _ in 0..<3 { events.reconnect() }
    #expect(try await iterator.next()?.data == "b")
    #expect(server.requestCount == 2)
  }

  @Test("The list of a request's fields is sent with each connection, but for an old ID")
  func fields() async throws {
    server.route(
      "GET", "/item", Self.events("id: 1\ndata: a\n\n", then: .stall), Self.events("data: b\n\n", then: .stall))
    var probe = Probe<EmptyResponse>()
    probe.headerFields = HeaderFieldList([
      ("Last-Event-ID", "0"), ("X-A", "1"), ("X-A", "2"), ("cache-control", "no-cache"),
    ])
    let events = Wire.automatic.manager(server).events(probe)
    var iterator = events.makeAsyncIterator()
    #expect(try await iterator.next()?.data == "a")
    events.reconnect()
    #expect(try await iterator.next()?.data == "b")
    #expect(server.requests.map { $0.headers["Last-Event-ID"] } == ["0", "1"])
    #expect(server.requests.map { $0.headers["X-A"] } == ["1, 2", "1, 2"])
    #expect(server.requests.map { $0.headers["Cache-Control"] } == ["no-cache", "no-cache"])
  }

  @Test("The wait for the next attempt ends")
  func wait() async throws {
    server.route("GET", "/item", .status(503), .status(503), Self.events("data: a\n\n", then: .stall))
    let clock = StoppedClock()
    let events = Wire.automatic.manager(server, clock: clock).events(Probe<EmptyResponse>())
    let (server, reconnect) = (server, events.reconnect)
    let task = Task {
      for await _ in clock.isSleeping.stream {}
      // The second wait may not have begun.
      while server.requests.count < 3, !Task.isCancelled {
        reconnect()
        await Task.yield()
      }
    }
    defer { task.cancel() }
    var iterator = events.makeAsyncIterator()
    #expect(try await iterator.next()?.data == "a")
  }

  @Test("A call during an attempt that fails, or before its wait begins, ends that wait and no other")
  func beforeTheWait() async throws {
    let call = Locked<(@Sendable () -> Void)?>(nil)
    server.route("/item") { _ in
      guard let reconnect = call.withLock({ $0.take() }) else { return Self.events("data: a\n\n", then: .stall) }
      reconnect()
      return .status(503)
    }
    let events = Wire.automatic.manager(server, clock: StoppedClock()).events(Probe<EmptyResponse>())
    call.withLock { $0 = events.reconnect }
    var iterator = events.makeAsyncIterator()
    #expect(try await iterator.next()?.data == "a")

    let signal = ReconnectSignal()
    signal.send()
    try await signal.sleep(for: .seconds(1), since: 0, clock: StoppedClock())
    let clock = RecordingClock()
    try await signal.sleep(for: .seconds(1), since: 1, clock: clock)
    #expect(clock.sleeps == [.seconds(1)])
  }

  @Test("A cancelled task does not wait, and does not reconnect")
  func cancelled() async throws {
    server.route("GET", "/item", .status(503))
    let clock = StoppedClock()
    let manager = Wire.automatic.manager(server, clock: clock)
    let task = Task {
      for try await _ in manager.events(Probe<EmptyResponse>()) {}
    }
    for await _ in clock.isSleeping.stream {}
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(server.requests.count == 1)
  }

  @Test("A request that is not idempotent is repeated; a body that can be sent only once ends the subscription")
  func bodies() async throws {
    server.route("POST", "/item", Self.events("data: a\n\n", then: .stall), Self.events("data: b\n\n", then: .stall))
    var probe = Probe<EmptyResponse>(method: .post)
    probe.body = RequestBody(data: Data("x".utf8), contentType: "a/b")
    let events = Wire.automatic.manager(server).events(probe)
    var iterator = events.makeAsyncIterator()
    #expect(try await iterator.next()?.data == "a")
    events.reconnect()
    #expect(try await iterator.next()?.data == "b")
    #expect(server.requests.map(\.body) == [Data("x".utf8), Data("x".utf8)])

    server.route("POST", "/item", Self.events("data: a\n\n", then: .stall))
    probe.body = RequestBody(
      sequence: AsyncStream { continuation in
        continuation.yield(Data("x".utf8))
        continuation.finish()
      }, contentType: "a/b")
    let once = Wire.automatic.manager(server).events(probe)
    iterator = once.makeAsyncIterator()
    #expect(try await iterator.next()?.data == "a")
    once.reconnect()
    let error = await #expect(throws: URLError.self) { try await iterator.next() }
    #expect(error?.code == .networkConnectionLost)
    #expect(server.requests.count == 3)
  }

  @Test("A signal that nobody waits for changes nothing")
  func idle() async throws {
    server.route("GET", "/item", Self.events("data: a\n\n"), .status(204))
    let events = Wire.automatic.manager(server, clock: RecordingClock()).events(Probe<EmptyResponse>())
    events.reconnect()
    var iterator = events.makeAsyncIterator()
    #expect(try await iterator.next()?.data == "a")
    #expect(try await iterator.next() == nil)
    events.reconnect()
    #expect(try await iterator.next() == nil)
    #expect(server.requests.count == 2)
  }

  @Test("A client of its own learns where and when to resume", arguments: Wire.allCases)
  func position(_ wire: Wire) async throws {
    let gate = Gate()
    server.route("/item") { _ in
      .streaming(
        headers: ["Content-Type": "text/event-stream"],
        [
          .chunk(Data("data: a\n\nid: 7\nretry: 1500\ndata: b\n\n".utf8)), .wait(gate),
          .chunk(Data("id: 8\n\nid: a\u{1}\ndata: c\n\nretry: x\n\n".utf8)), .endOfChunks(),
        ])
    }
    let response = try await wire.manager(server).stream(Probe<EmptyResponse>())
    let events = response.body.events()
    var iterator = events.makeAsyncIterator()
    #expect(events.lastEventID.isEmpty && events.reconnectionTime == nil)
    #expect(try await iterator.next()?.data == "a")
    #expect(events.lastEventID.isEmpty)
    #expect(try await iterator.next()?.data == "b")
    #expect(events.lastEventID == "7" && events.reconnectionTime == .milliseconds(1500))
    gate.open()
    #expect(try await iterator.next()?.id == "a\u{1}")
    while try await iterator.next() != nil {}
    #expect(events.lastEventID == "8" && events.reconnectionTime == .milliseconds(1500))
  }
}
