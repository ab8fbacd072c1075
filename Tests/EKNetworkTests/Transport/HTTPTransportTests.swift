#if os(Linux)
  import LoopbackServer
  import Testing

  @testable import EKNetwork

  struct HTTPTransportTests {
    private func transport(
      tls: TLSOptions? = nil, _ change: (URLSessionConfiguration) -> Void = { _ in }
    ) throws -> HTTPTransport {
      let configuration = URLSessionConfiguration.ephemeral
      change(configuration)
      return try #require(HTTPTransport(configuration: configuration, options: .init(tls: tls)))
    }

    private func request(_ url: URL, timeout: TimeInterval = 600) -> TransportRequest {
      TransportRequest(URLRequest(url: url, timeoutInterval: timeout))
    }

    @Test func headArrivesBeforeTheBody() async throws {
      let server = try LoopbackServer()
      defer { server.stop() }
      let gate = Gate()
      server.route("/") { _ in .streaming(contentLength: 6, [.sendString("abc"), .wait(gate), .sendString("def")]) }
      let response = try await transport().start(request(server.url("/")))
      #expect(response.head.statusCode == 200)
      #expect(try await response.body.next() == Data("abc".utf8))
      gate.open()
      #expect(try await response.body.next() == Data("def".utf8))
      #expect(try await response.body.next() == nil)
    }

    /// While a body arrives quickly, more of it is gathered: but not if no more follows.
    @Test(.timeLimit(.minutes(2))) func everythingThatHasArrivedIsPassedOn() async throws {
      let server = try LoopbackServer()
      defer { server.stop() }
      let (size, gates) = (40_000, (0..<50).map { _ in Gate() })
      server.route("/") { _ in
        .streaming(contentLength: size * gates.count, gates.flatMap { [.send(Data.noise(size)), .wait($0)] })
      }
      let response = try await transport().start(request(server.url("/")))
      var received = 0
      for (index, gate) in gates.enumerated() {
        while received < size * (index + 1) { received += try await response.body.next()?.count ?? .max / 2 }
        gate.open()
      }
      #expect(received == size * gates.count)
      #expect(try await response.body.next() == nil)
    }

    @Test func unreadBodyStopsTheServer() async throws {
      let server = try LoopbackServer()
      defer { server.stop() }
      let counter = ByteCounter()
      let total = 64 * 1024 * 1024
      server.route("/") { _ in .streaming(contentLength: total, [.flood(bytes: total, of: 7, counter: counter)]) }
      let response = try await transport().start(request(server.url("/")))
      await counter.waitUntilBlocked()
      // The queue's high-water mark, one block, one receive buffer, and what the kernel holds on both sides.
      #expect(counter.count < 32 * 1024 * 1024)
      var received = 0
      while let chunk = try await response.body.next() {
        received += chunk.count
        #expect(chunk.count <= BlockPool.capacity)
      }
      #expect(received == total)
    }

    @Test func droppingAnUnreadResponseClosesTheConnection() async throws {
      let server = try LoopbackServer()
      defer { server.stop() }
      server.route("/") { _ in .streaming(contentLength: 1 << 30, [.flood(bytes: 1 << 30, of: 7)]) }
      do { _ = try await transport().start(request(server.url("/"))) }
      #expect(await server.waitForOpenConnections(0))
    }

    @Test func cancellationEndsAWaitAtOnce() async throws {
      let server = try LoopbackServer()
      defer { server.stop() }
      server.route("/head") { _ in .raw([.stall]) }
      server.route("/body") { _ in .streaming(contentLength: 10, [.sendString("abc"), .stall]) }
      let transport = try transport()
      for path in ["/head", "/body"] {
        for round in 1...5 {
          let task = Task { try await transport.fetch(request(server.url(path))) }
          await server.expectRequests(round, path: path)
          task.cancel()
          await #expect(throws: CancellationError.self) { try await task.value }
        }
      }
      #expect(await server.waitForOpenConnections(0))
    }

    @Test func cancellationEndsConnectingAtOnce() async throws {
      let unresponsive = try LoopbackServer.UnresponsivePort()
      let transport = try transport()
      let url = try #require(URL(string: "http://127.0.0.1:\(unresponsive.port)/"))
      // The fastest of several rounds counts: load may delay any of them.
      var fastest = Duration.seconds(600)
      for round in 1...20 where round <= 5 || fastest >= .milliseconds(500) {
        let task = Task { try await transport.fetch(request(url)) }
        let cancelled = Locked(ContinuousClock.now)
        // A separate thread: on a busy machine this task may not run again before the system gives up the connection.
        Thread.detachNewThread {
          let patience = ContinuousClock.now + .seconds(300)
          while connectingSockets(to: unresponsive.port) == 0, .now < patience { sched_yield() }
          cancelled.withLock { $0 = .now }
          task.cancel()
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        fastest = min(fastest, cancelled.withLock { ContinuousClock.now - $0 })
      }
      #expect(fastest < .milliseconds(500))
      let error = await #expect(throws: URLError.self) { try await transport.fetch(request(url, timeout: 0.2)) }
      #expect(error?.code == .timedOut)
    }

    @Test func cancelledTaskSendsNothing() async throws {
      let server = try LoopbackServer()
      defer { server.stop() }
      let transport = try transport()
      let task = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        return try await transport.fetch(request(server.url("/")))
      }
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(server.acceptedConnections == 0)
    }

    @Test(arguments: ["/head", "/body", "/upload"])
    func stalledTransferTimesOut(_ path: String) async throws {
      let server = try LoopbackServer()
      defer { server.stop() }
      server.route("/head") { _ in .raw([.stall]) }
      server.route("/body") { _ in .streaming(contentLength: 10, [.sendString("abc"), .stall]) }
      server.route("POST", "/upload", onHead: { _ in .steps([.stall]) }) { _ in .text("") }
      var request = request(server.url(path), timeout: 0.2)
      let transport = try transport { $0.timeoutIntervalForRequest = 86_400 }
      if path == "/upload" {
        request.change { $0.httpMethod = "POST" }
        request.change { $0.httpBody = Data(count: 64 * 1024 * 1024) }
      }
      // The fastest of several rounds counts: load may delay any of them, and a whole second makes none of them fast.
      var fastest = Duration.seconds(600)
      for _ in 1...20 where fastest >= .seconds(1) {
        let start = ContinuousClock.now
        let error = await #expect(throws: URLError.self) { try await transport.fetch(request) }
        #expect(error?.code == .timedOut)
        fastest = min(fastest, ContinuousClock.now - start)
      }
      #expect(fastest >= .milliseconds(200))
      #expect(fastest < .seconds(1))
    }

    @Test func trickledBodyTimesOutAtTheDeadline() async throws {
      let server = try LoopbackServer()
      defer { server.stop() }
      let forever = Data(repeating: 7, count: 1_000_000)
      server.route("/") { _ in
        .streaming(contentLength: 1_000_000, [.trickle(forever, chunk: 1, every: .milliseconds(20))])
      }
      var request = request(server.url("/"), timeout: 0.5)
      let transport = try transport()
      // Load may keep the server from sending for longer than the other timeout.
      var longest = Duration.zero
      for _ in 1...10 where longest < .seconds(1) {
        let start = ContinuousClock.now
        request.deadline = .now + .seconds(1)
        let limited = request
        let error = await #expect(throws: URLError.self) { try await transport.fetch(limited) }
        #expect(error?.code == .timedOut)
        longest = max(longest, ContinuousClock.now - start)
      }
      #expect(longest >= .seconds(1))
    }

    @Test func streamIsSentChunked() async throws {
      let server = try LoopbackServer()
      defer { server.stop() }
      server.route("POST", "/") { .text("\($0.body.count)") }
      let body = Data.noise(3_000_000)
      var request = request(server.url("/"))
      request.change { $0.httpMethod = "POST" }
      request.change { $0.httpBodyStream = InputStream(data: body) }
      let response = try await transport().fetch(request)
      #expect(String(decoding: response.data, as: UTF8.self) == "3000000")
      let sent = try #require(server.requests.first)
      #expect(sent.body == body)
      #expect(sent.headers["Transfer-Encoding"] == "chunked")
      #expect(sent.headers["Content-Length"] == nil)
      #expect(sent.headers["Expect"] == nil)
      #expect(sent.headers["Content-Type"] == nil)
    }

    @Test func staleConnectionLosesNoRequest() async throws {
      let server = try LoopbackServer()
      defer { server.stop() }
      server.route("/stale") { _ in .text("one").then(.closeOnNextRequest) }
      server.route("/next") { .text("\($0.body.count)") }
      let transport = try transport()
      for (method, size) in [("GET", nil), ("PUT", 5), ("PUT", 300_000), ("DELETE", nil)] {
        _ = try await transport.fetch(request(server.url("/stale")))
        var next = request(server.url("/next"))
        next.change { $0.httpMethod = method }
        next.change { $0.httpBody = size.map { Data(repeating: 1, count: $0) } }
        let response = try await transport.fetch(next)
        #expect(String(decoding: response.data, as: UTF8.self) == "\(size ?? 0)")
      }
    }

    @Test func streamIsNeverSentPartially() async throws {
      let server = try LoopbackServer()
      defer { server.stop() }
      server.route("/stale") { _ in .text("one").then(.closeOnNextRequest) }
      server.route("/next") { .text("\($0.body.count)") }
      let transport = try transport()
      _ = try await transport.fetch(request(server.url("/stale")))
      var next = request(server.url("/next"))
      next.change { $0.httpMethod = "PUT" }
      next.change { $0.httpBodyStream = InputStream(data: Data(repeating: 1, count: 300_000)) }
      do {
        let response = try await transport.fetch(next)
        #expect(String(decoding: response.data, as: UTF8.self) == "300000")
      } catch let error as URLError {
        #expect(error.code == .networkConnectionLost)
      }
      let complete = server.requests(path: "/next").filter(\.isComplete)
      #expect(complete.allSatisfy { $0.body.count == 300_000 })
    }

    @Test func eachRequestGoesToTheHostOfItsOwnURL() async throws {
      let servers = try (0..<2).map { _ in try LoopbackServer() }
      defer { for server in servers { server.stop() } }
      for server in servers { server.route("/") { .text($0.headers["Host"] ?? "") } }
      let transport = try transport()
      let ports = servers.map { $0.baseURL.port ?? 0 }
      // One after the other differs in a part of the authority, or begins with the whole one before it.
      for (authority, host) in [
        ("127.0.0.1:\(ports[0])", nil), ("127.0.0.1:\(ports[0])", nil), ("127.0.0.1:\(ports[1])", nil),
        ("localhost:\(ports[1])", nil), ("LOCALHOST:\(ports[0])", "localhost:\(ports[0])"),
        ("u:p@localhost:\(ports[0])", "localhost:\(ports[0])"), ("localhost:\(ports[0])", nil),
      ] {
        for suffix in ["/", "/?a=1", "/#b"] {
          let url = try #require(URL(string: "http://\(authority)\(suffix)"))
          let response = try await transport.fetch(request(url))
          #expect(String(decoding: response.data, as: UTF8.self) == host ?? authority)
          #expect(response.head.url == url)
        }
      }
      for refused in ["http://127.0.0.1%2F:\(ports[0])/", "ftp://127.0.0.1:\(ports[0])/", "http:/\(ports[0])"] {
        let url = try #require(URL(string: refused))
        await #expect(throws: URLError.self) { try await transport.fetch(request(url)) }
      }
    }

    @Test func connectionsPerHostAreLimited() async throws {
      let server = try LoopbackServer()
      defer { server.stop() }
      let gate = Gate()
      server.route("/") { _ in .streaming(contentLength: 2, [.wait(gate), .sendString("ok")]) }
      let transport = try transport { $0.httpMaximumConnectionsPerHost = 3 }
      try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<20 { group.addTask { try await transport.fetch(request(server.url("/"))).data.count } }
        await server.expectRequests(3, path: "/")
        gate.open()
        for try await count in group { #expect(count == 2) }
      }
      #expect(server.peakConnections == 3)
    }

    /// With more than 1,024 descriptors, as the two sides of each connection have one.
    @Test func requestsCompleteBesideSevenHundredWaiting() async throws {
      LoopbackServer.raiseDescriptorLimit(to: 10_000)
      let server = try LoopbackServer { $0.backlog = 4_096 }
      defer { server.stop() }
      server.route("/wait") { _ in .raw([.stall]) }
      server.route("/go") { _ in .text("ok") }
      let transport = try transport { $0.httpMaximumConnectionsPerHost = 4_000 }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<700 { group.addTask { _ = try? await transport.fetch(request(server.url("/wait"))) } }
        await server.expectRequests(700, path: "/wait")
        for _ in 0..<100 { #expect(try await transport.fetch(request(server.url("/go"))).data.count == 2) }
        group.cancelAll()
        try await group.waitForAll()
      }
    }

    /// If no request is active, a request is sent from the calling thread.
    @Test func sequentialRequestsWithCancellations() async throws {
      let server = try LoopbackServer()
      defer { server.stop() }
      server.route("/") { request in .text(request.body.isEmpty ? "ok" : request.text) }
      // Its own options: connections of other tests do not evict this one while it is idle.
      let transport = try transport(tls: TLSOptions(pinnedPublicKeys: ["one after the other"]))
      for round in 0..<300 {
        var urlRequest = URLRequest(url: server.url("/"))
        if round % 2 == 0 {
          urlRequest.httpMethod = "POST"
          urlRequest.httpBody = Data("round \(round)".utf8)
        }
        let request = TransportRequest(urlRequest)
        let task = Task { try await transport.fetch(request) }
        if round % 5 == 0 {
          for _ in 0..<Int.random(in: 0..<20) { await Task.yield() }
          task.cancel()
        }
        do {
          let text = String(decoding: try await task.value.data, as: UTF8.self)
          #expect(text == (round % 2 == 0 ? "round \(round)" : "ok"))
        } catch is CancellationError {
          #expect(round % 5 == 0)
        }
      }
      // Without the cancelled requests one connection would suffice.
      #expect(server.acceptedConnections <= 70)
    }

    @Test func transportSurvivesRandomCancellations() async throws {
      let server = try LoopbackServer()
      defer { server.stop() }
      server.route("/") { _ in .text("ok") }
      server.route("/big") { _ in .data(Data(count: 300_000), contentType: "application/octet-stream") }
      let transport = try transport { $0.httpMaximumConnectionsPerHost = 32 }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for worker in 0..<32 {
          group.addTask {
            for round in 0..<60 {
              let task = Task { try await transport.fetch(request(server.url(round % 3 == 0 ? "/big" : "/"))) }
              if (worker + round) % 4 != 0 {
                for _ in 0..<Int.random(in: 0..<20) { await Task.yield() }
                task.cancel()
              }
              do {
                let response = try await task.value
                #expect(response.data.count == (round % 3 == 0 ? 300_000 : 2))
              } catch is CancellationError {}
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(try await transport.fetch(request(server.url("/"))).data.count == 2)
    }

    @Test func errorCodesMatchApplePlatforms() async throws {
      let transport = try transport()
      let refused = "http://127.0.0.1:\(try LoopbackServer.refusedPort())/"
      let cases: [(String, URLError.Code)] = [
        (refused, .cannotConnectToHost), ("http://nonexistent.invalid/", .cannotFindHost),
        ("ftp://127.0.0.1/", .unsupportedURL), ("file:///etc/passwd", .unsupportedURL), ("http:///x", .badURL),
      ]
      for (url, code) in cases {
        let url = try #require(URL(string: url))
        let error = await #expect(throws: URLError.self, "\(url)") { try await transport.fetch(request(url)) }
        #expect(error?.code == code, "\(url)")
        #expect(error?.localizedDescription.isEmpty == false)
      }
    }
  }
#endif
