import LoopbackServer
import Testing

@testable import EKNetwork

/// Errors say which request they are about, and how the server has responded.
@Suite(.timeLimit(.minutes(5))) struct FailedExchangeTests {
  private let server: LoopbackServer

  init() throws { server = try LoopbackServer() }

  @Test(arguments: Wire.allCases) func errorOfAStatusSaysWhere(wire: Wire) async throws {
    server.route("POST", "/item") { _ in .json(#"{"title":"full"}"#, status: 507) }
    let url = try #require(URL(string: "http://alice:sesame@127.0.0.1:\(server.port)"))
    let probe = Probe<Item>(method: .post, queryParameters: ["key": "open"])
    for path in ["send", "stream"] {
      let error = await #expect(throws: HTTPError.self) {
        if path == "send" {
          _ = try await wire.manager(url).send(probe)
        } else {
          _ = try await wire.manager(url).stream(probe)
        }
      }
      let place = "http://127.0.0.1:\(server.port)/item?key="
      #expect(error?.method == "POST")
      #expect(error?.url?.absoluteString == place + "open")
      #expect(error?.errorDescription == "Request failed with status code 507")
      let reason = #"POST \#(place)<redacted>; application/json, 16 bytes: {"title":"full"}"#
      #expect(error?.failureReason == reason)
      #expect(error.map { "\($0)" } == "Request failed with status code 507: \(reason)")
      // What was received elsewhere is equal.
      #expect(error.map { HTTPError(statusCode: 507, data: $0.data, headers: $0.headers) } == error)
    }
  }

  #if os(Linux)
    /// A proxy that forwards the requests for `http` URLs responds to them itself.
    @Test func errorOfAProxySaysSo() async throws {
      server.route("/item") { _ in .status(407) }
      let manager = Wire.automatic.manager(try #require(URL(string: "http://origin.invalid"))) {
        $0.connectionProxyDictionary = ["HTTPEnable": 1, "HTTPProxy": "127.0.0.1", "HTTPPort": server.port]
      }
      let error = await #expect(throws: HTTPError.self) { try await manager.send(ItemProbe()) }
      let text = "Request failed with status code 407"
      #expect(error?.errorDescription == text)
      let place = "GET http://origin.invalid/item; 0 bytes"
      #expect(error.map { "\($0)" } == "\(text) (the proxy requires credentials): \(place)")
    }
  #endif

  @Test(arguments: Wire.allCases) func redirectedErrorNamesItsURL(wire: Wire) async throws {
    server.route("/item") { _ in .redirect(to: "/moved") }
    let error = await #expect(throws: HTTPError.self) { try await wire.manager(server).send(ItemProbe()) }
    #expect(error?.url == server.url("/moved"))
    #expect(error?.statusCode == 404)
  }

  @Test(arguments: Wire.allCases, ["<html>sesame</html>", #"{"name":"sesame"}"#])
  func decodingErrorSaysWhatItIsAbout(wire: Wire, body: String) async throws {
    server.route("/item") { _ in .text(body, headers: ["Set-Cookie": "a=sesame"]) }
    let probe = ItemProbe(queryParameters: ["key": "sesame"])
    let error = await #expect(throws: DecodingError.self) { try await wire.manager(server).send(probe) }
    try expectDetails(of: try #require(error), body: body)
    let place = "http://127.0.0.1:\(server.port)/item?key=<redacted>"
    let text = try #require(error.map { "\($0)" })
    #expect(text.contains("(GET \(place), status 200; text/plain, \(body.utf8.count) bytes)"))
    #expect(text.components(separatedBy: "status 200").count == 2, "\(text)")
  }

  @Test func decodingErrorOfAMockSaysWhatItIsAbout() async throws {
    let session = StubSession()
    session.on(.get, "/item", .json(#"{"id":"sesame"}"#, headers: ["Set-Cookie": "a=sesame"]))
    let manager = NetworkManager(baseURL: server.baseURL, session: session)
    let error = await #expect(throws: DecodingError.self) { try await manager.send(ItemProbe()) }
    try expectDetails(of: try #require(error), body: #"{"id":"sesame"}"#)
  }

  private func expectDetails(of error: DecodingError, body: String) throws {
    let response = try #require(error.response)
    #expect(response.statusCode == 200)
    #expect(response.url?.path == "/item")
    #expect(response.data == Data(body.utf8))
    #expect(response.values(for: "set-cookie") == ["a=sesame"])
    // What an app prints or logs has no secrets.
    for text in ["\(error)", String(reflecting: error), error.localizedDescription] {
      #expect(!text.contains("sesame"))
    }
  }

  private struct Own: Error {}

  /// What a decoder or a type has thrown remains: its kind, its path and its underlying error.
  @Test func decodingErrorKeepsItsDetails() throws {
    let url = try #require(URL(string: "https://example.com/a"))
    let response = try #require(HTTPURLResponse(url: url, statusCode: 201, httpVersion: nil, headerFields: nil))
    func about(_ error: DecodingError) -> DecodingError { error.about(response, data: Data(), method: "PUT") }
    func context(_ cause: (any Error)?) -> DecodingError.Context {
      DecodingError.Context(codingPath: [], debugDescription: "bad", underlyingError: cause)
    }
    let named = NSError(domain: "d", code: 7, userInfo: ["k": "v"])
    guard case .typeMismatch(let type, let changed) = about(.typeMismatch(Int.self, context(named))) else {
      Issue.record("another kind")
      return
    }
    #expect(ObjectIdentifier(type) == ObjectIdentifier(Int.self))
    #expect(changed.debugDescription == "bad (PUT https://example.com/a, status 201; 0 bytes)")
    let cause = try #require(changed.underlyingError) as NSError
    #expect(cause.domain == "d" && cause.code == 7 && cause.userInfo["k"] as? String == "v")
    #expect(about(.typeMismatch(Int.self, context(named))).response?.statusCode == 201)
    #expect(about(.typeMismatch(Int.self, context(named))).reason == "bad")
    guard case .dataCorrupted(let own) = about(.dataCorrupted(context(Own()))) else {
      Issue.record("another kind")
      return
    }
    #expect(own.underlyingError is Own)
    #expect(about(.dataCorrupted(context(Own()))).response == nil)
    #expect(about(.valueNotFound(Int.self, context(nil))).response?.statusCode == 201)
    #expect(DecodingError.dataCorrupted(context(nil)).response == nil)
  }

  /// A type that throws its own error decides what the error is.
  @Test func ownDecodingIsLeftAlone() async throws {
    struct Request: NetworkRequest {
      let path = "/item"
      let method = HTTPMethod.get
      func decodeResponse(data: Data, response: URLResponse) throws -> Item {
        throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "own"))
      }
    }
    server.route("/item") { _ in .json("{}") }
    let error = await #expect(throws: DecodingError.self) { try await Wire.automatic.manager(server).send(Request()) }
    guard case .dataCorrupted(let context)? = error else { throw NetworkError.invalidResponse }
    #expect(context.debugDescription == "own")
  }

  @Test func onlyTextIsQuoted() {
    func text(_ data: Data) -> String { FailedExchange(status: 500, data: data).text }
    #expect(text(Data()) == "status 500; 0 bytes")
    #expect(text(Data("a\r\nb\u{202E}c".utf8)) == "status 500; 8 bytes: a  b c")
    #expect(text(Data([0xFF, 0xFE, 0x41])) == "status 500; 3 bytes")
    #expect(text(Data([0x41, 0])) == "status 500; 2 bytes")
    // Nor is a line forged in a field.
    let typed = FailedExchange(status: 500, contentType: "A/B\u{202E}\u{85}c; d=e", data: Data()).text
    #expect(typed == "status 500; a/b  c, 0 bytes")
    // A character is not cut.
    for offset in 0..<4 {
      let long = Data((String(repeating: "a", count: 252 + offset) + "😀😀").utf8)
      #expect(text(long).hasSuffix(offset == 0 ? "a😀…" : "a…"), "\(offset)")
      #expect(!text(long).contains("\u{FFFD}"))
    }
  }

  /// The reason for closing a WebSocket, and the type of what should be events, are the peer's words.
  @Test func causeIsOneLine() {
    let closed = WebSocketError.closed(code: .goingAway, reason: "a\r\nb\u{2028}c")
    let failure = PrismNetworkFailure(.noConnectivity, because: closed)
    #expect(failure.description.hasSuffix("): a  b c"))
    let type = EventStreamError.unexpectedContentType("a/b\u{85}" + String(repeating: "c", count: 1_000))
    let text = "Expected text/event-stream, received a/b " + String(repeating: "c", count: 76)
    #expect(type.errorDescription == text)
    #expect(PrismNetworkFailure(.invalidResponse, because: type).description.hasSuffix(text))
  }

  @Test func failureOfAnEndpointSaysWhere() async throws {
    server.route("/item") { _ in .text("no\nway", status: 403) }
    let error = await #expect(throws: PrismNetworkFailure.self) {
      try await PrismNetworkFailure.detailed {
        try await PrismNetworkAdapter.forTests().request(on: Missing(endpoint: server.endpoint()))
      }
    }
    #expect(error?.method == "GET")
    let place = "GET http://127.0.0.1:\(server.port)/item"
    let text = "Access is denied. (\(place), status 403; text/plain, 6 bytes: no way)"
    #expect(error?.localizedDescription == text)
    #expect(error.map { "\($0)" } == text)
    // Without details it is that of the error.
    #expect(PrismNetworkFailure(.forbidden).localizedDescription == PrismNetworkError.forbidden.localizedDescription)
    let url = try #require(URL(string: "https://u:p@example.com/?a=b"))
    #expect(
      PrismNetworkFailure(.noConnectivity, url: url).localizedDescription
        == "The server cannot be reached, or the connection was lost. (https://example.com/?a=<redacted>)")
  }

  @Test func failureSaysWhy() async throws {
    server.route("/item") { _ in .json(#"{"a":[{"id":"sesame"}]}"#) }
    let error = await #expect(throws: PrismNetworkFailure.self) {
      try await PrismNetworkFailure.detailed {
        try await PrismNetworkAdapter.forTests().request(on: Nested(endpoint: server.endpoint()))
      }
    }
    let text = try #require(error?.localizedDescription)
    let place = "GET http://127.0.0.1:\(server.port)/item"
    let start = "The response is not valid. (\(place), status 200; application/json, 23 bytes) Path: a[0].id. Expected"
    #expect(text.hasPrefix(start), "\(text)")
    #expect(!text.contains("sesame"))

    let slow = URLError(.timedOut, url: nil, description: "It took too long")
    #expect(
      PrismNetworkFailure(.noConnectivity, because: slow).description
        == "The server cannot be reached, or the connection was lost. It took too long")
    // What others throw may say anything.
    #expect(PrismNetworkFailure(.forbidden, because: Own()).description == "Access is denied.")
  }

  private struct Nested: PrismNetworkRequest {
    typealias Response = [String: [Item]]
    let endpoint: LocalEndpoint
  }

  private struct Missing: PrismNetworkRequest {
    typealias Response = Teapot
    let endpoint: LocalEndpoint
  }

  @Test(arguments: [500, 200]) func failureOfGraphQLSaysWhere(status: Int) async throws {
    server.route("POST", "/graphql") { _ in .text("<html>", status: status, headers: ["Content-Type": "text/html"]) }
    let client = PrismGraphQLClient(
      endpointURL: server.url("/graphql"), manager: Wire.automatic.manager(server))
    let error = await #expect(throws: PrismNetworkFailure.self) {
      try await PrismNetworkFailure.detailed {
        try await client.execute(PrismGraphQLQuery(query: "{ a }")) as PrismGraphQLResponse<[String: Int]>
      }
    }
    #expect(error?.error == (status == 500 ? .serverError : .invalidResponse))
    #expect(error?.statusCode == status)
    #expect(error?.method == "POST")
    #expect(error?.data == Data("<html>".utf8))
    #expect(error?.headerFields.value(for: "content-type") == "text/html")
    let place = "POST http://127.0.0.1:\(server.port)/graphql, status \(status); text/html, 6 bytes"
    #expect(error?.localizedDescription.contains(status == 500 ? "(\(place): <html>)" : "(\(place))") == true)
  }

  // MARK: - WebSockets

  private static let refusals: [(name: String, response: LoopbackServer.Response, body: String)] = [
    ("length", .json(#"{"why":1}"#, status: 403), #"{"why":1}"#),
    ("chunks", .chunked([Data("ab".utf8), Data("cd".utf8)], status: 403), "abcd"),
    ("end", .untilClose(Data("because".utf8), status: 403), "because"),
    ("nothing", .status(403), ""),
    ("long", .text(String(repeating: "a", count: 5_000), status: 403), String(repeating: "a", count: 1_024)),
    (
      "long chunks", .chunked([Data(count: 700), Data(count: 700)], status: 403),
      String(decoding: Data(count: 1_024), as: UTF8.self)
    ),
  ]

  @Test func refusalOfAWebSocketIsExplained() async throws {
    for refusal in Self.refusals {
      server.route("/") { _ in refusal.response.header("X-Why", "1").header("X-Why", "2") }
      let response = Locked<NetworkResponse?>(nil)
      var options = WebSocketOptions()
      // It stands still, so that the body is waited for.
      options.clock = ManualClock()
      options.onRefusal = { value in response.withLock { $0 = value } }
      let url = try #require(URL(string: "ws://u:p@127.0.0.1:\(server.port)/?a=b"))
      let error = await #expect(throws: WebSocketError.self, "\(refusal.name)") {
        try await WebSocket.connect(to: url, options: options)
      }
      guard case .refused(403, let headers)? = error else {
        Issue.record("\(refusal.name): \(String(describing: error))")
        continue
      }
      let received = try #require(response.withLock { $0 }, "\(refusal.name)")
      #expect(headers["x-why"] == "1, 2")
      #expect(received.statusCode == 403)
      #expect(received.values(for: "x-why") == ["1", "2"])
      #expect(received.data == Data(refusal.body.utf8), "\(refusal.name)")
      #expect(received.url?.absoluteString == "ws://127.0.0.1:\(server.port)/?a=b")
    }
  }

  /// A server that withholds the body does not delay the status.
  @Test func withheldBodyOfARefusalIsNotWaitedFor() async throws {
    server.route("/") { _ in .streaming(contentLength: 100, status: 503, [.sendString("x"), .stall]) }
    let response = Locked<NetworkResponse?>(nil)
    var options = WebSocketOptions()
    // The wait for the body ends at once, that for the connection never.
    options.clock = PatientClock()
    options.connectTimeout = .seconds(1_000_000)
    options.onRefusal = { value in response.withLock { $0 = value } }
    let url = try #require(URL(string: "ws://127.0.0.1:\(server.port)/"))
    let error = await #expect(throws: WebSocketError.self) { try await WebSocket.connect(to: url, options: options) }
    #expect(error.map { FailureKind($0) } == .temporary)
    #expect(response.withLock { $0 }?.statusCode == 503)
  }

  @Test func cancellationEndsTheWaitForTheBodyOfARefusal() async throws {
    server.route("/") { _ in .streaming(contentLength: 100, status: 503, [.sendString("x"), .stall]) }
    var options = WebSocketOptions()
    let clock = ReportingClock(HandshakeRefusal.patience)
    options.clock = clock
    options.onRefusal = { _ in Issue.record("called after a cancellation") }
    let url = try #require(URL(string: "ws://127.0.0.1:\(server.port)/"))
    let task = Task { [options] in try await WebSocket.connect(to: url, options: options) }
    #expect(await clock.isSleeping.wait())
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }
}

/// A clock that stands still, and reports a sleep of a certain length.
private struct ReportingClock: Clock {
  private let clock = ManualClock()
  private let reported: Swift.Duration
  let isSleeping = Gate()

  init(_ reported: Swift.Duration) { self.reported = reported }

  var now: RecordingClock.Instant { clock.now }
  var minimumResolution: Swift.Duration { clock.minimumResolution }

  func sleep(until deadline: RecordingClock.Instant, tolerance: Swift.Duration?) async throws {
    if now.duration(to: deadline) == reported { isSleeping.open() }
    try await clock.sleep(until: deadline, tolerance: tolerance)
  }
}
