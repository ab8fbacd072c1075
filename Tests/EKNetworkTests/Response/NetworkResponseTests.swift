import LoopbackServer
import Testing

@testable import EKNetwork

/// What a response has beside its body: fields in order, trailers, the version and the URL.
struct NetworkResponseTests {
  private let server: LoopbackServer

  init() throws {
    server = try LoopbackServer()
    server.route("/item", .raw(Self.text(status: 200)))
    server.route("/missing", .raw(Self.text(status: 404)))
    server.route("/there") { _ in .redirect(to: "/item", status: 302) }
  }

  private static func text(status: Int) -> String {
    "HTTP/1.1 \(status) As It Is\r\nSet-Cookie: a=1\r\nX-B: 1\r\nset-cookie: b=2; Expires=Wed, 01 Jan 2031 00:00:00 GMT\r\n"
      + "X-A: 2\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{\"id\":5}\r\n0\r\nX-Sum: 7\r\nX-Sum: 8\r\n\r\n"
  }

  private static let cookies = ["a=1", "b=2; Expires=Wed, 01 Jan 2031 00:00:00 GMT"]

  /// What an app prints or logs has no secrets, wherever the response is inside it.
  @Test func printedResponseHasNoSecrets() {
    let response = NetworkResponse(
      statusCode: 200, headerFields: ["Content-Type": "text/plain; a=b", "Set-Cookie": "sesame"],
      data: Data("sesame".utf8), url: URL(string: "https://u:sesame@example.com/a?key=sesame"))
    let text = "https://example.com/a?key=<redacted>, status 200; text/plain, 6 bytes"
    #expect("\(response)" == text)
    #expect("\([response])" == "[\(text)]")
    #expect(String(reflecting: response) == text)
    #expect("\(NetworkResponse(statusCode: 204))" == "status 204; 0 bytes")
  }

  #if os(Linux)
    @Test func theResponseIsAsItWasReceived() async throws {
      let response = try await Wire.automatic.manager(server).response(to: Probe<Numbered>(path: "/there"))
      #expect(response.statusCode == 200 && response.isSuccess)
      #expect(response.headerFields.map(\.name) == ["Set-Cookie", "X-B", "set-cookie", "X-A", "Transfer-Encoding"])
      #expect(response.values(for: "SET-COOKIE") == Self.cookies)
      #expect(response.value(forHTTPHeaderField: "x-a") == "2")
      #expect(response.values(for: "x-none").isEmpty && response.value(forHTTPHeaderField: "x-none") == nil)
      #expect(response.trailers.map(\.value) == ["7", "8"])
      #expect(response.trailers.values(for: "x-sum") == ["7", "8"])
      #expect(response.url?.path == "/item")
      #expect(response.protocolVersion == "HTTP/1.1" && response.reasonPhrase == "As It Is")
      #expect(try response.decode(Numbered.self) == Numbered(id: 5))
    }

