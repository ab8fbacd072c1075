#if os(Linux)
  import Foundation
  import FoundationNetworking
  import Testing

  @testable import EKNetwork

  /// HTTP/2 with third-party servers, of which nginx sends GOAWAY every 200 requests.
  @Suite("HTTP/2 peers", .serialized, .timeLimit(.minutes(10)), .enabled(if: PeerProcess.python != nil))
  struct HTTP2PeerTests {
    enum Server: String, CaseIterable, Sendable {
      case nginx, nghttpd, hypercorn, go
      /// nghttpd without TLS.
      case cleartext

      var isInstalled: Bool {
        switch self {
        case .hypercorn: PeerProcess.has("hypercorn")
        default: Self.folders.contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(program)") }
        }
      }

      private var program: String { self == .cleartext ? "nghttpd" : rawValue }

      /// Where http2.py looks.
      private static let folders =
        (ProcessInfo.processInfo.environment["PATH"] ?? "").components(separatedBy: ":") + ["/usr/sbin"]

      /// Those that only speak HTTP/2 need a client that does.
      private var isReachable: Bool {
        switch self {
        case .nginx, .hypercorn, .go: true
        case .nghttpd: CurlLibrary.capabilities?.opensHTTP2 == true
        case .cleartext: CurlLibrary.capabilities?.speaksHTTP2 == true
        }
      }

      static let installed = allCases.filter { $0.isInstalled && $0.isReachable }
      static let echoing = installed.filter { $0 != .nginx }
      static let goOnly = installed.filter { $0 == .go }
    }

    private struct Get: NetworkRequest {
      typealias Response = Item
      var path = "/item.json"
      var method = HTTPMethod.get
    }

    /// The protocol with a server that offers HTTP/2, which needs nghttp2 and OpenSSL.
    static let protocolName = TransportDescription.current.capabilities.contains("http2") ? "HTTP/2" : "HTTP/1.1"

    private func peer(of server: Server) throws -> PeerProcess { try PeerProcess.shared("http2.py", server.rawValue) }

    private func options(
      of server: Server, _ peer: PeerProcess, version: ConnectionOptions.HTTPVersion? = nil
    ) -> ConnectionOptions {
      ConnectionOptions(
        tls: TLSOptions(certificateAuthorityFile: peer.authority),
        httpVersion: version ?? (server == .cleartext ? .http2 : .automatic))
    }

    private func client(
      of server: Server, version: ConnectionOptions.HTTPVersion? = nil, timings: Locked<[NetworkTimings]> = Locked([])
    ) throws -> NetworkManager {
      let peer = try peer(of: server)
      let configuration = URLSessionConfiguration.ephemeral
      configuration.timeoutIntervalForRequest = 60
      let manager = NetworkManager(
        baseURL: try peer.url("good", scheme: server == .cleartext ? "http" : "https"),
        session: URLSession(configuration: configuration),
        transport: .connecting(with: options(of: server, peer, version: version)))
      manager.eventHandler = { event in
        guard case .finished(_, _, let measured) = event.kind else { return }
        timings.withLock { $0.append(measured) }
      }
      return manager
    }

    @Test("Concurrent requests share connections, and a GOAWAY loses none of them", arguments: Server.installed)
    func many(server: Server) async throws {
      let timings = Locked<[NetworkTimings]>([])
      let manager = try client(of: server, timings: timings)
      try await withThrowingTaskGroup(of: Item.self) { group in
        for _ in 0..<1_000 { group.addTask { try await manager.send(Get()) } }
        for try await item in group { #expect(item == Item(id: 1)) }
      }
      let measured = timings.withLock { $0 }
      #expect(measured.count == 1_000)
      let protocolName = server == .cleartext ? "HTTP/2" : Self.protocolName
      #expect(measured.allSatisfy { $0.protocolName == protocolName })
      // One for each 200 requests to nginx, and a few that were opened while one was closing.
      #expect(measured.count { $0.isConnectionReused == false } < 300)
    }

    @Test("Responses are read by the threads that have sent the requests", arguments: Server.installed)
    func direct(server: Server) async throws {
      let peer = try peer(of: server)
      let loops = EventLoops(count: 1, directWait: DirectWait(longest: 900_000_000, promising: .max))
      let transport = try #require(
        HTTPTransport(configuration: .ephemeral, options: options(of: server, peer), eventLoops: loops))
      let url = try peer.url("good", scheme: server == .cleartext ? "http" : "https")
      // The best of several rounds counts: on a busy machine more requests find the loop's thread at work.
      var best = 0
      for round in 0..<10 where best < 11 {
        let before = loops.directResponseCount
        for _ in 0..<21 {
          let response = try await transport.fetch(
            TransportRequest(URLRequest(url: url.appendingPathComponent("item.json"))))
          #expect(response.head.statusCode == 200 && !response.data.isEmpty)
        }
        best = loops.directResponseCount - before
        // The first one of all opens a connection.
        #expect(best <= (round == 0 ? 20 : 21))
      }
      #expect(best >= 11)
    }

    @Test("A connection that is opened ahead is the one that requests use", arguments: Server.installed)
    func preconnect(server: Server) async throws {
      let timings = Locked<[NetworkTimings]>([])
      let manager = try client(of: server, timings: timings)
      try await withThrowingTaskGroup(of: Bool.self) { group in
        for _ in 0..<4 { group.addTask { try await manager.preconnect() } }
        for try await isOpen in group { #expect(isOpen) }
      }
      try await withThrowingTaskGroup(of: Item.self) { group in
        for _ in 0..<4 { group.addTask { try await manager.send(Get()) } }
        for try await item in group { #expect(item == Item(id: 1)) }
      }
      #expect(timings.withLock { $0.map(\.isConnectionReused) } == [true, true, true, true])
    }

    @Test("A client speaks the version that it is told to", arguments: Server.installed.filter { $0 != .cleartext })
    func versions(server: Server) async throws {
      for (version, name) in [(ConnectionOptions.HTTPVersion.http1, "HTTP/1.1"), (.http2, "HTTP/2")] {
        // nghttpd speaks nothing else.
        if server == .nghttpd, version == .http1 { continue }
        if version == .http2, Self.protocolName != name { continue }
        let timings = Locked<[NetworkTimings]>([])
        let manager = try client(of: server, version: version, timings: timings)
        for _ in 0..<3 { #expect(try await manager.send(Get()) == Item(id: 1)) }
        #expect(timings.withLock { $0.map(\.protocolName) } == [name, name, name])
      }
    }

    @Test("An unread stream blocks neither other streams nor its own completion", arguments: Server.installed)
    func slowStream(server: Server) async throws {
      let manager = try client(of: server)
      let stream = try await manager.stream(Get(path: "/large"), accessToken: nil)
      for _ in 0..<50 { #expect(try await manager.send(Get()) == Item(id: 1)) }
      var count = 0
      for try await chunk in stream.chunks { count += chunk.count }
      #expect(count == 64 << 20)
    }

    @Test("An abandoned stream closes, and the connection stays usable", arguments: Server.installed)
    func leftStream(server: Server) async throws {
      let manager = try client(of: server)
      for _ in 0..<20 {
        for try await _ in try await manager.stream(Get(path: "/large"), accessToken: nil).chunks { break }
        #expect(try await manager.send(Get()) == Item(id: 1))
      }
    }

    @Test("The status and header fields are the same as over HTTP/1.1", arguments: Server.installed)
    func errors(server: Server) async throws {
      let manager = try client(of: server)
      let error = await #expect(throws: HTTPError.self) { try await manager.send(Get(path: "/missing")) }
      #expect(error?.statusCode == 404)
      if server == .nginx { #expect(error?.value(forHTTPHeaderField: "Server")?.hasPrefix("nginx") == true) }
    }

    private static func echo(of body: RequestBody, by manager: NetworkManager) async throws -> Data {
      var request = Probe<EmptyResponse>(path: "/echo", method: .post)
      request.body = body
      var received = Data()
      for try await chunk in try await manager.stream(request, accessToken: nil).chunks { received += chunk }
      return received
    }

    @Test("A body of any kind and size comes back as it was sent", arguments: Server.echoing)
    func echo(server: Server) async throws {
      let manager = try client(of: server)
      for size in [0, 1, 65_535, 65_536, 3 << 20] {
        let sent = Data.noise(size)
        let (blocks, input) = AsyncStream<Data>.makeStream()
        for start in stride(from: 0, to: size, by: 10_000) { input.yield(sent[start..<min(start + 10_000, size)]) }
        input.finish()
        for body in [
          RequestBody(data: sent, contentType: "a/b"),
          RequestBody(stream: InputStream(data: sent), contentType: "a/b"),
          RequestBody(sequence: blocks, contentType: "a/b"),
        ] { #expect(try await Self.echo(of: body, by: manager) == sent) }
      }
    }

    /// The server answers each piece before it gets the next one.
    @Test(
      "A body is written while its response is read", arguments: Server.installed.filter { $0 == .hypercorn },
      [ConnectionOptions.HTTPVersion.http1, .automatic])
    func dialogue(server: Server, version: ConnectionOptions.HTTPVersion) async throws {
      let (pieces, input) = AsyncStream<Data>.makeStream()
      var request = Probe<EmptyResponse>(path: "/echo", method: .post)
      request.body = RequestBody(sequence: pieces, contentType: "a/b")
      input.yield(Data("turn 0".utf8))
      let response = try await client(of: server, version: version).stream(request)
      var chunks = response.body.makeAsyncIterator()
      for number in 0..<100 {
        let sent = Data("turn \(number)".utf8)
        if number > 0 { input.yield(sent) }
        var received = Data()
        while received.count < sent.count, let chunk = try await chunks.next() { received += chunk }
        #expect(received == sent)
      }
      input.finish()
      #expect(try await chunks.next() == nil)
    }

    @Test("A hundred bodies at once are not mixed up", arguments: Server.echoing)
    func echoes(server: Server) async throws {
      let manager = try client(of: server)
      try await withThrowingTaskGroup(of: Bool.self) { group in
        for number in 0..<100 {
          group.addTask {
            let sent = Data(repeating: UInt8(number), count: 100_000 + number)
            return try await Self.echo(of: RequestBody(data: sent, contentType: "a/b"), by: manager) == sent
          }
        }
        for try await isSame in group { #expect(isSame) }
      }
    }

    @Test(
      "What comes before and after a response does not change it", arguments: Server.goOnly, ["/hints", "/trailers"])
    func around(server: Server, path: String) async throws {
      #expect(try await client(of: server).send(Get(path: path)) == Item(id: 1))
    }

    @Test("A response that the server breaks off is an error", arguments: Server.goOnly)
    func broken(server: Server) async throws {
      let manager = try client(of: server)
      let error = await #expect(throws: URLError.self) { try await manager.send(Get(path: "/broken")) }
      #expect(error?.code == .networkConnectionLost)
      #expect(try await manager.send(Get()) == Item(id: 1))
    }
  }
#endif
