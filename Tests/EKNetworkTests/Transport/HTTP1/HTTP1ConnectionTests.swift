#if os(Linux)
  import Foundation
  import LoopbackServer
  import Testing

  @testable import EKNetwork

  /// Connections on which the library itself speaks HTTP/1.1.
  @Suite(.timeLimit(.minutes(2))) struct HTTP1ConnectionTests {
    private static let loops = EventLoops(count: 1)
    private let server: LoopbackServer
    private let transport: HTTPTransport

    init() throws {
      server = try LoopbackServer()
      transport = try #require(
        HTTPTransport(configuration: .ephemeral, eventLoops: Self.loops))
    }

    private func fetch(_ path: String, _ change: (inout URLRequest) -> Void = { _ in }) async throws -> String {
      var request = URLRequest(url: server.url(path))
      change(&request)
      return String(decoding: try await transport.fetch(TransportRequest(request)).data, as: UTF8.self)
    }

    /// RFC 9112 §9.3: each of these responses says where it ends.
    @Test func connectionIsUsedAgainAfterEveryCompleteResponse() async throws {
      let responses = [
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;a=b\r\no\r\n1\r\nk\r\n0\r\nX-Trailer: 1\r\n\r\n",
        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\n",
      ]
      let next = Locked(0)
      server.route("/") { _ in
        let index = next.withLock { index in
          defer { index += 1 }
          return index
        }
        return .raw([.sendString(responses[index % responses.count])]).then(.keepAlive)
      }
      for index in 0..<4 * responses.count {
        #expect(try await fetch("/") == (index % responses.count < 4 ? "ok" : ""))
      }
      #expect(server.acceptedConnections == 1)
    }

    /// RFC 9112 §6.3: what follows a response is not the response to the next request.
    @Test(arguments: ["\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"])
    func connectionIsNotUsedAgainAfterASurplus(_ surplus: String) async throws {
      let end = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok\(surplus)"
      server.route("/") { _ in .raw([.sendString(end), .stall]) }
      for _ in 0..<3 { #expect(try await fetch("/") == "ok") }
      #expect(server.acceptedConnections == 3)
    }

    /// Most of a large body is received without being parsed.
    @Test(arguments: [300_000, 5_000_000], ["", "\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"])
    func largeBodyArrivesWhole(_ length: Int, surplus: String) async throws {
      let body = Data.noise(length)
      let head = "HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\n"
      server.route("/") { _ in
        let response = [LoopbackServer.Response.Step.sendString(head), .send(body), .sendString(surplus)]
        return surplus.isEmpty ? .raw(response).then(.keepAlive) : .raw(response + [.stall])
      }
      for _ in 0..<3 {
        let response = try await transport.fetch(TransportRequest(URLRequest(url: server.url("/"))))
        #expect(response.data == body)
      }
      #expect(server.acceptedConnections == (surplus.isEmpty ? 1 : 3))
    }

    @Test(arguments: [nil, 4_999_999, 5_000_001]) func largeBodyEndsWithTheConnection(_ length: Int?) async throws {
      let body = Data.noise(5_000_000)
      let field = length.map { "Content-Length: \($0)\r\n" } ?? ""
      server.route("/") { _ in .raw([.sendString("HTTP/1.1 200 OK\r\n\(field)\r\n"), .send(body)]) }
      let response = try await transport.start(TransportRequest(URLRequest(url: server.url("/"))))
      var received = Data()
      do {
        while let chunk = try await response.body.next() { received += chunk }
        #expect(length != 5_000_001)
      } catch let error as URLError {
        #expect(length == 5_000_001 && error.code == .networkConnectionLost)
      }
      #expect(received == body.prefix(length ?? body.count))
    }

    @Test(arguments: ["Connection: close", "Connection: TE, Close", "Transfer-Encoding: identity"])
    func connectionIsNotUsedAgainIfTheServerSaysSo(_ field: String) async throws {
      server.route("/") { _ in
        .raw([.sendString("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\(field)\r\n\r\nok")]).then(.keepAlive)
      }
      for _ in 0..<2 { #expect(try await fetch("/") == "ok") }
      #expect(server.acceptedConnections == 2)
    }

    @Test func connectionIsNotUsedAgainIfTheRequestSaysSo() async throws {
      server.fallback = { _ in .text("ok") }
      for _ in 0..<2 {
        #expect(try await fetch("/") { $0.setValue("close", forHTTPHeaderField: "Connection") } == "ok")
      }
      #expect(server.acceptedConnections == 2)
    }

    /// The end of the response is the end of the exchange: a body that has nothing to send does not keep it open.
    @Test(arguments: [200, 404]) func responseEndsTheExchangeWhileTheBodyIsPending(_ status: Int) async throws {
      let (isAsked, isEnded, never) = (Gate(), Gate(), Gate())
      let response = "HTTP/1.1 \(status) A\r\nContent-Length: 2\r\n\r\nok"
      server.route("/", onHead: { _ in .respond(.raw([.wait(isAsked), .sendString(response), .stall])) }) { _ in
        .text("")
      }
      let stream = AsyncStream<Data> {
        isAsked.open()
        _ = await never.wait()
        isEnded.open()
        return nil
      }
      var probe = Probe<StatusCodeResponse>(path: "/", method: .post)
      probe.body = RequestBody(sequence: stream, contentType: "a/b")
      let manager = NetworkManager(baseURL: { server.baseURL }, transport: transport)
      do {
        #expect(try await manager.send(probe).statusCode == status)
      } catch let error as HTTPError {
        #expect(error.statusCode == status && error.data == Data("ok".utf8))
      }
      // Its producer learns that no more is needed.
      #expect(await isEnded.wait())
      #expect(await server.waitForOpenConnections(0))
    }

    /// The server has closed the connection before the body was sent: sending fails, and the response is complete.
    @Test func responseThatEndsWithTheConnectionArrivesDuringTheUpload() async throws {
      server.route("/", onHead: { _ in .respond(.raw("HTTP/1.1 413 Large\r\n\r\nno")) }) { _ in .text("") }
      let manager = NetworkManager(baseURL: { server.baseURL }, transport: transport)
      var probe = Probe<StatusCodeResponse>(path: "/", method: .put)
      probe.body = RequestBody(data: Data(count: 32 << 20), contentType: "a/b")
      for _ in 0..<10 {
        let error = await #expect(throws: HTTPError.self) { try await manager.send(probe) }
        #expect(error?.statusCode == 413 && error?.data == Data("no".utf8))
      }
    }

    @Test func responseMayArriveByteByByte() async throws {
      let response = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n00\r\nA: b\r\n\r\n"
      server.route("/") { _ in
        .raw([.trickle(Data(response.utf8), chunk: 1, every: .microseconds(200))]).then(.keepAlive)
      }
      for _ in 0..<3 { #expect(try await fetch("/") == "abc") }
      #expect(server.acceptedConnections == 1)
    }

    /// A body that is declared to be empty is announced with its length, and nothing is sent if it is not empty.
    @Test(arguments: [true, false], [0, 3]) func emptyBodyIsCheckedFirst(_ isStream: Bool, _ count: Int) async throws {
      server.fallback = { _ in .text("ok") }
      let manager = NetworkManager(baseURL: { server.baseURL }, transport: transport)
      for _ in 0..<2 {
        var probe = Probe<StatusCodeResponse>(path: "/", method: .post)
        let pieces = AsyncStream<Data> { continuation in
          if count > 0 { continuation.yield(Data(count: count)) }
          continuation.finish()
        }
        probe.body =
          isStream
          ? RequestBody(stream: InputStream(data: Data(count: count)), contentType: "a/b", length: 0)
          : RequestBody(sequence: pieces, contentType: "a/b", length: 0)
        if count == 0 {
          #expect(try await manager.send(probe).statusCode == 200)
        } else {
          await #expect(throws: (any Error).self) { try await manager.send(probe) }
        }
      }
      #expect(server.requestCount == (count == 0 ? 2 : 0))
      #expect(server.acceptedConnections == (count == 0 ? 1 : 0))
      for request in server.requests {
        #expect(request.headers["Content-Length"] == "0" && request.headers["Transfer-Encoding"] == nil)
      }
    }

    @Test func bodyThatIsNeverFoundToBeEmptyEndsWithItsTask() async throws {
      let (isAsked, never) = (Gate(), Gate())
      let pieces = AsyncStream<Data> {
        isAsked.open()
        _ = await never.wait()
        return nil
      }
      let manager = NetworkManager(baseURL: { server.baseURL }, transport: transport)
      let result = await endingWhenCancelled(once: isAsked) {
        var probe = Probe<StatusCodeResponse>(path: "/", method: .post)
        probe.body = RequestBody(sequence: pieces, contentType: "a/b", length: 0)
        _ = try await manager.send(probe)
      }
      #expect(result?.failure is CancellationError)
      #expect(await server.waitForOpenConnections(0) && server.requestCount == 0)
      never.open()
    }

    /// RFC 9110 §15.5.9: a 408 on an idle connection that crosses a request is not the response to it.
    @Test(arguments: [("GET", true), ("GET", false), ("POST", true), ("PUT", true)])
    func closingNoticeIsNoResponse(_ method: String, closes: Bool) async throws {
      let notice = "HTTP/1.1 408 Timeout\r\nContent-Length: 0\r\n\(closes ? "Connection: close\r\n" : "")\r\n"
      let replies = ["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", notice, notice]
      let next = Locked(0)
      server.route("/") { _ in
        let index = next.withLock { index in
          defer { index += 1 }
          return index
        }
        return .raw([.sendString(replies[index])]).then(index == 0 || !closes ? .keepAlive : .close)
      }
      #expect(try await fetch("/") == "ok")
      var request = URLRequest(url: server.url("/"))
      request.httpMethod = method
      if method == "PUT" { request.httpBody = Data("body".utf8) }
      // The second one is on a new connection, so it is the response.
      let response = try await transport.fetch(TransportRequest(request))
      #expect(response.head.statusCode == 408)
      let isRepeated = method != "POST" && closes
      #expect(server.requests.map(\.method) == ["GET", method] + (isRepeated ? [method] : []))
      #expect(server.requests.dropFirst().allSatisfy { $0.body == request.httpBody ?? Data() })
    }

    /// From 8.20 on, libcurl's resolver has a socket of its own, whether connections are opened side by side or not.
    @Test(arguments: ["http", "https"]) func nameIsLookedUp(_ scheme: String) async throws {
      let url = try #require(URL(string: "\(scheme)://nonexistent.invalid/"))
      let error = await #expect(throws: URLError.self) {
        try await transport.fetch(TransportRequest(URLRequest(url: url)))
      }
      #expect(error?.code == .cannotFindHost)
    }

    /// Connections are opened side by side in one multi handle of libcurl.
    @Test func connectionsAreOpenedIndependently() async throws {
      server.fallback = { .text($0.path) }
      let port = try LoopbackServer.refusedPort()
      let refused = try #require(URL(string: "http://127.0.0.1:\(port)/"))
      let configuration = URLSessionConfiguration.ephemeral
      configuration.httpMaximumConnectionsPerHost = 200
      let transport = try #require(
        HTTPTransport(configuration: configuration, eventLoops: EventLoops(count: 1)))
      try await withThrowingTaskGroup(of: Void.self) { [server] group in
        for index in 0..<300 {
          let url = index % 3 == 1 ? refused : server.url("/\(index)")
          let request = TransportRequest(URLRequest(url: url))
          group.addTask {
            let task = Task { String(decoding: try await transport.fetch(request).data, as: UTF8.self) }
            if index % 3 == 2 { task.cancel() }
            switch await task.result {
            case .success(let text): #expect(text == "/\(index)")
            case .failure(let error as URLError): #expect(index % 3 == 1 && error.code == .cannotConnectToHost)
            case .failure(let error): #expect(index % 3 == 2 && error is CancellationError)
            }
          }
        }
        try await group.waitForAll()
      }
      let response = try await transport.fetch(TransportRequest(URLRequest(url: server.url("/after"))))
      #expect(response.data == Data("/after".utf8))
    }

    @Test func manyRequestsShareAFewConnections() async throws {
      server.fallback = { .text($0.path) }
      let configuration = URLSessionConfiguration.ephemeral
      configuration.httpMaximumConnectionsPerHost = 4
      let transport = try #require(
        HTTPTransport(configuration: configuration, eventLoops: Self.loops))
      try await withThrowingTaskGroup(of: Void.self) { group in
        for index in 0..<500 {
          let request = TransportRequest(URLRequest(url: server.url("/\(index)")))
          group.addTask {
            let response = try await transport.fetch(request)
            #expect(response.data == Data("/\(index)".utf8))
          }
        }
        try await group.waitForAll()
      }
      #expect(server.acceptedConnections <= 4)
    }
  }
#endif
