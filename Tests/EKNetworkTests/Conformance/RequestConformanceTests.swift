#if os(Linux)
  import EKNetwork
  import LoopbackServer
  import Testing

  /// What every HTTP client can send.
  @Suite("HTTP client: requests", .timeLimit(.minutes(5))) struct RequestConformanceTests {
    private let setup: ConformanceSetup
    private var server: LoopbackServer { setup.server }
    private var manager: NetworkManager { setup.manager }

    init() throws { setup = try ConformanceSetup() }

    @Test func getDecodesItsResponse() async throws {
      let received = try await manager.send(ConformanceRequest())
      #expect(received.method == "GET" && received.body.isEmpty)
    }

    @Test func postSendsItsBody() async throws {
      let body = RequestBody(data: Data("short text".utf8), contentType: "text/plain")
      let received = try await manager.send(ConformanceRequest(method: .post, body: body))
      #expect(received.method == "POST" && received.body == "short text")
    }

    @Test func sequenceComesBack() async throws {
      let body = RequestBody(contentType: "text/plain") { AsyncStream.of(["short", " ", "text"]) }
      let response = try await manager.response(to: ConformanceRequest(path: "/echo", method: .post, body: body))
      #expect(response.statusCode == 200 && response.data == Data("short text".utf8))
      #expect(server.requests.first?.headers["Transfer-Encoding"] == "chunked")
    }

    @Test func millionBytesComeBack() async throws {
      let bytes = Data(repeating: 0x61, count: 1_000_000)
      let body = RequestBody(contentType: "text/plain", length: 1_000_000) { AsyncStream.of([bytes]) }
      let response = try await manager.response(to: ConformanceRequest(path: "/echo", method: .post, body: body))
      #expect(response.statusCode == 200 && response.data == bytes)
    }

    @Test func trailersFollowTheBody() async throws {
      let body = RequestBody(contentType: "text/plain", trailers: { ["X-Digest": "5d41", "X-Count": "2"] }) {
        AsyncStream.of(["short ", "text"])
      }
      let received = try await manager.send(ConformanceRequest(method: .post, body: body))
      #expect(received.body == "short text")
      #expect(server.requests.first?.trailers == ["X-Digest": "5d41", "X-Count": "2"])
    }

    @Test("an empty sequence is an empty body, in chunks or with its length", arguments: [nil, Int64(0)])
    func emptySequence(length: Int64?) async throws {
      let body = RequestBody(contentType: "text/plain", length: length) { AsyncStream.of([Data]()) }
      let received = try await manager.send(ConformanceRequest(method: .post, body: body))
      #expect(received.method == "POST" && received.body.isEmpty)
      #expect(server.requests.map(\.isComplete) == [true])
    }

    @Test func fieldKeepsItsNameAndValue() async throws {
      let body = RequestBody(data: Data("short text".utf8), contentType: "text/plain")
      let received = try await manager.send(
        ConformanceRequest(method: .post, headers: ["X-Mixed": "lower UPPER"], body: body))
      #expect(received.fields.filter { $0.name == "X-Mixed" }.map(\.value) == ["lower UPPER"])
    }

    @Test func emptyFieldIsSent() async throws {
      let received = try await manager.send(ConformanceRequest(method: .post, headers: ["X-Empty": ""]))
      #expect(received.fields.filter { $0.name == "X-Empty" }.map(\.value) == [""])
    }

    /// A request has one value for a name, so the members of a list are sent in one line.
    @Test func fieldWithSeveralValues() async throws {
      let received = try await manager.send(ConformanceRequest(headers: ["X-Part": "first, second"]))
      #expect(received.members(of: "X-Part") == ["first", "second"])
    }

    @Test func queryKeepsOrderAndRepetitions() async throws {
      let query = [("a", "1"), ("b", "2"), ("empty", ""), ("a", "3")]
      let received = try await manager.send(
        ConformanceRequest(orderedQuery: query.map { URLQueryItem(name: $0, value: $1) }))
      #expect(received.query == query.map { ReceivedRequest.Pair(name: $0, value: $1) })
    }

    @Test func hundredClientsAtOnce() async throws {
      let server = server
      try await withThrowingTaskGroup(of: String.self) { group in
        for number in 0..<100 {
          group.addTask {
            let manager = NetworkManager(baseURL: server.baseURL)
            return try await manager.send(ConformanceRequest(headers: ["X-Number": "\(number)"]))
              .members(of: "X-Number").joined()
          }
        }
        let numbers = try await group.reduce(into: Set<String>()) { $0.insert($1) }
        #expect(numbers.count == 100)
      }
      #expect(server.requestCount == 100)
    }
  }

  extension AsyncStream where Element == Data {
    fileprivate static func of(_ texts: [String]) -> Self { .of(texts.map { Data($0.utf8) }) }

    fileprivate static func of(_ pieces: [Data]) -> Self {
      Self { input in
        for piece in pieces { input.yield(piece) }
        input.finish()
      }
    }
  }
#endif
