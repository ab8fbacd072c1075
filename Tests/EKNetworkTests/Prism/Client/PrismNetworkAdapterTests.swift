import LoopbackServer
import Testing

@testable import EKNetwork

struct PrismNetworkAdapterTests {
  private let server: LoopbackServer
  private let client = PrismNetworkAdapter.forTests()

  init() throws { server = try LoopbackServer() }

  @Test(arguments: [TransportChoice.automatic, .urlSession])
  func decodesEntityAndList(_ transport: TransportChoice) async throws {
    server.route("GET", "/item") { _ in .json(Teapot(id: 1)) }
    server.route("GET", "/items") { _ in .json([Teapot(id: 1), Teapot(id: 2)]) }
    let client = PrismNetworkAdapter.forTests(transport: transport)
    #expect(try await client.request(on: server.teapot()) == Teapot(id: 1))
    let list = LocalRequest<[Teapot]>(server.endpoint { $0.path = "/items" })
    #expect(try await client.request(on: list).map(\.id) == [1, 2])
  }

  @Test func sendsEndpointAsRequest() async throws {
    server.route("POST", "/a b") { _ in .json(Teapot(id: 1)) }
    server.fallback = { _ in .json(Teapot(id: 1)) }
    _ = try await client.request(
      on: server.teapot {
        $0.method = .post
        $0.path = "/a b"
        $0.queryItems = [URLQueryItem(name: "q", value: "x y")]
        $0.headers = ["X-Token": "secret", "Content-Type": "application/json"]
        $0.text = #"{"a":1}"#
      })
    let request = try #require(server.requests.first)
    #expect(request.method == "POST")
    #expect(request.target == "/a%20b?q=x%20y")
    #expect(request.header("X-Token") == "secret")
    #expect(request.header("Content-Type") == "application/json")
    #expect(request.text == #"{"a":1}"#)
  }

