#if os(Linux)
  import Foundation
  import LoopbackServer
  import Testing

  @testable import EKNetwork

  struct RequestFieldsTests {
    private let requestFields = RequestFields()
    private let fields: HeaderFieldList = ["Accept": "application/json", "Authorization": "Bearer one"]

    /// Whether both are the same memory.
    private func isSame(_ one: HeaderBlock, _ other: HeaderBlock) -> Bool {
      one.bytes.withUnsafeBytes { one in other.bytes.withUnsafeBytes { one.baseAddress == $0.baseAddress } }
    }

    @Test func equalFieldsShareTheirLines() throws {
      let first = try requestFields.block(for: fields, content: .none)
      // Not the same list: another request's.
      let again = HeaderFieldList(fields.map { ($0.name, $0.value) })
      #expect(isSame(try requestFields.block(for: again, content: .none), first))
    }

    @Test func fieldsAreWrittenInTheirOrder() throws {
      let block = try requestFields.block(for: ["B": "1", "a": "2", "Accept": "c", "A-B": "3"], content: .none)
      #expect(String(decoding: block.bytes, as: UTF8.self).hasPrefix("B: 1\r\na: 2\r\nAccept: c\r\nA-B: 3\r\n"))
    }

    @Test(
      arguments: [
        ["Accept": "application/json", "Authorization": "Bearer two"], ["Accept": "application/json"], [:],
        ["Accept": "application/json", "Authorization": "Bearer one", "X-A": "1"],
        ["accept": "application/json", "Authorization": "Bearer one"],
      ] as [HeaderFieldList]) func differentFieldsHaveTheirOwnLines(_ other: HeaderFieldList) throws
    {
      let first = try requestFields.block(for: fields, content: .none)
      let second = try requestFields.block(for: other, content: .none)
      #expect(!isSame(second, first))
      #expect(isSame(try requestFields.block(for: other, content: .none), second))
      #expect(!isSame(try requestFields.block(for: fields, content: .none), second))
    }

    @Test func eachContentHasItsOwnLines() throws {
      var seen: [HeaderBlock] = []
      for content in [RequestFields.Content.none, .empty, .sized, .chunked] {
        let lines = try requestFields.block(for: fields, content: content)
        #expect(!seen.contains { isSame($0, lines) })
        seen.append(lines)
      }
    }

    @Test func rangeIsRequestedWithoutContentCodings() throws {
      func codings(_ fields: HeaderFieldList) throws -> [String] {
        let block = try requestFields.block(for: fields, content: .none)
        return String(decoding: block.bytes, as: UTF8.self).components(separatedBy: "\r\n")
          .filter { $0.lowercased().hasPrefix("accept-encoding:") }
      }
      #expect(try codings(["Range": "bytes=0-1"]) == ["Accept-Encoding: identity"])
      #expect(try codings(["range": "bytes=0-1"]) == ["Accept-Encoding: identity"])
      #expect(try codings(["Range": "bytes=0-1", "accept-encoding": "br"]) == ["accept-encoding: br"])
      #expect(try codings(["If-Range": "\"v\""]).first?.contains("gzip") == true)
    }

    /// The session's own fields and middleware's get here, too.
    @Test func otherTransferEncodingsAreRefused() throws {
      for content in [RequestFields.Content.none, .empty, .sized, .chunked] {
        _ = try requestFields.block(for: ["transfer-encoding": "Chunked"], content: content)
        for coding in ["gzip", "identity", "gzip, chunked", ""] {
          #expect(throws: InvalidHeaderError(field: "Transfer-Encoding", reason: .managedByLibrary)) {
            try requestFields.block(for: ["Transfer-Encoding": coding], content: content)
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
      _ = try requestFields.block(for: fields, content: .none)
      for _ in 1...2 {
        #expect(throws: InvalidHeaderError.self) {
          try requestFields.block(for: ["X-A": "1\r\nX-B: 2"], content: .none)
        }
      }
    }

    /// A hundred users of one session, at once: each request arrives with its own fields.
    @Test func eachRequestHasItsOwnFields() async throws {
      let server = try LoopbackServer()
      defer { server.stop() }
      server.route("/") { .text("\($0.headers["Authorization"] ?? "") \($0.method) \($0.headers["X-User"] ?? "")") }
      let transport = try #require(HTTPTransport(configuration: .ephemeral))
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
