import LoopbackServer
import Testing

@testable import EKNetwork

@Suite(.timeLimit(.minutes(10))) struct EventSourceTests {
  private let server: LoopbackServer
  private let clock = RecordingClock()

  init() throws { server = try LoopbackServer() }

  private static func events(_ text: String, then: LoopbackServer.Response.Step = .close) -> LoopbackServer.Response {
    .streaming(headers: ["Content-Type": "text/event-stream; charset=utf-8"], [.chunk(Data(text.utf8)), then])
  }

  @Test(arguments: Wire.allCases)
  func subscriptionOutlivesConnections(_ wire: Wire) async throws {
    server.route(
      "GET", "/item", Self.events("retry: 700\nid: 1\ndata: a\n\nid: 2\ndata: b\n\ndata: cut"), .status(503),
      Self.events("data: c\n\n"), .status(204))
    var events: [ServerSentEvent] = []
    for try await event in wire.manager(server, clock: clock).events(Probe<EmptyResponse>()) { events.append(event) }
    #expect(events.map(\.data) == ["a", "b", "c"])
    #expect(events.map(\.id) == ["1", "2", "2"])
    let requests = server.requests
    #expect(requests.map { $0.headers["Last-Event-ID"] } == [nil, "2", "2", "2"])
    #expect(requests.allSatisfy { $0.headers["Accept"] == "text/event-stream" })
    #expect(requests.allSatisfy { $0.headers["Cache-Control"] == "no-cache, no-store" })
    #expect(clock.sleeps.first == .milliseconds(700))
    #expect(clock.sleeps.count == 3)
  }

  @Test func fieldsKeepTheirOrder() {
    var base = Probe<EmptyResponse>()
    base.headers = ["X-2": "a", "last-event-id": "1", "X-1": "b"]
    base.headerFields = ["X-9": "c", "X-0": "d", "x-2": "e"]
    let request = EventStreamRequest(
      base: base, lastEventID: "7", silence: nil, maximumResponseSize: nil, refusal: Locked(nil), sequence: Locked(nil),
      wasCarriedOut: Locked(false))
    #expect(request.headers == nil)
    #expect(
      request.headerFields == [
        "X-1": "b", "X-2": "a, e", "X-9": "c", "X-0": "d", "Accept": "text/event-stream",
        "Cache-Control": "no-cache, no-store", "Last-Event-ID": "7",
      ])
  }

  /// A subscription has rules of its own, and the credential of its request.
  @Test func defaultsOfTheClientDoNotApply() async throws {
    struct Feed: NetworkRequest {
      typealias Response = EmptyResponse
      let path = "/item"
      let method = HTTPMethod.get
      var credential: PasswordCredential? { PasswordCredential(user: "ann", password: "secret") }
    }
    server.route(
      "GET", "/item", .status(401, headers: ["WWW-Authenticate": "Basic realm=\"a\""]), .status(503),
      Self.events("data: a\n\n"), .status(204))
    let manager = Wire.automatic.manager(server, clock: clock)
    manager.defaults.acceptedStatuses = .any
    manager.defaults.totalTimeout = .zero
    manager.defaults.maximumResponseSize = 5
    manager.defaults.errorDecoder = { _ in URLError(.cannotParseResponse) }
    var events: [ServerSentEvent] = []
    for try await event in manager.events(Feed()) { events.append(event) }
    #expect(events.map(\.data) == ["a"])
    #expect(server.requests[1].header("Authorization")?.hasPrefix("Basic ") == true)
  }

  /// An ID that no header field can have.
  @Test(arguments: [String(repeating: "x", count: 1_100_000), "a\u{1}b", "a\u{7F}"])
  func subscriptionResumesAfterLastIDThatCanBeSent(_ identifier: String) async throws {
    server.route(
      "GET", "/item", Self.events("id: 1\ndata: a\n\nid: \(identifier)\ndata: b\n\n"), Self.events("data: c\n\n"),
      .status(204))
    var events: [ServerSentEvent] = []
    for try await event in Wire.automatic.manager(server, clock: clock).events(Probe<EmptyResponse>()) {
      events.append(event)
    }
    #expect(events.map(\.id) == ["1", identifier, "1"])
    #expect(server.requests.map { $0.headers["Last-Event-ID"] } == [nil, "1", "1"])
  }

  /// WHATWG HTML §9.2.3: an empty ID is not sent, and that of the request is an earlier one then.
  @Test func requestsOwnIDIsNotSentOnceTheServerHasResetIt() async throws {
    server.route(
      "GET", "/item", Self.events("data: a\n\n"), Self.events("id\ndata: b\n\n"), Self.events("data: c\n\n"),
      .status(204))
    var probe = Probe<EmptyResponse>()
    probe.headers = ["last-event-id": "0"]
    var events: [ServerSentEvent] = []
    for try await event in Wire.automatic.manager(server, clock: clock).events(probe) { events.append(event) }
    #expect(events.map(\.data) == ["a", "b", "c"])
    #expect(events.allSatisfy { $0.id.isEmpty })
    #expect(server.requests.map { $0.headers["Last-Event-ID"] } == ["0", "0", nil, nil])
  }

  private struct Query: NetworkRequest {
    typealias Response = EmptyResponse
    let path = "/item"
    let method = HTTPMethod.post
    let methodName = "QUERY"
    let decodesContent = false
    let timeout: Duration? = .seconds(Int64.max)
  }

  /// A method that `HTTPMethod` does not have, and a timeout that no clock can represent.
  @Test(arguments: Wire.allCases) func customMethodNameIsSent(_ wire: Wire) async throws {
    server.route("/item") { _ in Self.events("data: a\n\n", then: .stall) }
    var iterator = wire.manager(server).events(Query()).makeAsyncIterator()
    #expect(try await iterator.next()?.data == "a")
    #expect(server.requests.map(\.method) == ["QUERY"])
  }

  @Test func restartedServerIsReconnected() async throws {
    server.route("/item") { request in
      request.headers["Last-Event-ID"] == "7"
        ? Self.events("id: 8\ndata: after\n\n", then: .stall) : Self.events("id: 7\ndata: before\n\n", then: .stall)
    }
    var iterator = Wire.automatic.manager(server, clock: clock).events(Probe<EmptyResponse>()).makeAsyncIterator()
    #expect(try await iterator.next()?.data == "before")
    server.closeConnections()
    #expect(try await iterator.next() == ServerSentEvent(data: "after", id: "8"))
  }

  #if os(Linux)
    /// The compression of a stream is not complete when its server dies.
    @Test func incompleteCompressionReconnects() async throws {
      let cut = try Bomb.gzip(Data("id: 7\ndata: before\n\n".utf8)).dropLast(8)
      let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\n\r\n"
      server.route("GET", "/item", .raw([.sendString(head), .send(cut)]), Self.events("data: after\n\n", then: .stall))
      var iterator = Wire.automatic.manager(server, clock: clock).events(Probe<EmptyResponse>()).makeAsyncIterator()
      #expect(try await iterator.next()?.data == "before")
      #expect(try await iterator.next() == ServerSentEvent(data: "after", id: "7"))
      #expect(server.requests.map { $0.headers["Last-Event-ID"] } == [nil, "7"])
    }
  #endif

  @Test(arguments: Wire.allCases)
  func consumedSequenceEndsWithConnectionError(_ wire: Wire) async throws {
    server.route("/item") { _ in Self.events("data: a\n\n") }
    let chunks = AsyncStream<Data> { continuation in
      continuation.yield(Data("hello".utf8))
      continuation.finish()
    }
    var probe = Probe<EmptyResponse>(method: .post)
    probe.body = RequestBody(sequence: chunks, contentType: "text/plain")
    var events: [String] = []
    let error = await #expect(throws: URLError.self) {
      for try await event in wire.manager(server, clock: clock).events(probe) { events.append(event.data) }
    }
    #expect(error?.code == .networkConnectionLost)
    #expect(events == ["a"])
    #expect(server.requests.map(\.body) == [Data("hello".utf8)])
  }

  @Test func requestLimitsAndOptionsApply() async throws {
    server.route("/item") { _ in Self.events(String(repeating: "data: a\n\n", count: 100)) }
    var probe = Probe<EmptyResponse>(method: .post, maximumResponseSize: 100)
    probe.body = RequestBody(data: Data(count: 10), contentType: "a/b")
    probe.expectsContinue = true
    await #expect(throws: ResponseLimitError.self) {
      for try await _ in Wire.automatic.manager(server, clock: clock).events(probe) {}
    }
    #expect(server.requests.first?.headers["Expect"] == "100-continue")
  }

  @Test func leavingTheLoopClosesTheConnection() async throws {
    server.route("/item") { _ in Self.events("data: a\n\n", then: .stall) }
    for try await _ in Wire.automatic.manager(server, clock: clock).events(Probe<EmptyResponse>()) { break }
    #expect(await server.waitForOpenConnections(0))
  }

  @Test func nonEventStreamIsATypedError() async throws {
    server.route("/item") { _ in .text("hello") }
    server.route("/made") { _ in .text("", status: 201) }
    let manager = Wire.automatic.manager(server, clock: clock)
    await #expect(throws: EventStreamError.unexpectedContentType("text/plain; charset=utf-8")) {
      for try await _ in manager.events(Probe<EmptyResponse>()) {}
    }
    await #expect(throws: EventStreamError.unexpectedStatus(201)) {
      for try await _ in manager.events(Probe<EmptyResponse>(path: "/made")) {}
    }
    await #expect(throws: HTTPError.self) {
      for try await _ in manager.events(Probe<EmptyResponse>(path: "/nowhere")) {}
    }
    #expect(clock.sleeps.isEmpty)
  }

  private struct Refusal: Error, Equatable { var text: String }

  @Test func decoderIsNotGivenEarlierResponse() async throws {
    server.route("GET", "/item", .text("busy", status: 503), .text("no", status: 401))
    var probe = Probe<EmptyResponse>()
    probe.errorDecoder = { Refusal(text: String(decoding: $0, as: UTF8.self)) }
    let manager = Wire.automatic.manager(server, clock: clock)
    manager.tokenRefresher = TestTokens("old") { _ in throw NetworkError.unauthorized }
    // Thrown by the refresher; the response with the status 401 is not decoded.
    await #expect(throws: NetworkError.unauthorized) { for try await _ in manager.events(probe) {} }
    #expect(server.requestCount == 2)
  }

  @Test(arguments: Wire.allCases)
  func temporaryErrorIsRetriedDespiteDecoder(_ wire: Wire) async throws {
    let busy = LoopbackServer.Response.text("busy", status: 503).header("Retry-After", "17")
    server.route("GET", "/item", busy, Self.events("data: a\n\n"), .text("gone", status: 410))
    var probe = Probe<EmptyResponse>()
    probe.errorDecoder = { Refusal(text: String(decoding: $0, as: UTF8.self)) }
    var events: [String] = []
    await #expect(throws: Refusal(text: "gone")) {
      for try await event in wire.manager(server, clock: clock).events(probe) { events.append(event.data) }
    }
    #expect(events == ["a"])
    #expect(clock.sleeps.first == .seconds(17))
    server.route("/item") { _ in .text("no", status: 401) }
    await #expect(throws: Refusal(text: "no")) {
      for try await _ in wire.manager(server, clock: clock).events(probe) {}
    }
    server.route("/item") { _ in busy }
    await #expect(throws: Refusal(text: "busy"), "after the last attempt it is the decoder's") {
      let policy = EventReconnectPolicy(maximumFailures: 2)
      for try await _ in wire.manager(server, clock: clock).events(probe, reconnect: policy) {}
    }
  }

  @Test(arguments: Wire.allCases)
  func startsAfterGivenIDAndReportsEachStream(_ wire: Wire) async throws {
    server.route(
      "GET", "/item", Self.events("data: a\n\n"), .status(503), Self.events(": quiet\n"),
      Self.events("id: a\u{1}b\ndata: b\n\n"), .status(204))
    let log = Locked<[String]>([])
    let options = EventSourceOptions(lastEventID: "41") { headers in
      log.withLock { $0.append(headers.field("Content-Type")?.hasPrefix("text/event-stream") == true ? "open" : "?") }
    }
    let manager = wire.manager(server, clock: clock)
    for try await event in manager.events(Probe<EmptyResponse>(), options: options) {
      log.withLock { $0.append(event.data) }
    }
    #expect(log.withLock { $0 } == ["open", "a", "open", "open", "b"])
    #expect(server.requests.map { $0.headers["Last-Event-ID"] } == ["41", "41", "41", "41", "41"])
    let bad = EventSourceOptions(lastEventID: "a\nb")
    await #expect(throws: InvalidHeaderError.self) {
      for try await _ in manager.events(Probe<EmptyResponse>(), options: bad) {}
    }
  }

  @Test func quietFeedIsNeverGivenUp() async throws {
    server.route("/item") { _ in
      self.server.requestCount > 8 ? Self.events("data: at last\n\n", then: .stall) : Self.events(": quiet\n")
    }
    let policy = EventReconnectPolicy(initialDelay: .seconds(3), maximumFailures: 1)
    var iterator = Wire.automatic.manager(server, clock: clock).events(Probe<EmptyResponse>(), reconnect: policy)
      .makeAsyncIterator()
    #expect(try await iterator.next()?.data == "at last")
    #expect(clock.sleeps.count >= 8)
    #expect(clock.sleeps.allSatisfy { $0 <= .seconds(3) }, "it does not back off from what works")
  }

  @Test func idleTimeoutReconnects() async throws {
    let silence = ManualClock()
    server.route("/item") { request in
      request.headers["Last-Event-ID"] == "1"
        ? Self.events("data: b\n\n", then: .stall) : Self.events("id: 1\ndata: a\n\n", then: .stall)
    }
    var options = EventSourceOptions(idleTimeout: .seconds(600))
    options.clock = silence
    let (manager, recorder) = (Wire.automatic.manager(server, clock: clock), HARRecorder())
    let failures = Locked<[any Error]>([])
    manager.attemptMiddleware = [recorder]
    manager.eventHandler = { event in
      if case .failed(let error) = event.kind { failures.withLock { $0.append(error) } }
    }
    var iterator = manager.events(Probe<EmptyResponse>(), options: options).makeAsyncIterator()
    #expect(try await iterator.next()?.data == "a")
    let ticking = Task {
      while !Task.isCancelled, server.requestCount < 2 {
        await silence.waitForSleepers()
        silence.advance(by: .seconds(200))
        await Task.yield()
      }
    }
    #expect(try await iterator.next()?.data == "b")
    ticking.cancel()
    #expect(server.requestCount == 2)
    #expect(failures.withLock { $0 }.map { ($0 as? URLError)?.code } == [.timedOut])
    #expect(try HARProbe.entries(recorder).map(\.error) == ["URLError \(URLError.Code.timedOut.rawValue)"])
  }

  @Test func tokenIsRefreshed() async throws {
    server.route("/item") { $0.headers["Authorization"] == "Bearer new" ? Self.events("data: a\n\n") : .status(401) }
    let tokens = TestTokens("old")
    let manager = Wire.automatic.manager(server, clock: clock)
    manager.tokenRefresher = tokens
    for try await event in manager.events(Probe<EmptyResponse>(), accessToken: { tokens.current }) {
      #expect(event.data == "a")
      break
    }
    #expect(tokens.count == 1)
  }

  @Test func consumedStreamBodyEndsWithConnection() async throws {
    server.route("/item") { _ in Self.events("data: a\n\n", then: .endOfChunks()) }
    let body = RequestBody(stream: InputStream(data: Data("{}".utf8)), contentType: "application/json")
    var events: [String] = []
    for try await event in Wire.automatic.manager(server, clock: clock).events(
      Probe<EmptyResponse>(method: .post, body: body))
    { events.append(event.data) }
    #expect(events == ["a"])
    #expect(server.requestCount == 1)
    server.route("/item") { _ in Self.events("data: a\n\n", then: .reset) }
    let again = RequestBody(stream: InputStream(data: Data("{}".utf8)), contentType: "application/json")
    await #expect(throws: URLError.self) {
      for try await _ in Wire.automatic.manager(server, clock: clock).events(
        Probe<EmptyResponse>(method: .post, body: again))
      {}
    }
  }

  @MainActor @Test func tokenIsReadOnCallersActor() async throws {
    server.route("/item") { _ in Self.events("data: a\n\n") }
    let token: @MainActor () -> String? = {
      MainActor.assertIsolated()
      return "t"
    }
    for try await _ in Wire.automatic.manager(server, clock: clock).events(
      Probe<EmptyResponse>(), accessToken: { token() })
    { break }
    #expect(server.requests.first?.headers["Authorization"] == "Bearer t")
  }

  @Test(arguments: Wire.allCases)
  func chatCompletionIsReadTokenByToken(_ wire: Wire) async throws {
    struct Delta: Decodable {
      let choices: [Choice]; struct Choice: Decodable { let delta: Content };
      struct Content: Decodable { let content: String? }
    }
    let words = ["Hel", "lo", ", ", "wörld", "!"]
    server.route("POST", "/item") { _ in
      .streaming(
        headers: ["Content-Type": "text/event-stream"],
        words.map { .chunk(Data("data: {\"choices\":[{\"delta\":{\"content\":\"\($0)\"}}]}\n\n".utf8)) }
          + [.chunk(Data("data: [DONE]\n\n".utf8)), .endOfChunks()])
    }
    let request = Probe<EmptyResponse>(method: .post, body: RequestBody(encodable: ["stream": true]))
    let response = try await wire.manager(server).stream(request)
    var text = ""
    for try await event in response.events() {
      if event.data == "[DONE]" { break }
      text += try JSONDecoder().decode(Delta.self, from: Data(event.data.utf8)).choices.first?.delta.content ?? ""
    }
    #expect(text == "Hello, wörld!")
  }

  @Test(arguments: Wire.allCases)
  func linesAndRecordsAreParsedOnTheWire(_ wire: Wire) async throws {
    server.route("/item") { _ in
      .chunked([
        Data("{\"id\":1,\"name\":\"ä".utf8.dropLast()), Data([0xA4]), Data("\"}\r\n\n{\"id\":2,\"name\":\"b\"}".utf8),
      ])
    }
    var lines: [String] = []
    for try await line in try await wire.manager(server).stream(Probe<EmptyResponse>()).lines() { lines.append(line) }
    #expect(lines == ["{\"id\":1,\"name\":\"ä\"}", "{\"id\":2,\"name\":\"b\"}"])
    var items: [Item] = []
    for try await item in try await wire.manager(server).stream(Probe<EmptyResponse>()).ndjson(as: Item.self) {
      items.append(item)
    }
    #expect(items == [Item(id: 1, name: "ä"), Item(id: 2, name: "b")])
  }
}
