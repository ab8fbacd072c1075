import LoopbackServer
import Testing

@testable import EKNetwork

struct RequestsOnTheWireTests {
  private let server: LoopbackServer

  init() throws {
    server = try LoopbackServer()
    server.fallback = { _ in .json(Item(id: 1)) }
  }

  @Test(arguments: Wire.allCases)
  func sessionAcceptHeaderOverridesDefault(_ wire: Wire) async throws {
    let server = try LoopbackServer()
    defer { server.stop() }
    server.fallback = { _ in .json(Item(id: 1)) }
    let manager = wire.manager(server) { $0.httpAdditionalHeaders = ["ACCEPT": "application/vnd.x+json"] }
    _ = try await manager.send(ItemProbe())
    _ = try await manager.send(Probe<Item>(headers: ["accept": "text/x"]))
    #expect(server.requests.map { $0.header("Accept") } == ["application/vnd.x+json", "text/x"])
  }

  @Test(arguments: Wire.allCases)
  func getSendsPathQueryAndHeaders(_ wire: Wire) async throws {
    let manager = wire.manager(server)
    let request = ItemProbe(
      path: "/a b/ü", headers: ["X-Own": "1", "accept": "text/x"],
      queryParameters: ["q": "a+b&c=d;e é", "a": ""])
    #expect(try await manager.send(request, accessToken: { "t" }) == Item(id: 1))
    let sent = try #require(server.requests.first)
    #expect(sent.target == "/a%20b/%C3%BC?a=&q=a%2Bb%26c%3Dd%3Be%20%C3%A9")
    #expect(sent.queryValue("q") == "a+b&c=d;e é")
    #expect(sent.headers["X-Own"] == "1")
    #expect(sent.headers["Accept"] == "text/x")
    #expect(sent.headers["Authorization"] == "Bearer t")
    #expect(sent.headers["Content-Type"] == nil)
    #expect(sent.headers["Content-Length"] == nil)
  }

  @Test(arguments: Wire.allCases, [HTTPMethod.post, .put, .patch, .delete, .options])
  func methodsCarryBodies(_ wire: Wire, _ method: HTTPMethod) async throws {
    let request = ItemProbe(method: method, body: RequestBody(encodable: Item(id: 7)))
    _ = try await wire.manager(server).send(request)
    let sent = try #require(server.requests.first)
    #expect(sent.method == method.rawValue)
    #expect(try sent.json(Item.self) == Item(id: 7))
    #expect(sent.headers["Content-Type"] == "application/json")
    #expect(sent.headers["Content-Length"] == "\(sent.body.count)")
  }

  @Test(arguments: Wire.allCases)
  func everyKindOfBodyArrives(_ wire: Wire) async throws {
    let manager = wire.manager(server)
    var form = MultipartFormData()
    form.addPart(name: "f", data: Data([1, 2, 3]), mimeType: "image/png", filename: "a\"b.png")
    let bytes = Data.noise(200_000)
    _ = try await manager.send(ItemProbe(method: .post, body: RequestBody(data: bytes, contentType: "image/png")))
    _ = try await manager.send(ItemProbe(method: .post, body: RequestBody(formURLEncoded: ["b": "x y", "a": "é&"])))
    _ = try await manager.send(ItemProbe(method: .post, multipartData: form))
    _ = try await manager.send(
      ItemProbe(method: .post, body: RequestBody(stream: InputStream(data: bytes), contentType: "text/x")))
    _ = try await manager.send(ItemProbe(method: .post, body: RequestBody(data: Data(), contentType: "text/x")))
    let sent = server.requests
    #expect(sent.map(\.body) == [bytes, Data("a=%C3%A9%26&b=x+y".utf8), form.encodedData(), bytes, Data()])
    #expect(sent[0].headers["Content-Type"] == "image/png")
    #expect(sent[1].headers["Content-Type"] == "application/x-www-form-urlencoded")
    #expect(sent[2].headers["Content-Type"] == "multipart/form-data; boundary=\(form.boundary)")
    #expect(sent[3].headers["Transfer-Encoding"] == "chunked")
    #expect(sent[3].headers["Content-Length"] == nil)
    #expect(sent[4].headers["Content-Length"] == "0")
  }

