#if os(Linux)
  import Foundation
  import LoopbackServer
  import Testing

  @testable import EKNetwork

  @Suite struct CurlHeaderFieldsTests {
    private let headerFields = CurlHeaderFields()
    private let fields = ["Accept": "application/json", "Authorization": "Bearer one"]

    // The lines are libcurl's, which has to be loaded.
    init() { #expect(CurlLibrary.capabilities != nil) }

    @Test func equalFieldsShareTheirLines() throws {
      let first = try headerFields.lines(for: fields, content: .none)
      // Not the same dictionary: another request's, in another order.
      let again = Dictionary(uniqueKeysWithValues: fields.sorted { $0.key > $1.key }.map { ($0.key, $0.value) })
      #expect(try headerFields.lines(for: again, content: .none) === first)
    }

    @Test(arguments: [
      ["Accept": "application/json", "Authorization": "Bearer two"], ["Accept": "application/json"], [:],
      ["Accept": "application/json", "Authorization": "Bearer one", "X-A": "1"],
      ["accept": "application/json", "Authorization": "Bearer one"],
    ]) func differentFieldsHaveTheirOwnLines(_ other: [String: String]) throws {
      let first = try headerFields.lines(for: fields, content: .none)
      let second = try headerFields.lines(for: other, content: .none)
      #expect(second !== first)
      #expect(try headerFields.lines(for: other, content: .none) === second)
      #expect(try headerFields.lines(for: fields, content: .none) !== second)
    }

    @Test func eachContentHasItsOwnLines() throws {
      var seen: [CurlHeaderLines] = []
      for content in [CurlHeaderFields.Content.none, .empty, .sized, .chunked] {
        let lines = try headerFields.lines(for: fields, content: content)
        #expect(!seen.contains { $0 === lines })
        seen.append(lines)
      }
    }

    @Test func listsWithinTheLimitsAreCached() throws {
      for fields in [
        ["X-A": String(repeating: "a", count: 16_381)],
        Dictionary(uniqueKeysWithValues: (0..<64).map { ("X-\($0)", "1") }),
      ] {
        let first = try headerFields.lines(for: fields, content: .none)
        #expect(try headerFields.lines(for: fields, content: .none) === first)
      }
    }

    @Test func largeListsAreNotCached() throws {
      for large in [
        ["X-A": String(repeating: "a", count: 16_384)],
        Dictionary(uniqueKeysWithValues: (0..<65).map { ("X-\($0)", "1") }),
      ] {
        let first = try headerFields.lines(for: large, content: .none)
        #expect(try headerFields.lines(for: large, content: .none) !== first)
      }
    }

    /// The session's own fields and middleware's get here, too.
    @Test func otherTransferEncodingsAreRefused() throws {
      for content in [CurlHeaderFields.Content.none, .empty, .sized, .chunked] {
        _ = try headerFields.lines(for: ["transfer-encoding": "Chunked"], content: content)
        for coding in ["gzip", "identity", "gzip, chunked", ""] {
          #expect(throws: InvalidHeaderError(field: "Transfer-Encoding", reason: .managedByLibrary)) {
            try headerFields.lines(for: ["Transfer-Encoding": coding], content: content)
          }
        }
      }
    }

    @Test func sessionTransferEncodingIsNotSent() async throws {
      let server = try LoopbackServer()
      defer { server.stop() }
      server.route("/item") { _ in .status(204) }
      let manager = Wire.automatic.manager(server) { $0.httpAdditionalHeaders = ["Transfer-Encoding": "chunked"] }
      _ = try await manager.send(Probe<EmptyResponse>(path: "/item"))
      var upload = Probe<EmptyResponse>(path: "/item", method: .post)
      upload.body = RequestBody(data: Data("abc".utf8), contentType: "a/b")
      _ = try await manager.send(upload)
      #expect(server.requests.map { $0.header("Transfer-Encoding") } == [nil, nil])
      #expect(server.requests.last?.body == Data("abc".utf8))
    }

    @Test func invalidFieldIsRefusedEachTime() throws {
      _ = try headerFields.lines(for: fields, content: .none)
      for _ in 1...2 {
        #expect(throws: InvalidHeaderError.self) {
          try headerFields.lines(for: ["X-A": "1\r\nX-B: 2"], content: .none)
        }
      }
    }

    /// A hundred users of one session, at once: each request arrives with its own fields.
    @Test func eachRequestHasItsOwnFields() async throws {
      let server = try LoopbackServer()
      defer { server.stop() }
      server.route("/") { .text("\($0.headers["Authorization"] ?? "") \($0.method) \($0.headers["X-User"] ?? "")") }
      let transport = try #require(CurlTransport(configuration: .ephemeral))
      try await withThrowingTaskGroup(of: Void.self) { group in
        for index in 0..<100 {
          // Each pair of requests has the same fields.
          let user = "\(index / 2)"
          let method = index.isMultiple(of: 5) ? "POST" : "GET"
          var request = TransportRequest(URLRequest(url: server.url("/")))
          request.change {
            $0.httpMethod = method
            $0.allHTTPHeaderFields = ["Authorization": "Bearer \(user)", "X-User": user]
          }
          group.addTask { [request] in
            let response = try await transport.fetch(request)
            #expect(String(decoding: response.data, as: UTF8.self) == "Bearer \(user) \(method) \(user)")
          }
        }
        try await group.waitForAll()
      }
      let posts = server.requests.filter { $0.method == "POST" }
      #expect(posts.count == 20 && posts.allSatisfy { $0.headers["Content-Length"] == "0" })
      #expect(server.requests.filter { $0.method == "GET" }.allSatisfy { $0.headers["Content-Length"] == nil })
    }
  }
#endif
