#if os(Linux)
  import LoopbackServer
  import Testing

  @testable import EKNetwork

  @Suite(.timeLimit(.minutes(10))) struct EventLoopsTests {
    /// Like every loop these live as long as the process.
    private static let (three, others) = (EventLoops(count: 3), EventLoops(count: 3))

    private func transport(
      _ loops: EventLoops = Self.three, _ change: (URLSessionConfiguration) -> Void = { _ in }
    ) throws -> HTTPTransport {
      let configuration = URLSessionConfiguration.ephemeral
      change(configuration)
      return try #require(HTTPTransport(configuration: configuration, eventLoops: loops))
    }

    private func request(_ url: URL) -> TransportRequest {
      TransportRequest(URLRequest(url: url, timeoutInterval: 600))
    }

    @Test func oneLoopPerCoreUpToEight() {
      let counts = [0, 1, 2, 3, 4, 8, 16, 32, 128].map { LoopCount.count(setting: nil, processors: $0) }
      #expect(counts == [1, 1, 2, 3, 4, 8, 8, 8, 8])
      #expect(["1", "3", "64"].map { LoopCount.count(setting: $0, processors: 2) } == [1, 3, 64])
      for nonsense in ["", "0", "-1", "65", "two", "1.5", "99999999999999999999"] {
        #expect(LoopCount.count(setting: nonsense, processors: 4) == 4)
      }
    }

    @Test func destinationKeepsTheLeastLoadedLoop() {
      var assignments = LoopAssignments<Int>(loops: 3)
      #expect((0..<6).map { assignments.index(of: $0) } == [0, 1, 2, 0, 1, 2])
      #expect((0..<6).map { assignments.index(of: $0) } == [0, 1, 2, 0, 1, 2])
      let many = (0..<5_000).map { assignments.index(of: $0) }
      #expect(many == (0..<5_000).map { assignments.index(of: $0) })
      for index in 0..<3 { #expect(many.count { $0 == index } > 1_000) }
      var none = LoopAssignments<Int>(loops: 0)
      #expect(none.index(of: 7) == 0)
    }

    @Test func thousandDestinationsAreRemembered() throws {
      func hashed(_ destination: Int) -> Int { Int(UInt(bitPattern: destination.hashValue) % 3) }
      // After 999 each loop has 333, so that the next destination gets the first one.
      var assignments = LoopAssignments<Int>(loops: 3)
      for destination in 0..<999 { _ = assignments.index(of: destination) }
      let last = (1_000...).first { hashed($0) != 0 }
      #expect(assignments.index(of: try #require(last)) == 0)
      // The second loop has the fewest then, but the hash decides.
      let another = try #require((1_000_000...).first { hashed($0) != 1 })
      #expect(assignments.index(of: another) == hashed(another))
    }

    @Test func loopStartsOnDemand() {
      let tries = Locked(0)
      let group = LoopGroup<Int>(count: 4) {
        tries.withLock { tries in
          tries += 1
          return tries == 1 ? nil : tries
        }
      }
      #expect(group.started.isEmpty)
      #expect(group[2] == nil)
      #expect(group[2] == 2)
      #expect(group[2] == 2)
      #expect(group.started == [2])
      #expect(LoopGroup<Int>(count: 0, make: { 1 }).count == 1)
    }

    /// Each origin has its limit, whichever loop it is assigned to, and every session reuses its connections.
    @Test func originsReuseConnectionsWithinTheirLimit() async throws {
      let servers = try (0..<5).map { _ in try LoopbackServer() }
      defer { for server in servers { server.stop() } }
      for (number, server) in servers.enumerated() { server.route("/number") { _ in .text("\(number)") } }
      // Their own loops: the idle connections of other tests would take the places of these.
      let transports = try (0..<2).map { _ in try transport(Self.others) { $0.httpMaximumConnectionsPerHost = 3 } }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for index in 0..<500 {
          let (server, number) = (servers[index % 5], index % 5)
          let transport = transports[index % 2]
          group.addTask {
            let response = try await transport.fetch(request(server.url("/number")))
            #expect(response.data == Data("\(number)".utf8))
          }
        }
        try await group.waitForAll()
      }
      for server in servers { #expect(server.acceptedConnections <= 6) }
      let before = servers.map(\.acceptedConnections)
      for server in servers {
        for transport in transports { _ = try await transport.fetch(request(server.url("/number"))) }
      }
      #expect(servers.map(\.acceptedConnections) == before)
    }

    /// Also with bodies larger than the unread buffer.
    @Test func busyOriginKeepsItsLimit() async throws {
      let server = try LoopbackServer()
      defer { server.stop() }
      server.route("/ok") { _ in .text("ok") }
      server.route("/large") { _ in .data(Data(count: 3_000_000)) }
      let gate = Gate()
      server.route("/held") { _ in .streaming(contentLength: 2, [.wait(gate), .sendString("ok")]) }
      let transport = try transport { $0.httpMaximumConnectionsPerHost = 99 }
      let held = (0..<99).map { _ in Task { try await transport.fetch(request(server.url("/held"))).data.count } }
      #expect(await server.waitForOpenConnections(99))
      let late = Task { try await transport.fetch(request(server.url("/ok"))).data.count }
      gate.open()
      for task in held { #expect(try await task.value == 2) }
      #expect(try await late.value == 2)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for index in 0..<600 {
          let path = index % 20 == 0 ? "/large" : "/ok"
          let task = Task { try await transport.fetch(request(server.url(path))).data.count }
          if index % 7 == 0 { task.cancel() }
          group.addTask {
            do {
              let count = try await task.value
              #expect(count == (path == "/ok" ? 2 : 3_000_000))
            } catch {
              #expect(error is CancellationError && index % 7 == 0)
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(server.peakConnections <= 99)
      // Every slot is free again.
      let last = Gate()
      server.route("/held") { _ in .streaming(contentLength: 2, [.wait(last), .sendString("ok")]) }
      let again = (0..<99).map { _ in Task { try await transport.fetch(request(server.url("/held"))).data.count } }
      await server.expectRequests(198, path: "/held")
      last.open()
      for task in again { #expect(try await task.value == 2) }
    }

    @Test func cancellationReachesTheLoopOfItsRequest() async throws {
      let servers = try (0..<6).map { _ in try LoopbackServer() }
      defer { for server in servers { server.stop() } }
      let gate = Gate()
      for server in servers { server.route("/held") { _ in .streaming(contentLength: 2, [.wait(gate)]) } }
      let transport = try transport()
      let tasks = servers.flatMap { server in
        (0..<20).map { _ in Task { try await transport.fetch(request(server.url("/held"))) } }
      }
      for server in servers { #expect(await server.waitForOpenConnections(6)) }
      for task in tasks { task.cancel() }
      for task in tasks {
        await #expect(throws: CancellationError.self) { try await task.value }
      }
      for server in servers { #expect(await server.waitForOpenConnections(0)) }
      gate.open()
    }
  }
#endif