  @Test(arguments: Wire.allCases)
  func headResponseHasStatusAndHeaders(_ wire: Wire) async throws {
    let response = try await wire.manager(server).send(Probe<StatusCodeResponse>(method: .head))
    #expect(response.statusCode == 200)
    #expect(response.headers["Content-Type"]?.contains("json") == true)
  }

  @Test(arguments: Wire.allCases)
  func sessionHeadersAndCookiesAreSent(_ wire: Wire) async throws {
    server.route("/set") { _ in
      .json(Item(id: 1)).header("Set-Cookie", "a=1; Path=/").header(
        "Set-Cookie", "b=2; Expires=Wed, 01 Jan 2098 00:00:00 GMT")
    }
    let manager = wire.manager(server) { $0.httpAdditionalHeaders = ["X-Session": "s", "X-Own": "session"] }
    _ = try await manager.send(ItemProbe(path: "/set", headers: ["X-Own": "own"]))
    _ = try await manager.send(ItemProbe())
    _ = try await manager.send(ItemProbe(headers: ["Cookie": "mine=1"]))
    let sent = server.requests
    #expect(sent[0].headers["X-Session"] == "s")
    #expect(sent[0].headers["X-Own"] == "own")
    #expect(sent[0].headers["Cookie"] == nil)
    let cookies = Set((sent[1].headers["Cookie"] ?? "").components(separatedBy: "; "))
    #expect(cookies == ["a=1", "b=2"])
    #expect(sent[2].headers["Cookie"] == "mine=1")
  }

