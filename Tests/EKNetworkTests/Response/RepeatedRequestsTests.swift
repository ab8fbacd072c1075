import LoopbackServer
import Testing

@testable import EKNetwork

/// What each loop that repeats something does with a response that is complete, and with a request that was processed.
@Suite(.timeLimit(.minutes(10))) struct RepeatedRequestsTests {
  private let server: LoopbackServer
  private let clock = RecordingClock()

  init() throws { server = try LoopbackServer() }

  private struct Always: PrismRetryPolicy {
    func shouldRetry(for error: Error, attempt: Int) -> Bool { attempt < 3 }
    func delay(for attempt: Int) -> Duration { .zero }
  }

  enum Loop: CaseIterable, Sendable {
    case retryPolicy, everything, prismPolicy, adapter, retryable, download, events, queue, socket
  }

  #if os(Linux)
    /// A complete response whose content coding is wrong.
    private static let undecodable: [LoopbackServer.Response] = [
      .data(Data("no gzip".utf8), headers: ["Content-Encoding": "gzip"]),
      .data(Data("a".utf8), headers: ["Content-Encoding": "unheard-of"]),
    ]

    @Test(arguments: Loop.allCases, [HTTPMethod.get, .post])
    func completeResponseIsNotRequestedAgain(_ loop: Loop, _ method: HTTPMethod) async throws {
      for response in Self.undecodable {
        server.reset()
        server.route("/item") { _ in response.header("Content-Type", "text/event-stream") }
        await #expect(throws: (any Error).self) { try await run(loop, method) }
        #expect(server.requestCount == 1, "\(loop) \(method) \(response.headers)")
      }
    }
  #endif

  private func run(_ loop: Loop, _ method: HTTPMethod) async throws {
    let manager = Wire.automatic.manager(server, clock: clock)
    let client = PrismNetworkAdapter.forTests(retryPolicy: loop == .adapter ? Always() : nil, clock: clock)
    let request = server.teapot { $0.method = method == .get ? .get : .post }
    var probe = Probe<Data>(method: method)
    switch loop {
    case .retryPolicy:
      probe.retryPolicy = RetryPolicy(maxRetryCount: 2)
      _ = try await manager.send(probe)
    case .everything:
      probe.retryPolicy = RetryPolicy(maxRetryCount: 2) { _ in true }
      _ = try await manager.send(probe)
    case .prismPolicy:
      probe.retryPolicy = RetryPolicy(Always())
      _ = try await manager.send(probe)
    case .adapter: _ = try await client.request(on: request)
    case .retryable:
      _ = try await PrismRetryableRequest(policy: Always(), clock: clock) { try await client.request(on: request) }
        .execute()
    case .download:
      // A download asks for no coding; this one does.
      probe.headers = ["Accept-Encoding": "gzip"]
      probe.retryPolicy = RetryPolicy(maxRetryCount: 2) { _ in true }
      let folder = try ScratchFolder()
      _ = try await manager.download(probe, to: folder["file"])
    case .events: for try await _ in manager.events(probe) {}
    case .queue:
      let undelivered = Locked<(any Error)?>(nil)
      var options = PrismOfflineQueueOptions()
      options.undelivered = { _, error in undelivered.withLock { $0 = error } }
      let sent = probe
      nonisolated(unsafe) let lent = sent
      let queue = try PrismOfflineQueue(
        directory: nil, delivery: .each { _ in _ = try await manager.send(lent) }, autoFlush: false, options: options)
      try await queue.enqueue(URLRequest(url: server.url("/item")))
      try await queue.flush()
      #expect(await queue.count == 0)
      if let error = undelivered.withLock({ $0 }) { throw error }
    case .socket:
      nonisolated(unsafe) let lent = probe
      var options = WebSocketOptions()
      options.clock = clock
      let socket = ReconnectingWebSocket(options: options) {
        _ = try await manager.send(lent)
        return URLRequest(url: server.url("/item"))
      }
      _ = try await socket.receive()
    }
  }

  /// RFC 9110 §9.2.2: a stream that has ended was processed, and so was the POST that a redirect has made a GET of.
  @Test(
    arguments: Wire.allCases,
    [
      (HTTPMethod.post, nil, false, 1), (.post, true, false, 2), (.get, nil, false, 2), (.get, false, false, 1),
      (.post, nil, true, 1),
    ] as [(HTTPMethod, Bool?, Bool, Int)])
  func subscriptionRepeatsWhatIsIdempotent(
    _ wire: Wire, _ row: (method: HTTPMethod, isIdempotent: Bool?, isRedirected: Bool, count: Int)
  ) async throws {
    let ended = Locked(0)
    let stream: @Sendable () -> LoopbackServer.Response = {
      let count = ended.withLock { count in
        count += 1
        return count
      }
      return count == 1
        ? .streaming(
          headers: ["Content-Type": "text/event-stream"], [.chunk(Data("data: a\n\n".utf8)), .endOfChunks()])
        : .status(204)
    }
    server.route("/item") { _ in row.isRedirected ? .redirect(to: "/done", status: 303) : stream() }
    server.route("/done") { _ in stream() }
    var probe = Probe<EmptyResponse>(method: row.method)
    probe.resends = row.isIdempotent
    var events: [String] = []
    for try await event in wire.manager(server, clock: clock).events(probe) { events.append(event.data) }
    #expect(events == ["a"])
    #expect(server.requests.filter { $0.path == "/item" }.count == row.count)
  }

  @Test(
    arguments: Wire.allCases, ["application/json", "text/plain; charset=utf-8", "text/event-stream; charset=utf-8"])
  func eventsOfAnotherTypeAreATypedError(_ wire: Wire, _ type: String) async throws {
    server.route("POST", "/item") { _ in .data(Data(#"{"error": "busy"}"#.utf8), contentType: type) }
    let manager = wire.manager(server)
    let isStream = type.hasPrefix("text/event-stream")
    for readsBody in [false, true] {
      let response = try await manager.stream(Probe<EmptyResponse>(method: .post))
      let read = {
        if readsBody { for try await _ in response.body.events() {} } else { for try await _ in response.events() {} }
      }
      if isStream {
        try await read()
      } else {
        await #expect(throws: EventStreamError.unexpectedContentType(type)) { try await read() }
      }
    }
  }

  /// An operation that has sent a POST is not repeated because of what came after it.
  @Test(arguments: [(PrismNetworkMethod.post, 2), (.put, 4)])
  func successfulRequestIsNotRepeatedByItsOperation(_ method: PrismNetworkMethod, _ count: Int) async throws {
    server.route(method.rawValue, "/item") { _ in .json(Teapot(id: 1)) }
    server.route("GET", "/item", .status(503), .json(Teapot(id: 2)))
    let client = PrismNetworkAdapter.forTests()
    let (first, second) = (server.teapot { $0.method = method }, server.teapot())
    let operation = PrismRetryableRequest(policy: Always(), clock: clock) {
      _ = try await client.request(on: first)
      return try await client.request(on: second)
    }
    _ = try? await operation.execute()
    #expect(server.requestCount == count)
  }

  private struct Refused: Error {}

  /// The status goes along with the error that the request's own decoder makes of the response, and decides even if that
  /// error has a meaning of its own.
  @Test(arguments: [422, 404, 401, 501, 503, 500, 429])
  func decodedErrorKeepsItsStatus(_ status: Int) async throws {
    let isRepeated = [503, 500, 429].contains(status)
    let policies: [RetryPolicy] = [
      RetryPolicy(PrismLinearRetry(fixedDelay: .zero, maxAttempts: 1)),
      RetryPolicy(PrismExponentialBackoff(baseDelay: .zero, maxDelay: .zero, maxAttempts: 1)),
      RetryPolicy(maxRetryCount: 1, delay: 0, shouldRetry: RetryPolicy.isTransient),
    ]
    let unreadable = DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "no JSON"))
    let errors: [any Error] = [Refused(), unreadable, URLError(.cannotDecodeContentData), URLError(.timedOut)]
    for (index, policy) in policies.enumerated() {
      for error in errors {
        server.reset()
        server.route("POST", "/item") { _ in .text("why", status: status) }
        let probe = ItemProbe(method: .post, retryPolicy: policy, errorDecoder: { _ in error })
        let thrown = await #expect(throws: (any Error).self) {
          _ = try await Wire.automatic.manager(server, clock: clock).send(probe)
        }
        #expect(thrown.map { "\(type(of: $0))" } == "\(type(of: error))")
        #expect(server.requestCount == (isRepeated ? 2 : 1), "policy \(index), \(error)")
      }
    }
    // Those of the library say themselves what they mean.
    for (index, policy) in policies.enumerated() {
      for (error, count) in [(PrismNetworkError.badRequest, 1), (.serverError, 2)] {
        server.reset()
        server.route("PUT", "/item") { _ in .status(status) }
        let probe = ItemProbe(method: .put, retryPolicy: policy, errorDecoder: { _ in error })
        await #expect(throws: error) { _ = try await Wire.automatic.manager(server, clock: clock).send(probe) }
        #expect(server.requestCount == count, "policy \(index), \(error)")
      }
    }
    let byDefault = RetryPolicy(maxRetryCount: 1, delay: 0)
    server.reset()
    server.route("POST", "/item") { _ in .status(status) }
    let probe = ItemProbe(method: .post, retryPolicy: byDefault, errorDecoder: { _ in Refused() })
    await #expect(throws: Refused.self) { _ = try await Wire.automatic.manager(server, clock: clock).send(probe) }
    #expect(server.requestCount == (status == 401 ? 1 : 2))
  }

  @Test func policyFindsTheResponseOfADecodedError() async throws {
    struct Recorder: PrismRetryPolicy {
      let found = Locked<PrismNetworkFailure?>(nil)
      func shouldRetry(for error: Error, attempt: Int) -> Bool {
        found.withLock { $0 = PrismNetworkFailure.current }
        return false
      }
      func delay(for attempt: Int) -> Duration { .zero }
    }
    server.route("/item") { _ in .text("why", status: 422, headers: ["X-A": "b"]) }
    let policy = Recorder()
    let probe = ItemProbe(retryPolicy: RetryPolicy(policy), errorDecoder: { _ in Refused() })
    await #expect(throws: Refused.self) { _ = try await Wire.automatic.manager(server).send(probe) }
    let failure = policy.found.withLock { $0 }
    #expect(failure?.statusCode == 422)
    #expect(failure?.data == Data("why".utf8))
    #expect(failure?.headers.field("x-a") == "b")
    #expect(failure?.underlyingError is Refused)
  }

  /// The requests fail while another one is awaited.
  @Test(arguments: [0, 1], [false, true])
  func detailsAreThoseOfTheErrorThatIsThrown(_ thrown: Int, isCaught: Bool) async throws {
    let failed = Locked(0)
    let server = server
    for name in ["a", "b"] { server.route("/\(name)") { _ in .text(name, status: 404) } }
    server.route("/slow") { _ in .json(Teapot(id: 1)) }
    let client = PrismNetworkAdapter.forTests()
    let failure = await #expect(throws: PrismNetworkFailure.self) {
      try await PrismNetworkFailure.detailed {
        let failing = ["a", "b"].map { name in
          Task {
            defer { failed.withLock { $0 += 1 } }
            return try await client.request(on: server.teapot { $0.path = "/\(name)" })
          }
        }
        for task in failing { _ = await task.result }
        _ = try await client.request(on: server.teapot { $0.path = "/slow" })
        do { _ = try await failing[thrown].value } catch let error as PrismNetworkError where isCaught { throw error }
      }
    }
    #expect(failure?.error == .invalidResponse)
    // One that was caught as a value, and thrown again, might be that of either request.
    #expect(failure?.url?.path == (isCaught ? nil : ["/a", "/b"][thrown]))
    #expect(failure?.data == (isCaught ? Data() : Data(["a", "b"][thrown].utf8)))
  }
}