    @Test func repeatedFieldsAreKeptEverywhere() async throws {
      let manager = Wire.automatic.manager(server)
      #expect(try await manager.send(Probe<StatusCodeResponse>()).values(for: "Set-Cookie") == Self.cookies)
      #expect(try await manager.stream(Probe<Numbered>()).values(for: "Set-Cookie") == Self.cookies)
      let error = await #expect(throws: HTTPError.self) { try await manager.send(Probe<Numbered>(path: "/missing")) }
      #expect(error?.values(for: "Set-Cookie") == Self.cookies)
      let folder = try ScratchFolder()
      #expect(try await manager.download(Probe<Numbered>(), to: folder["a"]).values(for: "Set-Cookie") == Self.cookies)
      let client = PrismNetworkAdapter(configuration: .ephemeral)
      let failure = await #expect(throws: PrismNetworkFailure.self) {
        try await PrismNetworkFailure.detailed { try await client.request(on: Missing(server: server.baseURL)) }
      }
      #expect(failure?.values(for: "Set-Cookie") == Self.cookies)
      let decoded = try await manager.send(Cookies())
      #expect(decoded == Self.cookies)
    }

    /// Middleware that changes one field leaves the others as they are.
    @Test func middlewareKeepsRepeatedFields() async throws {
      let manager = Wire.automatic.manager(server)
      for isCall in [true, false] {
        manager.middleware = isCall ? [Changing()] : []
        manager.attemptMiddleware = isCall ? [] : [Changing()]
        let response = try await manager.response(to: Probe<Numbered>(path: "/there"))
        #expect(response.url?.path == "/item" && response.protocolVersion == "HTTP/1.1")
        #expect(
          response.headerFields.map(\.name) == ["Set-Cookie", "X-B", "set-cookie", "Transfer-Encoding", "X-A", "X-C"])
        #expect(response.values(for: "Set-Cookie") == Self.cookies)
        #expect(response.values(for: "X-A") == ["3"])
        #expect(response.trailers.values(for: "X-Sum") == ["7", "8"])
      }
      // The trailers are about the body that the server has sent.
      manager.middleware = [Changing(replacesBody: true)]
      #expect(try await manager.response(to: Probe<Numbered>()).trailers.isEmpty)
    }

    @Test func downloadsKeepRepeatedFieldsBehindMiddleware() async throws {
      let manager = Wire.automatic.manager(server)
      let folder = try ScratchFolder()
      manager.middleware = [Intercept { request, _, next in try await next(request) }]
      #expect(
        try await manager.download(Probe<Numbered>(), to: folder["a"]).values(for: "Set-Cookie") == Self.cookies)
      manager.middleware = [
        Intercept { request, _, next in
          var response = try await next(request)
          response.headers["X-C"] = "4"
          return response
        }
      ]
      let file = try await manager.download(Probe<Numbered>(), to: folder["b"])
      #expect(file.values(for: "X-C") == ["4"] && file.value(forHTTPHeaderField: "X-B") == "1")
    }

    /// Servers also send what a client must not send. By the time middleware sees it, a file is in place.
    @Test(arguments: [("X Foo", "1"), ("X-Foo", "a\u{1B}b")])
    func irregularFieldsPassMiddleware(name: String, value: String) async throws {
      server.route("/irregular", .raw("HTTP/1.1 200 OK\r\n\(name): \(value)\r\nContent-Length: 1\r\n\r\na"))
      let manager = Wire.automatic.manager(server)
      let folder = try ScratchFolder()
      let probe = Probe<Numbered>(path: "/irregular")
      for field in [nil, "X-C", "X D"] {
        manager.middleware = [
          Intercept { request, _, next in
            var response = try await next(request)
            if let field { response.headers[field] = "4" }
            return response
          }
        ]
        // What middleware itself sets is held to the rules.
        if field == "X D" {
          await #expect(throws: NetworkMiddlewareError.invalidResponse) { try await manager.response(to: probe) }
          continue
        }
        let file = try await manager.download(probe, to: folder[field ?? "none"])
        #expect(file.value(forHTTPHeaderField: name) == value)
        let response = try await manager.response(to: probe)
        #expect(response.value(forHTTPHeaderField: name) == value)
        #expect(response.value(forHTTPHeaderField: "X-C") == (field == nil ? nil : "4"))
      }
    }

    /// A change under another spelling of the name is not lost.
    @Test func middlewareChangesAFieldInAnySpelling() async throws {
      let manager = Wire.automatic.manager(server)
      manager.middleware = [
        Intercept { request, _, next in
          var response = try await next(request)
          response.headers["x-a"] = "3"
          return response
        }
      ]
      let response = try await manager.response(to: Probe<Numbered>())
      #expect(Set(response.values(for: "X-A")) == ["2", "3"])
      #expect(response.values(for: "Set-Cookie") == Self.cookies)
    }

    @Test func trailersOfAStreamFollowItsBody() async throws {
      let gate = Gate()
      server.route("/stream") { _ in
        .streaming([.chunk(Data("abc".utf8)), .wait(gate), .endOfChunks(trailers: ["X-Sum": "9"])])
      }
      let response = try await Wire.automatic.manager(server).stream(Probe<Numbered>(path: "/stream"))
      var chunks = response.body.makeAsyncIterator()
      #expect(try await chunks.next() == Data("abc".utf8))
      #expect(response.trailers.isEmpty)
      gate.open()
      #expect(try await chunks.next() == nil)
      #expect(response.trailers == HeaderFieldList([("X-Sum", "9")]))
    }

    /// They are not part of what a cache stores.
    @Test func trailersPassTheCache() async throws {
      let text = Self.text(status: 200).replacingOccurrences(of: "X-B: 1", with: "Cache-Control: max-age=60")
      server.route("/item", .raw(text))
      let manager = Wire.automatic.manager(server)
      manager.httpCache = HTTPCache()
      #expect(try await manager.response(to: Probe<Numbered>()).trailers.count == 2)
      let second = try await manager.response(to: Probe<Numbered>())
      #expect(second.value(forHTTPHeaderField: "Cache-Status")?.contains("hit") == true)
      #expect(second.trailers.isEmpty)
      #expect(second.values(for: "X-A") == ["2"])
    }

    @Test func aReceivedResponseIsArchivedAsFoundations() throws {
      let head = try #require(
        RawHead(bytes: Array("HTTP/1.1 200 OK\r\nA: 1\r\nA: 2\r\n\r\n".utf8), url: server.baseURL))
      let response = try #require(head.urlResponse as? HTTPURLResponse)
      #expect(HeaderFieldList(response).values(for: "a") == ["1", "2"])
      let archive = try NSKeyedArchiver.archivedData(withRootObject: response, requiringSecureCoding: true)
      let restored = try #require(
        try NSKeyedUnarchiver.unarchivedObject(ofClasses: [HTTPURLResponse.self], from: archive) as? HTTPURLResponse)
      #expect(restored.statusCode == 200 && restored.value(forHTTPHeaderField: "A") == "1, 2")
      #expect(HeaderFieldList(restored).values(for: "a") == ["1, 2"])
      #expect((response.copy() as? HTTPURLResponse)?.statusCode == 200)
    }
  #endif

  @Test func equalityIsThatOfTheDictionary() async throws {
    let manager = Wire.automatic.manager(server)
    let error = await #expect(throws: HTTPError.self) { try await manager.send(Probe<Numbered>(path: "/missing")) }
    let made = HTTPError(
      statusCode: 404, data: Data(#"{"id":5}"#.utf8),
      headers: [
        "Set-Cookie": Self.cookies.joined(separator: ", "), "X-B": "1", "X-A": "2", "Transfer-Encoding": "chunked",
      ])
    #expect(error == made)
    #expect(made.values(for: "x-b") == ["1"])
  }

  /// Which is the base of its links.
  @Test(arguments: Wire.allCases) func changedResponseKeepsItsURLAndVersion(wire: Wire) async throws {
    server.route("/v2/items") { _ in .json(#"{"id":5}"#).header("Link", #"<items?page=2>; rel="next""#) }
    server.route("/v1/items") { _ in .redirect(to: "/v2/items", status: 302) }
    let manager = wire.manager(server)
    let version = try await manager.response(to: Probe<Numbered>(path: "/v2/items")).protocolVersion
    let changing = Intercept { request, _, next in
      var response = try await next(request)
      response.headers["X-C"] = "4"
      return response
    }
    for isCall in [true, false] {
      manager.middleware = isCall ? [changing] : []
      manager.attemptMiddleware = isCall ? [] : [changing]
      let response = try await manager.response(to: Probe<Numbered>(path: "/v1/items"))
      #expect(response.value(forHTTPHeaderField: "X-C") == "4" && response.url?.path == "/v2/items")
      #expect(response.protocolVersion == version)
      let decoded = try await manager.decodedResponse(to: Probe<Numbered>(path: "/v1/items"))
      #expect(decoded.link("next")?.absoluteString == server.url("/v2/items?page=2").absoluteString)
    }
  }

  @Test(arguments: Wire.allCases) func contentThatCannotBeDecodedIsAnError(wire: Wire) async throws {
    server.route("/coded") { _ in .data(Data("no gzip".utf8)).header("Content-Encoding", "gzip") }
    let manager = wire.manager(server)
    let passing = Intercept { request, _, next in try await next(request) }
    for middleware in [[], [passing]] as [[any NetworkMiddleware]] {
      manager.middleware = middleware
      _ = try await manager.send(Probe<EmptyResponse>(path: "/coded"))
      let error = await #expect(throws: URLError.self) {
        try await manager.response(to: Probe<EmptyResponse>(path: "/coded"))
      }
      #expect(error?.code == .cannotDecodeContentData)
      await #expect(throws: URLError.self) { _ = try await manager.send(CodedItem()) }
    }
    // Nor is it an empty body for the middleware itself.
    let codes = Locked<[URLError.Code]>([])
    let reading = Intercept { request, _, next in
      var response = try await next(request)
      do {
        _ = try await response.data()
      } catch let error as URLError {
        codes.withLock { $0.append(error.code) }
      }
      return response
    }
    manager.middleware = [reading]
    _ = try await manager.send(Probe<EmptyResponse>(path: "/coded"))
    #expect(codes.withLock { $0 } == [.cannotDecodeContentData])
  }

  /// Has a decoder of its own, which would take no data for an empty body.
  private struct CodedItem: NetworkRequest {
    let path = "/coded"
    let method = HTTPMethod.get
    func decodeResponse(data: Data, response: URLResponse) throws -> EmptyResponse { EmptyResponse() }
  }

  private struct Missing: PrismNetworkRequest {
    struct Response: PrismEntity { var id: Int }
    struct Endpoint: PrismNetworkEndpoint {
      let server: URL
      var scheme: PrismNetworkScheme { .http }
      var host: String { server.host ?? "" }
      var port: Int? { server.port }
      var path: String { "/missing" }
      var method: PrismNetworkMethod { .get }
    }
    let server: URL
    var endpoint: Endpoint { Endpoint(server: server) }
  }

  private struct Cookies: NetworkRequest {
    let path = "/item"
    let method = HTTPMethod.get
    func decodeResponse(data: Data, response: URLResponse) throws -> [String] {
      (response as? HTTPURLResponse).map { HeaderFieldList($0).values(for: "Set-Cookie") } ?? []
    }
  }

  private struct Changing: NetworkMiddleware {
    var replacesBody = false

    func intercept(
      _ request: URLRequest, context: NetworkMiddlewareContext, next: NetworkMiddlewareNext
    ) async throws -> NetworkMiddlewareResponse {
      var response = try await next(request)
      response.headers["X-A"] = "3"
      response.headers["X-C"] = "4"
      _ = try await response.data()
      return replacesBody ? response.replacingBody(with: Data("{}".utf8)) : response
    }
  }
}