  @Test(arguments: Wire.allCases)
  func requestTimeoutMayBeFractional(_ wire: Wire) async throws {
    server.route("/item") { _ in .raw([.stall]) }
    let manager = wire.manager(server) { $0.timeoutIntervalForRequest = 86_400 }
    // The fastest of several rounds counts: load may delay any of them, and a whole second makes none of them fast.
    var fastest = Duration.seconds(60)
    for _ in 1...20 where fastest >= .seconds(1) {
      let start = ContinuousClock.now
      let error = await #expect(throws: URLError.self) {
        _ = try await manager.send(ItemProbe(timeout: .milliseconds(200)))
      }
      #expect(error?.code == .timedOut)
      fastest = min(fastest, ContinuousClock.now - start)
    }
    #expect(fastest >= .milliseconds(200))
    #expect(fastest < .seconds(1))
  }

  @Test(arguments: Wire.allCases)
  func sessionResourceTimeoutApplies(_ wire: Wire) async throws {
    server.route("/item") { _ in
      .streaming(contentLength: 1_000, [.trickle(Data(count: 1_000), chunk: 1, every: .milliseconds(20))])
    }
    let manager = wire.manager(server) { $0.timeoutIntervalForResource = 0.5 }
    let error = await #expect(throws: URLError.self) { _ = try await manager.send(ItemProbe()) }
    #expect(error?.code == .timedOut)
  }

  @Test func invalidHeaderIsNamedAndNothingIsSent() async throws {
    for (name, value) in [("X-A", "a\r\nX-B: b"), ("X A", "b"), ("X-A", "a\0b")] {
      let error = await #expect(throws: InvalidHeaderError.self) {
        _ = try await Wire.automatic.manager(server).send(ItemProbe(headers: [name: value]))
      }
      #expect(error?.field == name)
    }
    #expect(server.acceptedConnections == 0)
  }

  @Test func baseURLIsEvaluatedForEachAttempt() async throws {
    let other = try LoopbackServer()
    defer { other.stop() }
    server.route("/item") { _ in .status(500) }
    other.route("/item") { _ in .json(Item(id: 2)) }
    let urls = Locked([server.baseURL, other.baseURL])
    let manager = NetworkManager(baseURL: { urls.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] } })
    let request = ItemProbe(retryPolicy: RetryPolicy(maxRetryCount: 1, delay: 0))
    #expect(try await manager.send(request) == Item(id: 2))
  }

  @Test(arguments: Wire.allCases)
  func percentEncodedPathIsSentUnchanged(_ wire: Wire) async throws {
    let manager = wire.manager(server)
    _ = try await manager.send(ItemProbe(path: "/a%2Fb/c%20d", pathIsPercentEncoded: true))
    _ = try await manager.send(ItemProbe(path: "/a%2Fb/c d"))
    #expect(server.requests.map(\.target) == ["/a%2Fb/c%20d", "/a%252Fb/c%20d"])
  }

  @Test(arguments: Wire.allCases)
  func baseURLPathAndQueryAreKept(_ wire: Wire) async throws {
    let manager = wire.manager(server.url("/v1/?key=k"))
    _ = try await manager.send(ItemProbe(path: "/item", queryParameters: ["b": "2", "a": "1"]))
    #expect(server.requests.first?.target == "/v1/item?key=k&a=1&b=2")
  }

  @Test(arguments: Wire.allCases)
  func requestUserAgentOverridesConfiguredOne(_ wire: Wire) async throws {
    let manager = wire.manager(server)
    _ = try await manager.send(ItemProbe())
    let configuration = UserAgentConfiguration(
      appName: "Tea", appVersion: "2", bundleIdentifier: "b.i", buildNumber: "7", osVersion: "9", networkVersion: "1")
    manager.userAgentConfiguration = configuration
    _ = try await manager.send(ItemProbe())
    _ = try await manager.send(ItemProbe(headers: ["user-agent": "mine"]))
    let sent = server.requests.map { $0.headers.values("User-Agent") }
    #expect(sent.allSatisfy { $0.count == 1 })
    #expect(sent[1] == [configuration.generateUserAgentString()])
    #expect(sent[1].first?.hasPrefix("Tea/2 (b.i; build:7; ") == true)
    #expect(sent[2] == ["mine"])
  }

  @Test(arguments: Wire.allCases, [HTTPMethod.post, .put, .patch, .delete, .head, .options, .get])
  func requestWithoutBodyAnnouncesNone(_ wire: Wire, _ method: HTTPMethod) async throws {
    _ = try await wire.manager(server).send(Probe<EmptyResponse>(method: method))
    let sent = try #require(server.requests.first)
    #expect(sent.method == method.rawValue)
    #expect(sent.rawBody.isEmpty)
    #expect(sent.headers["Transfer-Encoding"] == nil)
    #expect(sent.headers["Content-Type"] == nil)
    #expect([nil, "0"].contains(sent.headers["Content-Length"]))
    // RFC 9110 §8.6: with a method that anticipates content, an empty body is announced.
    if [.post, .put, .patch].contains(method) { #expect(sent.headers["Content-Length"] == "0") }
  }

  @Test(arguments: Wire.allCases, [200, 204, 304, 404])
  func headResponseEndsWithItsHead(_ wire: Wire, _ status: Int) async throws {
    server.route("/item") { _ in .status(status, headers: ["Content-Length": "1000", "ETag": "e"]) }
    let manager = wire.isolatedManager(server)
    for _ in 0..<2 {
      do {
        let response = try await manager.send(Probe<StatusCodeResponse>(method: .head, timeout: .seconds(20)))
        #expect(response.statusCode == status)
      } catch let error as HTTPError {
        #expect(error.statusCode == status)
        #expect(error.data.isEmpty)
      }
    }
    #expect(server.acceptedConnections == 1)
  }

  @Test(arguments: Wire.allCases)
  func repeatedHeadersAreJoined(_ wire: Wire) async throws {
    server.route("/item") { _ in
      .status(200).header("X-A", "1").header("x-a", "2").header("Link", "a").header("Link", "b")
    }
    if wire == .urlSession, Platform.isLinux { try Test.cancel("\(Limitation.oneCaseWins.rawValue)") }
    let headers = try await wire.manager(server).send(Probe<StatusCodeResponse>()).headers
    #expect(headers["Link"] == "a, b")
    #expect(headers.first { $0.key.lowercased() == "x-a" }?.value == "1, 2")
  }

  @Test(arguments: Wire.allCases)
  func setCookieFieldsAreParsedSeparately(_ wire: Wire) async throws {
    server.route("/set") { _ in
      .status(200).header("Set-Cookie", "a=1; Expires=Wed, 01 Jan 2098 00:00:00 GMT; Path=/")
        .header("Set-Cookie", "b=2; Path=/").header("Set-Cookie", "c=3; Path=/elsewhere")
        .header("Set-Cookie", "d=4; Max-Age=0; Path=/").header("Set-Cookie", "e=5; Secure; Path=/")
    }
    let manager = wire.manager(server)
    _ = try await manager.send(Probe<EmptyResponse>(path: "/set"))
    _ = try await manager.send(ItemProbe())
    #expect(server.requests.last?.headers["Cookie"] == "a=1; b=2")
  }

  @Test(arguments: Wire.allCases)
  func formAndQueryValuesRoundTrip(_ wire: Wire) async throws {
    let pairs = [
      "plus": "a+b", "and": "a&b=c", "space": "a b", "text": "é漢🫖", "": "empty", "percent": "%41", "line": "a\r\nb",
    ]
    let manager = wire.manager(server)
    _ = try await manager.send(ItemProbe(method: .post, body: RequestBody(formURLEncoded: pairs)))
    _ = try await manager.send(ItemProbe(queryParameters: pairs))
    for items in [try #require(server.requests.first).formItems, try #require(server.requests.last).queryItems] {
      #expect(Dictionary(items.map { ($0.name, $0.value ?? "") }) { $1 } == pairs)
    }
  }

  @Test(.timeLimit(.minutes(10)), arguments: [(Wire.automatic, 100, 20), (.urlSession, 20, 20)])
  func concurrentManagersLeaveNoConnectionOpen(_ wire: Wire, _ managers: Int, _ requests: Int) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<managers {
        let manager = wire.manager(server) {
          $0.httpMaximumConnectionsPerHost = 2
          // Without the proxies of the environment it does not share the cache of connections with other tests: closing
          // one in favour of another would show as one more here, until the server notices.
          $0.connectionProxyDictionary = [:]
        }
        for _ in 0..<requests { group.addTask { _ = try await manager.send(ItemProbe()) } }
      }
      try await group.waitForAll()
    }
    #expect(server.requestCount == managers * requests)
    // The limit applies to each session.
    #expect(server.peakConnections <= 2 * managers)
    if wire == .automatic {
      // Idle connections are kept for the next request.
      server.closeConnections()
    }
    #expect(await server.waitForOpenConnections(0))
  }

  @Test(.timeLimit(.minutes(10)))
  func managersOfOneSessionShareConnectionLimit() async throws {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = 16
    configuration.connectionProxyDictionary = [:]
    configuration.timeoutIntervalForRequest = 600
    let session = URLSession(configuration: configuration)
    // Of its own, so that the connections of other tests do not evict these while they are idle.
    let transport = TransportChoice.secured(
      by: TLSOptions(pinnedPublicKeys: [Data(repeating: 73, count: 32).base64EncodedString()]))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<100 {
        let manager = NetworkManager(baseURL: server.baseURL, session: session, transport: transport)
        for _ in 0..<20 { group.addTask { _ = try await manager.send(ItemProbe()) } }
      }
      try await group.waitForAll()
    }
    #expect(server.requestCount == 2_000)
    #expect(server.peakConnections <= 16)
  }
}