  @Test func decodesDatesWithAndWithoutFormatter() async throws {
    struct Event: PrismEntity, Sendable { let at: Date }
    server.route("/iso") { _ in .json(#"{"at":"2001-01-01T00:00:01Z"}"#) }
    server.route("/fraction") { _ in .json(#"{"at":"2001-01-01T00:00:01.000+00:00"}"#) }
    server.route("/number") { _ in .json(#"{"at":1}"#) }
    server.route("/own") { _ in .json(#"{"at":"01|01|2001 00:00:01"}"#) }
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(identifier: "GMT")
    formatter.dateFormat = "dd|MM|yyyy HH:mm:ss"
    let expected = Event(at: Date(timeIntervalSinceReferenceDate: 1))
    for path in ["/iso", "/fraction", "/number"] {
      #expect(try await client.request(on: LocalRequest<Event>(server.endpoint { $0.path = path })) == expected)
    }
    let own = LocalRequest<Event>(server.endpoint { $0.path = "/own" })
    #expect(try await client.request(on: own, with: formatter) == expected)
    await #expect(throws: PrismNetworkError.invalidResponse) { _ = try await client.request(on: own) }
  }

  @Test func decodesDataAndEmptyResponse() async throws {
    server.route("/bytes") { _ in .data(Data([1, 2, 3])) }
    server.route("/nothing") { _ in .status(204) }
    #expect(
      try await client.request(on: LocalRequest<Data>(server.endpoint { $0.path = "/bytes" })) == Data([1, 2, 3]))
    let nothing = LocalRequest<EmptyResponse>(server.endpoint { $0.path = "/nothing" })
    #expect(try await client.request(on: nothing) == EmptyResponse())
  }

  @Test(arguments: [
    (400, PrismNetworkError.badRequest), (401, .unauthorized), (403, .forbidden), (404, .invalidResponse),
    (408, .serverError), (418, .invalidResponse), (429, .serverError), (500, .serverError), (503, .serverError),
    (599, .serverError), (304, .invalidResponse),
  ])
  func errorStatusKeepsResponseDetails(_ status: Int, _ expected: PrismNetworkError) async throws {
    server.route("/item") { _ in
      status == 304 ? .status(304) : .text("reason", status: status, headers: ["X-A": "b"])
    }
    await #expect(throws: expected) { _ = try await client.request(on: server.teapot()) }
    let failure = await #expect(throws: PrismNetworkFailure.self) {
      try await PrismNetworkFailure.detailed { try await client.request(on: server.teapot()) }
    }
    #expect(failure?.error == expected)
    #expect(failure?.statusCode == status)
    #expect(failure?.underlyingError is HTTPError)
    if status != 304 {
      #expect(failure?.data == Data("reason".utf8))
      #expect(failure?.headers["X-A"] == "b")
    }
    #expect(failure?.url?.path == "/item")
  }

  @Test func undecodableBodyIsInvalidResponse() async throws {
    server.route("/item") { _ in .text("no json") }
    let failure = await #expect(throws: PrismNetworkFailure.self) {
      try await PrismNetworkFailure.detailed { try await client.request(on: server.teapot()) }
    }
    #expect(failure?.error == .invalidResponse)
    #expect(failure?.underlyingError is DecodingError)
    #expect(failure?.statusCode == 200)
    #expect(failure?.data == Data("no json".utf8))
  }

  @Test(.enabled(if: Machine.hasManyLoopbackAddresses)) func refusedConnectionIsNoConnectivity() async throws {
    // The server holds the port at another address, so that no other process takes it at this one.
    var endpoint = LocalEndpoint(port: server.port)
    endpoint.host = "127.0.0.2"
    let request = LocalRequest<Teapot>(endpoint)
    await #expect(throws: PrismNetworkError.noConnectivity) { _ = try await client.request(on: request) }
  }

  @Test func timeoutIsNoConnectivity() async throws {
    server.route("/item") { _ in .raw([.stall]) }
    await #expect(throws: PrismNetworkError.noConnectivity) {
      _ = try await client.request(on: server.teapot { $0.timeoutInterval = 0.05 })
    }
    let hasty = PrismNetworkAdapter.forTests(configure: { $0.timeoutIntervalForRequest = 0.05 })
    let failure = await #expect(throws: PrismNetworkFailure.self) {
      try await PrismNetworkFailure.detailed { try await hasty.request(on: server.teapot()) }
    }
    #expect((failure?.underlyingError as? URLError)?.code == .timedOut)
  }

  @Test func explicitTimeoutOfOneMinuteIsKept() async throws {
    #expect(try client.own(for: LocalEndpoint(timeoutInterval: 60)).idleTimeout(default: 1) != .seconds(1))
    #expect(try client.own(for: LocalEndpoint()).idleTimeout(default: 1) == .seconds(1))
  }

  @Test func webSocketSchemeIsInvalidURL() async throws {
    await #expect(throws: PrismNetworkError.invalidURL) {
      _ = try await client.request(on: server.teapot { $0.scheme = .ws })
    }
  }

  @Test(.timeLimit(.minutes(10))) func cancellationThrowsCancellationError() async throws {
    server.route("/item") { _ in .raw([.stall]) }
    let task = Task { [client, server] in try await client.request(on: server.teapot()) }
    await server.expectRequests(1)
    task.cancel()
    await #expect(throws: CancellationError.self) { _ = try await task.value }
  }

  /// A closed session, or a certificate that its delegate refused, is not a cancellation by the caller.
  @Test func cancellationByOtherThanCallerIsFailure() async throws {
    client.attemptMiddleware = [Intercept { _, _, _ in throw URLError(.cancelled) }]
    let failure = await #expect(throws: PrismNetworkFailure.self) {
      try await PrismNetworkFailure.detailed { _ = try await client.request(on: server.teapot()) }
    }
    #expect(failure?.error == .invalidResponse)
    #expect((failure?.underlyingError as? URLError)?.code == .cancelled)
  }

  @Test func errorsOfMiddlewareAreCauses() async throws {
    struct Refused: Error {}
    server.route("/item") { _ in .json(Teapot(id: 1)) }
    let throwing = Intercept { _, _, _ in throw Refused() }
    let broken = Intercept { _, _, _ in
      NetworkMiddlewareResponse(statusCode: 200, chunks: AsyncThrowingStream { $0.finish(throwing: Refused()) })
    }
    for (calls, attempts) in [([throwing], []), ([broken], []), ([], [throwing]), ([], [broken])] {
      (client.middleware, client.attemptMiddleware) = (calls, attempts)
      await #expect(throws: PrismNetworkError.invalidResponse) { _ = try await client.request(on: server.teapot()) }
      await #expect(throws: PrismNetworkError.invalidResponse) { _ = try await client.redirect(from: server.teapot()) }
      let failure = await #expect(throws: PrismNetworkFailure.self) {
        try await PrismNetworkFailure.detailed { _ = try await client.request(on: server.teapot()) }
      }
      #expect(failure?.underlyingError is Refused)
      #expect(failure?.url?.path == "/item")
    }
    client.attemptMiddleware = []
    client.middleware = [Intercept { _, _, _ in throw CancellationError() }]
    await #expect(throws: CancellationError.self) { _ = try await client.request(on: server.teapot()) }
    client.middleware = [Intercept { _, _, _ in throw PrismNetworkFailure(.forbidden) }]
    await #expect(throws: PrismNetworkError.forbidden) { _ = try await client.request(on: server.teapot()) }
  }

