#if os(Linux)
  import EKNetwork
  import LoopbackServer
  import Synchronization
  import Testing

  /// What every HTTP client does with the responses of a server, right and wrong ones.
  @Suite("HTTP client: responses", .timeLimit(.minutes(5))) struct ResponseConformanceTests {
    private let setup: ConformanceSetup
    private var server: LoopbackServer { setup.server }
    private var manager: NetworkManager { setup.manager }

    init() throws { setup = try ConformanceSetup() }

    // MARK: Heads and framing

    enum Malformed: String, CaseIterable, Sendable {
      case notHTTP = "no HTTP at all"
      case protocolInLowercase = "the protocol's name in another case"
      case bodyCutShort = "a body shorter than its length"
      case conflictingLengths = "two lengths"

      var text: String {
        switch self {
        case .notHTTP: "220 ready\r\n"
        case .protocolInLowercase: "Http/1.1 200 OK\r\nConnection: close\r\n\r\n"
        case .bodyCutShort: "HTTP/1.1 200 OK\r\nContent-Length: 500\r\nConnection: close\r\n\r\nshort"
        case .conflictingLengths: "HTTP/1.1 200 OK\r\nContent-Length: 9, 5\r\nConnection: close\r\n\r\nshort"
        }
      }

      var code: URLError.Code { self == .bodyCutShort ? .networkConnectionLost : .badServerResponse }
    }

    @Test(arguments: Malformed.allCases) func malformedResponsesAreErrors(_ malformed: Malformed) async throws {
      server.route("/request", .raw(malformed.text))
      let whole = await #expect(throws: URLError.self) { try await manager.response(to: ConformanceRequest()) }
      #expect(whole?.code == malformed.code)
      let streamed = await #expect(throws: URLError.self) {
        for try await _ in try await manager.stream(ConformanceRequest()).body {}
      }
      #expect(streamed?.code == malformed.code)
    }

    @Test func reasonPhraseMayBeMissing() async throws {
      server.route("/request", .raw("HTTP/1.1 200\r\nConnection: close\r\n\r\n"))
      let response = try await manager.response(to: ConformanceRequest())
      #expect(response.statusCode == 200 && response.reasonPhrase.isEmpty && response.data.isEmpty)
    }

    @Test("204 and 304 have no body, whatever length they announce", arguments: [204, 304])
    func statusesWithoutBody(_ status: Int) async throws {
      server.route("/request", .raw("HTTP/1.1 \(status) Status\r\nContent-Length: 500\r\nConnection: close\r\n\r\n"))
      let response = try await manager.response(to: ConformanceRequest())
      #expect(response.statusCode == status && response.data.isEmpty)
    }

    @Test func headHasALengthAndNoBody() async throws {
      server.route("HEAD", "/request", .status(200, headers: ["Content-Length": "500"]))
      let response = try await manager.response(to: ConformanceRequest(method: .head))
      #expect(response.statusCode == 200 && response.data.isEmpty && response.trailers.isEmpty)
      #expect(response.values(for: "Content-Length") == ["500"])
    }

    @Test func bodyWithoutLengthEndsWithTheConnection() async throws {
      server.route("/request", .raw("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nshort"))
      let response = try await manager.response(to: ConformanceRequest())
      #expect(response.statusCode == 200 && response.data == Data("short".utf8))
    }

    // MARK: Statuses and fields

    @Test(arguments: [HTTPMethod.head, .get, .put, .post, .delete])
    func everyMethodGetsAnEmptyResponse(_ method: HTTPMethod) async throws {
      server.route("/request", .status(200))
      let response = try await manager.response(to: ConformanceRequest(method: method))
      #expect(response.statusCode == 200 && response.data.isEmpty && response.trailers.isEmpty)
      #expect(server.requests.map(\.method) == [method.rawValue])
    }

    @Test("a status is a response, even one of no class", arguments: [404, 999])
    func statuses(_ status: Int) async throws {
      server.route("/request", .status(status))
      let response = try await manager.response(to: ConformanceRequest())
      #expect(response.statusCode == status && response.data.isEmpty)
    }

    @Test func repeatedFieldsStaySeparate() async throws {
      server.route("/request", .status(200, headers: ["X-Part": "first", "Other": "-", "X-Part": "second"]))
      let response = try await manager.response(to: ConformanceRequest())
      #expect(response.values(for: "x-part") == ["first", "second"])
    }

    @Test func trailersFollowTheBody() async throws {
      let trailers: HeaderFields = ["X-Digest": "5d41", "X-Count": "2", "X-Last": "yes"]
      server.route("/request", .chunked([Data("short ".utf8), Data("text".utf8)], trailers: trailers))
      let response = try await manager.response(to: ConformanceRequest())
      #expect(response.data == Data("short text".utf8))
      #expect(response.trailers.map(\.name) == trailers.map(\.name))
      #expect(response.trailers.map(\.value) == trailers.map(\.value))
      #expect(response.values(for: "X-Digest").isEmpty)
    }

    // MARK: Content codings

    enum Coding: String, CaseIterable, Sendable {
      case gzip, deflate, br, identity

      /// `short and long` and a line feed.
      var content: Data? {
        switch self {
        case .gzip: Data(base64Encoded: "H4sIAAAAAAACAyvOyC8qUUjMS1HIyc9L5wIAb9Wp3g8AAAA=")
        case .deflate: Data(base64Encoded: "eJwrzsgvKlFIzEtRyMnPS+cCAC4CBV4=")
        case .br: Data(base64Encoded: "Gw4A+CUUUpBBFKkcGqo+Bg==")
        case .identity: Data("short and long\n".utf8)
        }
      }
    }

    /// Which codings there are depends on the system's libraries; a server must not use one that is not announced.
    @Test(arguments: Coding.allCases) func codingsAreRemoved(_ coding: Coding) async throws {
      let plain = try #require(Coding.identity.content)
      let encoded = try #require(coding.content)
      server.route("/request") { request in
        let announced = request.headers["Accept-Encoding"]?.components(separatedBy: ", ") ?? []
        guard announced.contains(coding.rawValue) else { return .data(plain) }
        return .data(encoded, headers: ["Content-Encoding": coding.rawValue])
      }
      let response = try await manager.response(to: ConformanceRequest())
      #expect(response.statusCode == 200 && response.data == plain)
      let announced = server.requests.first?.headers["Accept-Encoding"]
      #expect(announced?.contains("gzip") == true && announced?.contains("deflate") == true)
    }

    // MARK: Redirects

    @Test(arguments: [301, 308]) func redirectsAreFollowed(_ status: Int) async throws {
      server.route("/moved", .redirect(to: "/request", status: status))
      let received = try await manager.send(ConformanceRequest(path: "/moved"))
      #expect(received.method == "GET" && received.body.isEmpty)
      #expect(server.requests.map(\.path) == ["/moved", "/request"])
    }

    @Test func endlessRedirectIsAnError() async throws {
      server.route("/there", .redirect(to: "/back", status: 301))
      server.route("/back", .redirect(to: "/there", status: 301))
      let error = await #expect(throws: URLError.self) {
        try await manager.response(to: ConformanceRequest(path: "/there"))
      }
      #expect(error?.code == .httpTooManyRedirects)
    }

    // MARK: Cookies and caching

    @Test func cookieIsSentBack() async throws {
      let cookie = "visit=\(UUID().uuidString)"
      server.route("/cookie", .status(200, headers: ["Set-Cookie": cookie]))
      let response = try await manager.response(to: ConformanceRequest(path: "/cookie"))
      #expect(response.values(for: "Set-Cookie") == [cookie])
      let received = try await manager.send(ConformanceRequest())
      #expect(received.fields.filter { $0.name == "Cookie" }.map(\.value) == [cookie])
    }

    private final class Version: Sendable {
      let number = Mutex(0)
    }

    /// Each version is confirmed once, and replaced the next time that a client asks whether it is still valid.
    @Test("a confirmed response has the body of the first and the fields of the second", arguments: ["", "\""])
    func entityTagsAreSentBack(quote: String) async throws {
      let version = Version()
      server.route("/request") { request in
        version.number.withLock { number in
          let tag = "\(quote)\(number)\(quote)"
          guard request.headers["If-None-Match"] == tag else {
            return .text("\(number)", headers: ["ETag": tag, "X-Confirmed": "no"])
          }
          number += 1
          return .status(304, headers: ["ETag": tag, "X-Confirmed": "yes"])
        }
      }
      manager.httpCache = HTTPCache()
      for number in 0..<3 {
        for confirmed in ["no", "yes"] {
          let response = try await manager.response(to: ConformanceRequest())
          #expect(response.statusCode == 200 && response.data == Data("\(number)".utf8))
          #expect(response.values(for: "ETag") == ["\(quote)\(number)\(quote)"])
          #expect(response.values(for: "X-Confirmed") == [confirmed])
        }
      }
      #expect(server.requestCount == 6)
    }
  }
#endif
