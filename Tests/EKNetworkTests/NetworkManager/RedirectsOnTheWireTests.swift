import LoopbackServer
import Testing

@testable import EKNetwork

struct RedirectsOnTheWireTests {
  private let server: LoopbackServer

  init() throws {
    server = try LoopbackServer()
    server.fallback = { _ in .json(Item(id: 1)) }
  }

  private static let methods: [(status: Int, method: HTTPMethod, becomes: String, keepsBody: Bool)] = [
    (301, .post, "GET", false), (302, .post, "GET", false), (303, .post, "GET", false), (303, .put, "GET", false),
    (301, .put, "PUT", true), (302, .delete, "DELETE", true), (307, .post, "POST", true), (308, .patch, "PATCH", true),
    (307, .get, "GET", false), (301, .get, "GET", false),
  ]

  @Test(arguments: Wire.allCases, methods)
  func methodsAndBodies(
    _ wire: Wire, _ row: (status: Int, method: HTTPMethod, becomes: String, keepsBody: Bool)
  ) async throws {
    server.route("/item") { _ in .redirect(to: "/there", status: row.status) }
    let body = row.method == .get ? nil : RequestBody(data: Data("body".utf8), contentType: "text/x")
    #expect(try await wire.manager(server).send(ItemProbe(method: row.method, body: body)) == Item(id: 1))
    let sent = try #require(server.requests.last)
    #expect(sent.path == "/there")
    #expect(sent.method == row.becomes)
    #expect(sent.body == (row.keepsBody ? Data("body".utf8) : Data()))
    #expect((sent.headers["Content-Type"] == "text/x") == row.keepsBody)
  }

  @Test(arguments: Wire.allCases)
  func credentialsStayWithTheirOrigin(_ wire: Wire) async throws {
    let other = try LoopbackServer()
    defer { other.stop() }
    other.fallback = { _ in .json(Item(id: 2)) }
    let target = other.url("/far").absoluteString
    server.route("/item") { _ in .redirect(to: "/near", status: 302) }
    server.route("/near") { _ in .redirect(to: target, status: 302) }
    let request = ItemProbe(headers: ["Cookie": "a=1", "X-Keep": "k"])
    _ = try await wire.manager(server).send(request) { "secret" }
    #expect(server.requests.map { $0.headers["Authorization"] } == ["Bearer secret", "Bearer secret"])
    let sent = try #require(other.requests.first)
    #expect(sent.headers["Authorization"] == nil)
    #expect(sent.headers["Cookie"] == nil)
    #expect(sent.headers["X-Keep"] == "k")
  }