  @Test func redirectsAreFollowed() async throws {
    server.route("/item") { _ in .redirect(to: "/there") }
    server.route("/there") { _ in .json(Teapot(id: 3)) }
    #expect(try await client.request(on: server.teapot()) == Teapot(id: 3))
  }

  @Test(arguments: [
    ("/v2/users/42", "http://127.0.0.1:PORT/v2/users/42"), ("43", "http://127.0.0.1:PORT/v1/users/43"),
    ("../a?b=c#d", "http://127.0.0.1:PORT/v1/a?b=c#d"), ("?x=1", "http://127.0.0.1:PORT/v1/users/42?x=1"),
    ("//other.example/a", "http://other.example/a"), ("https://other.example/", "https://other.example/"),
    ("app://callback?code=1", "app://callback?code=1"),
  ])
  func redirectIsResolvedNotFollowed(_ location: String, _ target: String) async throws {
    for status in [301, 302, 303, 307, 308] {
      server.route("/v1/users/42") { _ in .redirect(to: location, status: status) }
      let url = try await client.redirect(from: server.teapot { $0.path = "/v1/users/42" })
      #expect(url.absoluteString == target.replacingOccurrences(of: "PORT", with: "\(server.port)"))
    }
    #expect(server.requestCount == 5)
  }

