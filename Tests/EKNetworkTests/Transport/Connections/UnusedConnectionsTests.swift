#if os(Linux)
  import LoopbackServer
  import Testing

  @testable import EKNetwork

  @Suite(.timeLimit(.minutes(10))) struct UnusedConnectionsTests {
    /// A pool is kept while anything uses it, and its lifetime begins again with each use.
    @Test func poolInUseIsKept() {
      var pools = ConnectionPools(lifetime: 100)
      let identity = SessionSettings(.ephemeral).connection(to: nil, hasLeftOrigin: false)
      let pool = pools.acquire(identity)
      pools.release(pool, now: 0)
      #expect(pools.cleanup == 100)
      let same = [pools.acquire(identity), pools.acquire(identity)]
      #expect(same.allSatisfy { $0 === pool })
      pools.cleanUp(now: 1_000)
      #expect(pools.count == 1 && pools.cleanup == .max)
      pools.release(pool, now: 1_000)
      #expect(pools.cleanup == .max)
      pools.release(pool, now: 2_000)
      #expect(pools.cleanup == 2_100)
      pools.cleanUp(now: 2_099)
      #expect(pools.count == 1)
      pools.cleanUp(now: 2_100)
      #expect(pools.count == 0)
    }

    /// A loop with a short pool lifetime. Like every loop it lives as long as the process.
    private static let impatient = EventLoops(count: 1, poolLifetime: .milliseconds(50))

    @Test func unusedPoolsAndConnectionsAreFreed() async throws {
      let server = try LoopbackServer()
      defer { server.stop() }
      let gate = Gate()
      server.route("/ok") { _ in .text("ok") }
      server.route("/held") { _ in .streaming(contentLength: 2, [.sendString("o"), .wait(gate), .sendString("k")]) }
      let loops = Self.impatient
      let request = TransportRequest(URLRequest(url: server.url("/ok"), timeoutInterval: 600))
      let held = TransportRequest(URLRequest(url: server.url("/held"), timeoutInterval: 600))
      func transport(_ key: String) throws -> HTTPTransport {
        let tls = TLSOptions(pinnedPublicKeys: [key])
        return try #require(HTTPTransport(configuration: .ephemeral, options: .init(tls: tls), eventLoops: loops))
      }
      let feed = try await transport("feed").start(held)
      #expect(try await feed.body.next() == Data("o".utf8))
      for number in 0..<20 { #expect(try await transport("\(number)").fetch(request).data.count == 2) }
      // The pool in use stays.
      #expect(await server.waitForOpenConnections(1))
      #expect(loops.poolCount == 1)
      gate.open()
      #expect(try await feed.body.next() == Data("k".utf8))
      #expect(try await feed.body.next() == nil)
      #expect(await server.waitForOpenConnections(0))
      #expect(loops.watchedCount == 0)
      // Freed pools are created again.
      for number in 0..<20 { #expect(try await transport("\(number)").fetch(request).data.count == 2) }
      #expect(await server.waitForOpenConnections(0))
    }

    private func transportOfItsOwn(_ key: String) throws -> HTTPTransport {
      try #require(HTTPTransport(configuration: .ephemeral, options: .init(tls: TLSOptions(pinnedPublicKeys: [key]))))
    }

    /// A request that is sent while the server closes would be lost.
    @Test func idleConnectionIsClosedBeforeItsServerClosesIt() async throws {
      let server = try LoopbackServer()
      defer { server.stop() }
      let response = "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nKeep-Alive: timeout=1\r\nContent-Length: 2\r\n\r\nok"
      server.route("/") { _ in .raw([.sendString(response)]).then(.keepAlive) }
      let request = TransportRequest(URLRequest(url: server.url("/"), timeoutInterval: 600))
      let transport = try transportOfItsOwn("hint")
      #expect(try await transport.fetch(request).data == Data("ok".utf8))
      // Its time does not begin again if it is found to be open.
      _ = try await transport.preconnect(request)
      // On a busy machine its time may have been over before.
      guard server.acceptedConnections == 1 else { return }
      #expect(await server.waitForOpenConnections(0, timeout: .seconds(60)))
    }

    @Test(arguments: [
      ("Connection: keep-alive\r\nKeep-Alive: timeout=0", 3),
      ("Connection: keep-alive\r\nKeep-Alive: timeout=600, max=100", 1),
      // What the option does not name is not meant for this connection, and nonsense says nothing.
      ("Keep-Alive: timeout=0", 1), ("Connection: keep-alive\r\nKeep-Alive: timeout=-1", 1),
    ])
    func idleConnectionIsKeptAsLongAsItsServerKeepsIt(_ fields: String, _ connections: Int) async throws {
      let server = try LoopbackServer()
      defer { server.stop() }
      let response = "HTTP/1.1 200 OK\r\n\(fields)\r\nContent-Length: 2\r\n\r\nok"
      server.route("/") { _ in .raw([.sendString(response)]).then(.keepAlive) }
      let transport = try transportOfItsOwn("hints")
      for _ in 0..<3 {
        let request = TransportRequest(URLRequest(url: server.url("/"), timeoutInterval: 600))
        #expect(try await transport.fetch(request).data == Data("ok".utf8))
      }
      #expect(server.acceptedConnections == connections)
    }

    @Test func idleConnectionIsReused() async throws {
      let server = try LoopbackServer()
      defer { server.stop() }
      server.route("/ok") { _ in .text("ok") }
      let transport = try transportOfItsOwn("reuse")
      for _ in 0..<10 {
        _ = try await transport.fetch(TransportRequest(URLRequest(url: server.url("/ok"), timeoutInterval: 600)))
      }
      #expect(server.acceptedConnections == 1)
    }
  }
#endif
