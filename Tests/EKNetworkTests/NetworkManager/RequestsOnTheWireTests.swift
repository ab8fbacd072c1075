import LoopbackServer
import Testing

@testable import EKNetwork

@Suite struct RequestsOnTheWireTests {
  private let server: LoopbackServer

  init() throws {
    server = try LoopbackServer()
    server.fallback = { _ in .json(Item(id: 1)) }
  }

  @Test(arguments: Wire.allCases)
  func aGetCarriesWhatItSays(_ wire: Wire) async throws {
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
    let bytes = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0) })
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
  func aHeadHasNoBodyAndIsEmpty(_ wire: Wire) async throws {
    let response = try await wire.manager(server).send(Probe<StatusCodeResponse>(method: .head))
    #expect(response.statusCode == 200)
    #expect(response.headers["Content-Type"]?.contains("json") == true)
  }

  @Test(arguments: Wire.allCases)
  func theSessionsHeadersAndCookiesAreHonoured(_ wire: Wire) async throws {
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
  func theRequestsTimeoutCountsFractionsOfASecond(_ wire: Wire) async throws {
    server.route("/item") { _ in .raw([.stall]) }
    let start = ContinuousClock.now
    let error = await #expect(throws: URLError.self) {
      let manager = wire.manager(server) { $0.timeoutIntervalForRequest = 86_400 }
      _ = try await manager.send(ItemProbe(timeout: .milliseconds(200)))
    }
    #expect(error?.code == .timedOut)
    #expect(ContinuousClock.now - start >= .milliseconds(200))
  }

  @Test(arguments: Wire.allCases)
  func theSessionsResourceTimeoutIsHonoured(_ wire: Wire) async throws {
    server.route("/item") { _ in
      .streaming(contentLength: 1_000, [.trickle(Data(count: 1_000), chunk: 1, every: .milliseconds(20))])
    }
    let manager = wire.manager(server) { $0.timeoutIntervalForResource = 0.5 }
    let error = await #expect(throws: URLError.self) { _ = try await manager.send(ItemProbe()) }
    #expect(error?.code == .timedOut)
  }

  @Test func aForbiddenHeaderIsNamedAndNothingIsSent() async throws {
    for (name, value) in [("X-A", "a\r\nX-B: b"), ("X A", "b"), ("X-A", "a\0b")] {
      let error = await #expect(throws: InvalidHeaderError.self) {
        _ = try await Wire.automatic.manager(server).send(ItemProbe(headers: [name: value]))
      }
      #expect(error?.field == name)
    }
    #expect(server.acceptedConnections == 0)
  }

  @Test func theBaseURLIsAskedForWithEachAttempt() async throws {
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
  func aHundredManagersAtOnce(_ wire: Wire) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      let managers = (0..<10).map { _ in wire.manager(server) }
      for manager in managers {
        for _ in 0..<50 { group.addTask { _ = try await manager.send(ItemProbe()) } }
      }
      try await group.waitForAll()
    }
    #expect(server.requestCount == 500)
  }
}