  /// A new token would not be sent to it, either.
  @Test(arguments: Wire.allCases)
  func unauthorizedFromOtherOriginRefreshesNoToken(_ wire: Wire) async throws {
    let other = try LoopbackServer()
    defer { other.stop() }
    other.fallback = { _ in .status(401) }
    let target = other.url("/far").absoluteString
    server.route("/item") { _ in .redirect(to: target, status: 302) }
    let tokens = TestTokens("secret")
    let manager = wire.manager(server)
    manager.tokenRefresher = tokens
    await #expect(throws: NetworkError.unauthorized) {
      _ = try await manager.send(ItemProbe()) { tokens.current }
    }
    await #expect(throws: NetworkError.unauthorized) {
      _ = try await manager.stream(ItemProbe()) { tokens.current }
    }
    #expect(tokens.count == 0)
    #expect(server.requestCount == 2)
    #expect(other.requests.map { $0.headers["Authorization"] } == [nil, nil])
  }

  @Test(arguments: Wire.allCases)
  func redirectLoopEndsAfterTwentyHops(_ wire: Wire) async throws {
    server.route("/item") { _ in .redirect(to: "/other", status: 302) }
    server.route("/other") { _ in .redirect(to: "/item", status: 302) }
    let error = await #expect(throws: URLError.self) { _ = try await wire.manager(server).send(ItemProbe()) }
    #expect(error?.code == .httpTooManyRedirects)
    #expect(error?.localizedDescription.contains("Redirect loop") == true)
    #expect(server.requestCount == 21)
  }

  @Test(arguments: Wire.allCases)
  func rejectedRedirectIsTheResponse(_ wire: Wire) async throws {
    server.route("/item") { _ in .redirect(to: "/there", status: 302) }
    let error = await #expect(throws: HTTPError.self) {
      _ = try await wire.manager(server).send(ItemProbe(redirectPolicy: .reject))
    }
    #expect(error?.statusCode == 302)
    #expect(error?.value(forHTTPHeaderField: "location")?.hasSuffix("/there") == true)
    #expect(server.requestCount == 1)
  }

  @Test func redirectWithHugeBodyIsFollowed() async throws {
    server.route("/item") { _ in
      .streaming(status: 302, headers: ["Location": "/there"], [.flood(bytes: 1 << 30, of: 7)])
    }
    #expect(try await Wire.automatic.manager(server).send(ItemProbe()) == Item(id: 1))
  }

  @Test(arguments: [
    ("mailto:a@b", URLError.Code.unsupportedURL), ("file:///etc/passwd", .unsupportedURL), ("http:///x", .badURL),
    ("ftp://127.0.0.1/", .unsupportedURL),
  ])
  func invalidTargetIsRefused(_ location: String, _ code: URLError.Code) async throws {
    server.route("/item") { _ in .status(302, headers: ["Location": location]) }
    let error = await #expect(throws: URLError.self) {
      _ = try await Wire.automatic.manager(server).send(ItemProbe())
    }
    #expect(error?.code == code)
    #expect(server.requestCount == 1)
  }

  @Test func redirectOfConsumedStreamIsTheResponse() async throws {
    server.route("/item") { _ in .redirect(to: "/there", status: 307) }
    let body = RequestBody(stream: InputStream(data: Data(count: 10)), contentType: "text/x")
    let error = await #expect(throws: HTTPError.self) {
      _ = try await Wire.automatic.manager(server).send(ItemProbe(method: .post, body: body))
    }
    #expect(error?.statusCode == 307)
    #expect(server.requestCount == 1)
  }

  @Test func redirectWithoutLocationIsTheResponse() async throws {
    server.route("/item") { _ in .status(302) }
    let error = await #expect(throws: HTTPError.self) {
      _ = try await Wire.automatic.manager(server).send(ItemProbe())
    }
    #expect(error?.statusCode == 302)
  }

  /// RFC 9110 §10.2.2.
  @Test(arguments: Wire.allCases) func fragmentSurvivesRedirectAndIsNotSent(_ wire: Wire) async throws {
    server.route("/item", .redirect(to: "/there"))
    server.route("/there") { _ in .json(Item(id: 1)) }
    let exchange = Exchange(transport: wire.manager(server).transport)
    let start = try #require(URL(string: server.url("/item").absoluteString + "#part"))
    let response = try await exchange.load(URLRequest(url: start))
    #expect(response.head.urlResponse.url?.absoluteString == server.url("/there").absoluteString + "#part")
    #expect(server.requests.map(\.target) == ["/item", "/there"])
  }

  @Test func rejectedRedirectWithUnknownCodingIsTheResponse() async throws {
    server.route("/item") { _ in .status(302, headers: ["Location": "/there", "Content-Encoding": "unknown"]) }
    var request = ItemProbe()
    request.redirectPolicy = .reject
    let error = await #expect(throws: HTTPError.self) { _ = try await Wire.automatic.manager(server).send(request) }
    #expect(error?.statusCode == 302)
  }

  @Test(arguments: [
    "Content-Encoding: unknown\r\nContent-Length: 1\r\n\r\nx", "Content-Length: 100\r\n\r\nshort",
    "Content-Length: 2000000\r\n\r\n",
  ]) func redirectTargetDoesNotDependOnBody(_ rest: String) async throws {
    server.route("/item") { _ in .raw([.sendString("HTTP/1.1 302 Found\r\nLocation: /there\r\n" + rest), .close]) }
    let target = try await PrismNetworkAdapter.forTests().redirect(from: server.teapot { $0.path = "/item" })
    #expect(target == server.url("/there"))
  }

  @Test(.timeLimit(.minutes(10)), arguments: ["/short", "/chunks"])
  func redirectTargetDoesNotWaitForBody(_ path: String) async throws {
    server.routeStalledRedirects()
    let adapter = PrismNetworkAdapter.forTests(configure: { $0.timeoutIntervalForRequest = 3_600 })
    #expect(try await adapter.redirect(from: server.teapot { $0.path = path }) == server.url("/there"))
  }

  @Test(arguments: Wire.allCases, ["there", "./there", "../a/there", "/a/there", "?q=1", "//HOST/a/there"])
  func locationIsResolvedAgainstRequestURL(_ wire: Wire, _ location: String) async throws {
    let location = location.replacingOccurrences(of: "HOST", with: "127.0.0.1:\(server.port)")
    server.route("/a/item") { $0.query == nil ? .status(303, headers: ["Location": location]) : .json(Item(id: 1)) }
    #expect(try await wire.manager(server).send(ItemProbe(path: "/a/item")) == Item(id: 1))
    #expect(server.requests.map(\.target) == ["/a/item", location == "?q=1" ? "/a/item?q=1" : "/a/there"])
  }

  /// What is requested decodes to what other clients request.
  private static let sloppyLocations: [(location: String, target: String)] = [
    ("/t?f[a]=%20", "/t?f%5Ba%5D=%20"), ("/a b%20c", "/a%20b%20c"), ("/a|b%2Fc", "/a%7Cb%2Fc"), ("/100%", "/100%25"),
    ("/é%C3%A9", "/%C3%A9%C3%A9"), ("/a\\b?\\%5C", "/a/b?%5C%5C"), ("/{id}%7B", "/%7Bid%7D%7B"),
    ("http:t?\"%22", "/t?%22%22"),
  ]

  @Test(arguments: sloppyLocations)
  func onlyWhatIsForbiddenInLocationsIsEncoded(_ row: (location: String, target: String)) async throws {
    for status in [302, 307] {
      server.route("/item") { _ in .redirect(to: row.location, status: status) }
      let body = RequestBody(data: Data("body".utf8), contentType: "text/x")
      _ = try await Wire.automatic.manager(server).send(ItemProbe(method: .post, body: body))
      #expect(server.requests.last?.target == row.target)
    }
    let target = try await PrismNetworkAdapter.forTests().redirect(from: server.teapot { $0.path = "/item" })
    #expect(target.absoluteString == server.baseURL.absoluteString.trimmingSlash + row.target)
  }

  /// The bytes of a field that is not UTF-8 (RFC 9110 §5.5), and repeated lines.
  @Test(arguments: [
    ("Location: /caf\u{e9}", "/caf%E9"), ("Location: /t\r\nLocation: /t", "/t"), ("Location:\r\nlocation: /t", "/t"),
  ])
  func locationLinesAreReadAsBytes(_ lines: String, _ target: String) async throws {
    server.route("/item") { _ in
      let head = "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nCache-Control: max-age=60\r\n\(lines)\r\n\r\n"
      return .raw([.send(head.data(using: .isoLatin1) ?? Data())])
    }
    let manager = Wire.automatic.manager(server)
    manager.httpCache = HTTPCache()
    // The second time, the redirect comes from the cache.
    for _ in 0..<2 { #expect(try await manager.send(ItemProbe()) == Item(id: 1)) }
    #expect(server.requests.map(\.target) == ["/item", target, target])
  }

  @Test(arguments: [
    ("", nil), ("Location:\r\n", nil), ("Location: /a\r\nLocation: /b\r\n", URLError.Code.badServerResponse),
  ])
  func locationsWithoutTargetAreNotFollowed(_ lines: String, _ code: URLError.Code?) async throws {
    server.route("/item") { _ in .raw("HTTP/1.1 303 See\r\nContent-Length: 2\r\n\(lines)\r\nok") }
    let error = await #expect(throws: (any Error).self) {
      try await Wire.automatic.manager(server).send(ItemProbe(method: .post))
    }
    #expect((error as? HTTPError)?.statusCode == (code == nil ? 303 : nil))
    #expect((error as? HTTPError)?.data == (code == nil ? Data("ok".utf8) : nil))
    #expect((error as? URLError)?.code == code)
    await #expect(throws: PrismNetworkError.self) {
      try await PrismNetworkAdapter.forTests().redirect(from: server.teapot { $0.path = "/item" })
    }
    #expect(server.requestCount == 2)
  }

  @Test(arguments: Wire.allCases) func twentyRedirectsAreFollowed(_ wire: Wire) async throws {
    server.fallback = { request in
      let hop = Int(request.path.dropFirst()) ?? 0
      return hop < 20 ? .redirect(to: "/\(hop + 1)") : .json(Item(id: hop))
    }
    #expect(try await wire.manager(server).send(ItemProbe(path: "/0")) == Item(id: 20))
    let error = await #expect(throws: URLError.self) { _ = try await wire.manager(server).send(ItemProbe(path: "/-1")) }
    #expect(error?.code == .httpTooManyRedirects)
    #expect(error?.localizedDescription.contains("20") == true)
  }

  @Test(.timeLimit(.minutes(10))) func redirectWithStalledBodyIsFollowed() async throws {
    server.routeStalledRedirects()
    for path in ["/short", "/chunks"] {
      #expect(try await Wire.automatic.manager(server).send(ItemProbe(path: path)) == Item(id: 1))
    }
  }

  @Test(arguments: Wire.allCases) func redirectReusesConnection(_ wire: Wire) async throws {
    server.route("/item") { _ in .text("moved", status: 302, headers: ["Location": "/there"]) }
    _ = try await wire.isolatedManager(server).send(ItemProbe())
    #expect(server.acceptedConnections == 1)
  }

  @Test(arguments: Wire.allCases) func tokenFollowsSameOriginRedirect(_ wire: Wire) async throws {
    server.route("/item") { _ in .redirect(to: "/there", status: 307) }
    _ = try await wire.manager(server).send(ItemProbe(method: .post, body: RequestBody(encodable: [1]))) { "t" }
    #expect(server.requests.map { $0.headers["Authorization"] } == ["Bearer t", "Bearer t"])
    #expect(server.requests.map(\.text) == ["[1]", "[1]"])
  }

  @Test(arguments: Wire.allCases) func cookiesSetByRedirectAreSentToTarget(_ wire: Wire) async throws {
    server.route("/item") { _ in .redirect(to: "/there").header("Set-Cookie", "step=1").header("Set-Cookie", "b=2") }
    _ = try await wire.manager(server).send(ItemProbe())
    #expect(server.requests.first?.headers["Cookie"] == nil)
    #expect(server.requests.last?.headers["Cookie"] == "step=1; b=2")
  }
}

extension LoopbackServer {
  /// Redirects of which the rest of the body never comes.
  fileprivate func routeStalledRedirects() {
    route("/short") { _ in
      .streaming(contentLength: 10, status: 302, headers: ["Location": "/there"], [.sendString("12345"), .stall])
    }
    route("/chunks") { _ in .streaming(status: 302, headers: ["Location": "/there"], [.stall]) }
  }
}

extension String {
  fileprivate var trimmingSlash: String { hasSuffix("/") ? String(dropLast()) : self }
}
