#if os(Linux)
  import Foundation
  import FoundationNetworking
  import Testing

  @testable import EKNetwork

  /// HTTP/2 with a server (Python's `h2`) that violates the protocol, or uses its rare features.
  @Suite(
    "HTTP/2 faults", .serialized, .timeLimit(.minutes(10)), .enabled(if: PeerProcess.python != nil),
    .enabled(if: TransportDescription.current.capabilities.contains("http2")))
  struct HTTP2FaultPeerTests {
    private struct Counts: Decodable, Equatable {
      var requests: Int
      var complete: Int
    }

    struct Size: Decodable { var size: Int }

    private struct Received: Decodable { var received: Int }

    /// The number of bytes before the error, and the error.
    private struct Outcome {
      var count = 0
      var error: (any Error)?
      var code: URLError.Code? { (error as? URLError)?.code }
    }

    let peer: PeerProcess
    private let manager: NetworkManager

    init() throws {
      peer = try PeerProcess.shared("http2_faults.py")
      manager = try Self.makeManager(peer)
    }

    /// A manager with connections of its own.
    static func makeManager(
      _ peer: PeerProcess, port: String = "faulty", connections: Int = 6,
      version: ConnectionOptions.HTTPVersion = .automatic
    ) throws -> NetworkManager {
      let configuration = URLSessionConfiguration.ephemeral
      configuration.httpMaximumConnectionsPerHost = connections
      configuration.timeoutIntervalForRequest = 60
      configuration.httpAdditionalHeaders = ["X-Test": peer.test]
      // Sessions that trust the same file share connections.
      let authority = peer.file("\(UUID().uuidString).pem")
      try FileManager.default.copyItem(at: peer.file("ca.pem"), to: authority)
      return NetworkManager(
        baseURL: try peer.url(port, path: ""), session: URLSession(configuration: configuration),
        transport: .connecting(
          with: ConnectionOptions(tls: TLSOptions(certificateAuthorityFile: authority), httpVersion: version)))
    }

    private func sent(_ probe: Probe<StatusCodeResponse>) async -> Outcome {
      do {
        _ = try await manager.send(probe)
        return Outcome()
      } catch {
        return Outcome(error: error)
      }
    }

    private func streamed(_ probe: Probe<StatusCodeResponse>) async -> Outcome {
      var outcome = Outcome()
      do {
        for try await chunk in try await manager.stream(probe).chunks {
          outcome.count += chunk.count
          if probe.path.hasSuffix("/held") { _ = try await manager.send(Probe<StatusCodeResponse>(path: "/release")) }
        }
      } catch {
        outcome.error = error
      }
      return outcome
    }

    /// The next stream is served, whatever happened to the one before.
    private func isWell() async throws { #expect(try await manager.send(Probe<Size>(path: "/ok")).size == 0) }

    @Test("Interim responses are reported in order")
    func interimResponses() async throws {
      let (responses, input) = AsyncStream<InterimResponse>.makeStream()
      var probe = Probe<StatusCodeResponse>(path: "/interim")
      probe.onInterimResponse = { input.yield($0) }
      #expect(try await manager.send(probe).statusCode == 200)
      var links: [[String]] = []
      for await response in responses.prefix(100) {
        #expect(response.statusCode == 103)
        links.append(response.values(for: "Link"))
      }
      #expect(links == (0..<100).map { ["</\($0)>"] })
    }

    @Test(
      "A truncated body is an error after the data that arrived",
      arguments: ["reset-mid", "cancel-mid", "reset-mid-length", "short", "cut", "abort", "goaway-cut"])
    func truncated(kind: String) async throws {
      let code = await sent(Probe(path: "/\(kind)")).code
      #expect(code == .networkConnectionLost || code == .badServerResponse, "\(kind): \(String(describing: code))")
      let stream = await streamed(Probe(path: "/\(kind)/held"))
      #expect(stream.count == 1_000)
      #expect(stream.code == .networkConnectionLost || stream.code == .badServerResponse)
      try await isWell()
    }

    @Test(
      "A malformed response is the server's fault, and the request is not sent again (RFC 9113 §8.1.1)",
      arguments: [
        "no-status", "bad-status", "status-last", "two-status", "pseudo", "upper-case", "connection", "line-feed",
        "length", "bad-length",
      ])
    func malformed(kind: String) async throws {
      let path = "/malformed/\(kind)"
      let outcome = await sent(Probe(path: path))
      #expect(outcome.code == .badServerResponse, "\(outcome)")
      #expect(await streamed(Probe(path: path)).code == .badServerResponse)
      #expect(try await manager.send(Probe<Counts>(path: "/counts\(path)")).requests == 2)
    }

    private struct Numbered: Decodable {
      var size: Int
      var requests: Int
    }

    /// A reset or a GOAWAY with HTTP_1_1_REQUIRED (RFC 9113 §7) says that the request was not processed; 421 is a response.
    @Test(
      "A server that does not want a request over HTTP/2 gets it, and all that follow, over HTTP/1.1",
      arguments: ["reset", "misdirected", "goaway"],
      [HTTPMethod.get, .post])
    func onlyHTTP1(kind: String, method: HTTPMethod) async throws {
      var probe = Probe<Numbered>(path: "/only-1.1/\(kind)/\(method)", method: method)
      if method == .post { probe.body = RequestBody(data: Data(count: 1_000), contentType: "a/b") }
      if kind == "misdirected" { await #expect(throws: HTTPError.self) { try await manager.send(probe) } }
      for number in 2...4 {
        let response = try await manager.send(probe)
        #expect(response.size == (method == .post ? 1_000 : 0))
        #expect(response.requests == number)
      }
    }

    @Test("HTTP/1.1 is not used if HTTP/2 is required", arguments: ["reset", "misdirected", "goaway"])
    func onlyHTTP2(kind: String) async throws {
      let manager = try Self.makeManager(peer, version: .http2)
      let probe = Probe<Numbered>(path: "/only-1.1/\(kind)/never")
      for _ in 0..<2 { await #expect(throws: (any Error).self) { try await manager.send(probe) } }
      #expect(try await manager.send(Probe<Size>(path: "/ok")).size == 0)
    }

    @Test("A missing or invalid head is an error", arguments: ["reset-head", "pushes"])
    func noHead(kind: String) async throws {
      let probe = Probe<StatusCodeResponse>(path: "/\(kind)", timeout: .seconds(kind == "pushes" ? 0.5 : 60))
      for outcome in [await sent(probe), await streamed(probe)] {
        #expect(outcome.count == 0)
        let codes: Set<URLError.Code?> = [
          .networkConnectionLost, .badServerResponse, kind == "pushes" ? .timedOut : nil,
        ]
        #expect(codes.subtracting([nil]).contains(outcome.code), "\(outcome)")
      }
      try await isWell()
    }

    private static let refusals = ["refuse-once", "goaway-refuse"].flatMap { kind in
      [("GET", true), ("GET", false), ("POST", true), ("POST", false)].map { (kind, $0.0, $0.1) }
    }

    /// Over a fresh connection, and over one that was used before.
    @Test(
      "A refused stream was not processed and is retried, whatever its method (RFC 9113 §8.7)",
      arguments: refusals)
    func refused(_ kind: String, _ method: String, isFresh: Bool) async throws {
      if !isFresh { _ = try await manager.send(Probe<Size>(path: "/ok")) }
      let isPost = method == "POST"
      let size = 100_000
      let path = "/\(kind)/\(method)/\(isFresh)"
      var probe = Probe<Size>(path: path, method: isPost ? .post : .get, timeout: .seconds(10))
      if isPost { probe.body = RequestBody(data: Data(count: size), contentType: "a/b") }
      let sent = try await manager.send(probe).size
      #expect(sent == (isPost ? size : 0))
      let counts = try await manager.send(Probe<Counts>(path: "/counts\(path)"))
      #expect(counts == Counts(requests: 2, complete: 1))
    }

    @Test(
      "A body that can be read once is sent whole, or the request fails",
      arguments: ["refuse-once", "goaway-refuse"])
    func refusedSequence(_ kind: String) async throws {
      for isFresh in [true, false] {
        if !isFresh { _ = try await manager.send(Probe<Size>(path: "/ok")) }
        var probe = Probe<Size>(path: "/\(kind)/sequence/\(isFresh)", method: .post, timeout: .seconds(10))
        let pieces = Locked(0)
        let sequence = AsyncStream<Data>(unfolding: {
          let piece = pieces.withLock { pieces in
            pieces += 1
            return pieces
          }
          return piece <= 20 ? Data(count: 10_000) : nil
        })
        probe.body = RequestBody(sequence: sequence, contentType: "a/b")
        do {
          #expect(try await manager.send(probe).size == 200_000)
        } catch let error as URLError {
          #expect(error.code == .networkConnectionLost)
        }
      }
    }

    /// libcurl has read all of the body, and the kernel takes longer to send it than a server may be silent.
    @Test(
      "A slow upload that makes progress does not time out on a shared connection")
    func slowUpload() async throws {
      let manager = try Self.makeManager(peer, port: "slow")
      let feed = try await manager.stream(Probe<StatusCodeResponse>(path: "/feed"))
      let sizes = try await withThrowingTaskGroup(of: Int.self) { group in
        for number in 0..<2 {
          var probe = Probe<Size>(path: "/ok/\(number)", method: .post, timeout: .seconds(2))
          probe.body = RequestBody(data: Data(count: 3_000_000), contentType: "a/b")
          group.addTask { [probe] in try await manager.send(probe).size }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(sizes == [3_000_000, 3_000_000])
      withExtendedLifetime(feed) {}
    }

    /// The end of a response arrives in the same read as data of another stream.
    @Test("Data read together with the end of another response is delivered")
    func dataBehindAnEnd() async throws {
      var count = 0
      let feed = try await manager.stream(Probe<StatusCodeResponse>(path: "/feed", timeout: .seconds(20)))
      for try await chunk in feed.body {
        count += chunk.count
        guard count % 1_000 == 0 else { continue }
        if count == 50_000 { break }
        _ = try await manager.send(Probe<StatusCodeResponse>(path: "/next"))
      }
      #expect(count == 50_000)
    }

    @Test("A server that refuses every stream is retried a limited number of times")
    func alwaysRefused() async throws {
      for method in [HTTPMethod.get, .post] {
        let outcome = await sent(Probe(path: "/refuse/\(method)", method: method))
        #expect(outcome.code == .networkConnectionLost, "\(outcome)")
        #expect(try await manager.send(Probe<Counts>(path: "/counts/refuse/\(method)")).requests <= 10)
      }
    }

    @Test("A connection lost during a stream is retried for idempotent methods only")
    func stale() async throws {
      for (index, method) in [HTTPMethod.get, .put, .post].enumerated() {
        #expect(await sent(Probe(path: "/stale")).error == nil)
        let outcome = await sent(Probe(path: "/ok/\(index)", method: method))
        if method.isIdempotent {
          #expect(outcome.error == nil, "\(method): \(outcome)")
        } else {
          #expect(outcome.code == .networkConnectionLost, "\(method): \(outcome)")
          #expect(try await manager.send(Probe<Counts>(path: "/counts/ok/\(index)")).requests <= 1)
        }
      }
    }

    @Test("Trailers are not part of the head, and the body arrives whole")
    func trailers() async throws {
      let response = try await manager.send(Probe<StatusCodeResponse>(path: "/trailers"))
      #expect(response.headers.keys.allSatisfy { !$0.lowercased().hasPrefix("x-") })
      #expect(await streamed(Probe(path: "/trailers")).count == 1_000)
      let whole = try await manager.response(to: Probe<EmptyResponse>(path: "/trailers"))
      #expect(whole.trailers == HeaderFieldList([("x-trailer", "1"), ("x-sum", "2")]))
      #expect(whole.protocolVersion == "HTTP/2" && whole.reasonPhrase.isEmpty)
    }

    @Test("A stream in progress completes after a GOAWAY")
    func goAway() async throws {
      let outcome = await streamed(Probe(path: "/goaway-mid"))
      #expect(outcome.count == 2_000 && outcome.error == nil)
      try await isWell()
    }

    @Test("A feed on a connection after a GOAWAY does not block other requests", arguments: [1, 2])
    func goAwayBesideAFeed(connections: Int) async throws {
      let manager = try Self.makeManager(peer, connections: connections)
      let path = "/goaway-feed/\(connections)"
      var feed = try await manager.stream(Probe<StatusCodeResponse>(path: path)).body.makeAsyncIterator()
      #expect(try await feed.next()?.count == 1_000)
      for _ in 0..<3 { #expect(try await manager.send(Probe<Size>(path: "/ok")).size == 0) }
      _ = try await manager.send(Probe<StatusCodeResponse>(path: "/release"))
      var rest = 0
      while let chunk = try await feed.next() { rest += chunk.count }
      #expect(rest == 1_000)
    }

    // MARK: - Floods and silence

    @Test(
      "A server that floods a connection with frames that bring nothing is ended",
      arguments: ["settings", "ping", "priority", "data", "window", "unknown", "continuation"])
    func flood(kind: String) async throws {
      let probe = Probe<StatusCodeResponse>(path: "/flood/\(kind)")
      #expect(await sent(probe).code == .badServerResponse)
      #expect(await streamed(probe).code == .badServerResponse)
      try await isWell()
    }

    /// RFC 9113 §5.2.
    @Test(
      "A server can send little of what nobody reads",
      arguments: [1, 90])
    func unread(streams count: Int) async throws {
      let path = "/endless/\(count)"
      let other = try Self.makeManager(peer)
      var streams: [StreamingResponse] = []
      for _ in 0..<count { streams.append(try await manager.stream(Probe<StatusCodeResponse>(path: path))) }
      func pumped() async throws -> Int { try await other.send(Probe<Size>(path: "/pumped\(path)")).size }
      // What the server may send grows when the client says so, which it does at once, or when something was read.
      let least = min(count * ReceiveWindow.initial, ReceiveWindow.connection) / 2
      var (last, size) = (0, 0)
      repeat { (last, size) = (size, try await pumped()) } while size < least || size > last
      #expect(size <= min(count * 256 * 1024, ReceiveWindow.connection))
      withExtendedLifetime(streams) {}
    }

    @Test("A connection on which nobody answers is not used again")
    func silence() async throws {
      try await isWell()
      let probe = Probe<StatusCodeResponse>(path: "/freeze", timeout: .milliseconds(1_100))
      #expect(await sent(probe).code == .timedOut)
      // They wait for the answer to a PING, and are then sent over another one.
      let clock = ContinuousClock()
      let start = clock.now
      try await withThrowingTaskGroup(of: Int.self) { group in
        for method in [HTTPMethod.get, .post, .post] {
          group.addTask { [self] in try await manager.send(Probe<Size>(path: "/ok", method: method)).size }
        }
        // Its body is only known to be empty once it was read.
        group.addTask { [self] in
          var probe = Probe<Size>(path: "/ok", method: .post)
          probe.body = RequestBody(sequence: AsyncStream<Data> { $0.finish() }, contentType: "a/b", length: 0)
          return try await manager.send(probe).size
        }
        for try await size in group { #expect(size == 0) }
      }
      #expect(clock.now - start < .seconds(30))
    }

    @Test("A request that must not be repeated waits for a PING on a connection that was quiet")
    func quiet() async throws {
      let transport = try #require(
        HTTPTransport(
          configuration: .ephemeral, options: .init(tls: TLSOptions(certificateAuthorityFile: peer.authority)),
          eventLoops: EventLoops(count: 1, trustedQuiet: 1)))
      func sent(_ method: String, _ path: String) async throws -> String {
        var request = URLRequest(url: try peer.url("faulty", path: path))
        request.httpMethod = method
        request.setValue(peer.test, forHTTPHeaderField: "X-Test")
        return String(decoding: try await transport.fetch(TransportRequest(request)).data, as: UTF8.self)
      }
      // The first was sent before anything else, and is not counted.
      #expect(try await sent("GET", "/pings") == #"{"size": 0}"#)
      #expect(try await sent("GET", "/pings") == #"{"size": 0}"#)
      #expect(try await sent("POST", "/pings") == #"{"size": 1}"#)
      #expect(try await sent("POST", "/pings") == #"{"size": 2}"#)
      #expect(try await sent("POST", "/last") == "ok")
      // Nobody answers there any more: it goes over another connection, once.
      #expect(try await sent("POST", "/ok") == #"{"size": 0}"#)
      #expect(try await sent("GET", "/counts/ok").contains(#""requests": 1"#))
    }

    /// What is on its way is no flood, although nobody gets it.
    @Test("A large download that is left does not end the connection")
    func leftDownload() async throws {
      let feed = try await manager.stream(Probe<StatusCodeResponse>(path: "/feed", timeout: .seconds(60)))
      for _ in 0..<5 {
        var count = 0
        for try await chunk in try await manager.stream(Probe<StatusCodeResponse>(path: "/endless/left")).chunks {
          count += chunk.count
          if count > 16 << 20 { break }
        }
      }
      _ = try await manager.send(Probe<StatusCodeResponse>(path: "/next"))
      var count = 0
      for try await chunk in feed.chunks {
        count += chunk.count
        if count == 2_000 { break }
      }
      #expect(count == 2_000)
    }

    /// RFC 9110 §10.1.1. A server that says nothing gets the body after a second.
    @Test(
      "A body waits until the server expects it",
      arguments: ["continue", "refuse", "ignore"])
    func expectation(kind: String) async throws {
      let path = "/expects/\(kind)"
      var probe = Probe<Size>(path: path, method: .post)
      probe.body = RequestBody(data: Data(count: 100_000), contentType: "a/b")
      probe.expectsContinue = true
      let clock = ContinuousClock()
      let start = clock.now
      if kind == "refuse" {
        let error = await #expect(throws: HTTPError.self) { try await manager.send(probe) }
        #expect(error?.statusCode == 413)
        // Nothing of the body was sent.
        #expect(try await manager.send(Probe<Received>(path: "/counts\(path)")).received == 0)
      } else {
        #expect(try await manager.send(probe).size == 100_000)
        if kind == "ignore" { #expect(clock.now - start > .milliseconds(900)) }
      }
      try await isWell()
    }

    @Test("Interim responses are not taken for the final one, however many")
    func interim() async throws {
      let response = try await manager.send(Probe<StatusCodeResponse>(path: "/interim"))
      #expect(response.statusCode == 200 && response.headers["link"] == nil)
      #expect(await streamed(Probe(path: "/interim")).count == 2)
    }

    /// 95 fields of 3,000 bytes, and 110.
    @Test("A response head of up to 300 KB is accepted, and a longer one is an error of its request alone")
    func largeHead() async throws {
      var feed = try await manager.stream(Probe<StatusCodeResponse>(path: "/feed")).chunks.makeAsyncIterator()
      #expect(try await feed.next()?.count == 1_000)
      #expect(try await manager.send(Probe<StatusCodeResponse>(path: "/large-head/95")).headers.count >= 95)
      let tooLong = Probe<StatusCodeResponse>(path: "/large-head/110")
      for outcome in [await sent(tooLong), await streamed(tooLong)] {
        #expect(outcome.code == .dataLengthExceedsMaximum, "\(outcome)")
      }
      _ = try await manager.send(Probe<StatusCodeResponse>(path: "/next"))
      #expect(try await feed.next() != nil)
    }

    @Test("An upload without flow-control window times out")
    func stalledUpload() async throws {
      var probe = Probe<StatusCodeResponse>(path: "/stall", method: .post, timeout: .milliseconds(500))
      probe.body = RequestBody(data: Data(count: 10_000_000), contentType: "a/b")
      #expect(await sent(probe).code == .timedOut)
      #expect(await streamed(probe).code == .timedOut)
      try await isWell()
    }

    @Test("A body without an end is an error after the data that arrived", arguments: ["no-error-mid", "garbage"])
    func noEnd(kind: String) async throws {
      for path in ["/\(kind)", "/\(kind)/held"] {
        let outcome = await streamed(Probe(path: path))
        #expect(outcome.error != nil)
        if path.hasSuffix("/held") { #expect(outcome.count == 1_000) }
      }
      try await isWell()
    }
  }
#endif