  /// RFC 9110 §10.2.2: a relative `Location` is relative to the target of the request, which middleware may change.
  @Test func redirectIsResolvedAgainstRequestedURL() async throws {
    let other = try LoopbackServer()
    other.route("/v2/item", .redirect(to: "there"), .status(302))
    let url = other.url("/v2/item")
    client.middleware = [
      Intercept { request, _, next in
        var request = request
        request.url = url
        return try await next(request)
      }
    ]
    #expect(try await client.redirect(from: server.teapot()) == other.url("/v2/there"))
    let failure = await #expect(throws: PrismNetworkFailure.self) {
      try await PrismNetworkFailure.detailed { _ = try await client.redirect(from: server.teapot()) }
    }
    #expect(failure?.url == url)
    #expect(other.requestCount == 2 && server.requestCount == 0)
  }

  @Test func nonRedirectIsInvalidResponse() async throws {
    server.route("/item", .json(Teapot(id: 1)), .status(302), .status(304), .status(404), .status(401))
    for _ in 1...4 {
      await #expect(throws: PrismNetworkError.invalidResponse) { _ = try await client.redirect(from: server.teapot()) }
    }
    await #expect(throws: PrismNetworkError.unauthorized) { _ = try await client.redirect(from: server.teapot()) }
  }

  @Test func configurationProtocolClassesAreUsed() async throws {
    let client = PrismNetworkAdapter.forTests(configure: { $0.protocolClasses = [TeapotProtocol.self] })
    #expect(try await client.request(on: LocalRequest<Teapot>(LocalEndpoint(host: "canned.example"))) == Teapot(id: 77))
  }

  @Test func configurationHeadersAreSent() async throws {
    server.route("/item") { _ in .json(Teapot(id: 1)) }
    let client = PrismNetworkAdapter.forTests(configure: { $0.httpAdditionalHeaders = ["X-App": "1"] })
    _ = try await client.request(on: server.teapot())
    #expect(server.requests.first?.header("X-App") == "1")
  }

  @Test func handlersReceiveLogEntriesAndEvents() async throws {
    server.route("/item", .status(503), .json(Teapot(id: 1)))
    let entries = Locked<[NetworkLogEntry]>([])
    let kinds = Locked<[String]>([])
    let client = PrismNetworkAdapter.forTests(retryPolicy: PrismLinearRetry(fixedDelay: .zero))
    client.logHandler = { entry in entries.withLock { $0.append(entry) } }
    client.eventHandler = { event in kinds.withLock { $0.append("\(event.kind)".prefix { $0 != "(" }.description) } }
    _ = try await client.request(on: server.teapot { $0.headers = ["Authorization": "Bearer secret"] })
    #expect(
      entries.withLock { $0 }.map(\.message) == [
        "Transport in use", "Request started", "Retrying the request", "Request started", "Request finished",
      ])
    #expect(!"\(entries.withLock { $0 })".contains("secret"))
    #expect(entries.withLock { $0 }[2].metadata["error"] == "HTTPError 503")
    #expect(kinds.withLock { $0 } == ["attemptStarted", "retrying", "attemptStarted", "finished"])
  }

  @Test func errorsHaveDescriptions() {
    #expect(PrismNetworkError.allCases.count == 8)
    for error in PrismNetworkError.allCases {
      #expect(error.errorDescription?.isEmpty == false)
      #expect(error.failureReason?.isEmpty == false)
      #expect(error.recoverySuggestion?.isEmpty == false)
      #expect(error.localizedDescription == error.errorDescription)
      #expect(String(describing: error) == error.localizedDescription)
    }
    #expect(Set(PrismNetworkError.allCases.map(\.errorDescription)).count == 8)
  }

  @Test(arguments: [
    (URLError.Code.badURL, PrismNetworkError.invalidURL), (.unsupportedURL, .invalidURL),
    (.notConnectedToInternet, .noConnectivity), (.networkConnectionLost, .noConnectivity),
    (.cannotFindHost, .noConnectivity), (.cannotConnectToHost, .noConnectivity), (.dnsLookupFailed, .noConnectivity),
    (.internationalRoamingOff, .noConnectivity), (.callIsActive, .noConnectivity), (.dataNotAllowed, .noConnectivity),
    (.timedOut, .noConnectivity), (.secureConnectionFailed, .invalidResponse), (.badServerResponse, .invalidResponse),
  ])
  func urlErrorsMapToNetworkErrors(_ code: URLError.Code, _ error: PrismNetworkError) {
    #expect(PrismNetworkFailure(causedBy: URLError(code), url: nil).error == error)
  }
}

/// Responds to every request without a network.
final class TeapotProtocol: URLProtocol {
  override class func canInit(with request: URLRequest) -> Bool { true }
  override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  override func startLoading() {
    guard let url = request.url,
      let response = HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil)
    else { return }
    client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
    client?.urlProtocol(self, didLoad: Data(#"{"id":77,"name":"teapot"}"#.utf8))
    client?.urlProtocolDidFinishLoading(self)
  }

  override func stopLoading() {}
}
