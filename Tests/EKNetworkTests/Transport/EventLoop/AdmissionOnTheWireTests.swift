#if os(Linux)
  import LoopbackServer
  import Testing

  @testable import EKNetwork

  /// Requests that wait for a connection, seen from the server.
  @Suite(.timeLimit(.minutes(10))) struct AdmissionOnTheWireTests {
    private final class Session: Sendable {}

    private let server: LoopbackServer

    init() throws {
      server = try LoopbackServer { $0.backlog = 1_024 }
      server.route("/ok") { _ in .text("ok") }
      server.route("/hung") { _ in .raw([.stall]) }
    }

    private func transport(
      _ connections: Int, tls: TLSOptions? = nil, session: Session? = nil
    ) throws -> HTTPTransport {
      let configuration = URLSessionConfiguration.ephemeral
      configuration.httpMaximumConnectionsPerHost = connections
      return try #require(HTTPTransport(configuration: configuration, options: .init(tls: tls), session: session))
    }

    private func request(_ path: String, on server: LoopbackServer? = nil, timeout: TimeInterval = 600)
      -> TransportRequest
    {
      TransportRequest(URLRequest(url: (server ?? self.server).url(path), timeoutInterval: timeout))
    }

    @Test func hungHostDoesNotDelayOthers() async throws {
      defer { server.stop() }
      let other = try LoopbackServer()
      defer { other.stop() }
      other.route("/ok") { _ in .text("ok") }
      let transport = try transport(2)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<500 { group.addTask { _ = try? await transport.fetch(request("/hung")) } }
        await server.expectRequests(2, path: "/hung")
        try await withThrowingTaskGroup(of: Int.self) { group in
          for _ in 0..<20 { group.addTask { try await transport.fetch(request("/ok", on: other)).data.count } }
          for try await count in group { #expect(count == 2) }
        }
        #expect(server.requestCount == 2)
        #expect(other.peakConnections <= 2)
        group.cancelAll()
      }
    }

    /// Hundreds of quick responses pass one limit, however many requests the loop can start within a turn.
    @Test(arguments: [256, 2_000]) func manyRequestsAllComplete(count: Int) async throws {
      defer { server.stop() }
      let transport = try transport(6)
      try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<count { group.addTask { try await transport.fetch(request("/ok")).data.count } }
        for try await length in group { #expect(length == 2) }
      }
      #expect(server.requestCount == count)
      #expect(server.peakConnections <= 6)
    }

    /// The idle timeout is for the server: a request that waits for a connection has not been sent yet.
    @Test func waitingForAConnectionIsNotIdleTime() async throws {
      server.stop()
      try await withTimeoutsThatMustNotPass { try await theSeventhStarts(timeout: $0) }
    }

    private func theSeventhStarts(timeout: TimeInterval) async throws {
      let server = try LoopbackServer()
      defer { server.stop() }
      let (gate, brief) = (Gate(), Gate())
      server.route("/held") { _ in .streaming(contentLength: 2, [.sendString("a"), .wait(gate), .sendString("b")]) }
      server.route("/brief") { _ in
        .streaming(
          contentLength: 30, [.wait(brief), .trickle(Data(count: 30), chunk: 1, every: .seconds(timeout / 20))])
      }
      server.route("/ok") { _ in .text("ok") }
      let transport = try transport(6)
      try await withThrowingTaskGroup(of: Int.self) { group in
        for path in ["/held", "/held", "/held", "/held", "/held", "/brief"] {
          group.addTask { try await transport.fetch(request(path, on: server)).data.count }
        }
        await server.expectRequests(6)
        brief.open()
        let start = ContinuousClock.now
        let seventh = try await transport.fetch(request("/ok", on: server, timeout: timeout))
        #expect(ContinuousClock.now - start > .seconds(timeout))
        #expect(seventh.data == Data("ok".utf8))
        #expect(server.peakConnections == 6)
        gate.open()
        for try await count in group { #expect([2, 30].contains(count)) }
      }
    }

    @Test func deadlineIncludesWaitingForAConnection() async throws {
      defer { server.stop() }
      let transport = try transport(1)
      let hung = Task { try await transport.fetch(request("/hung")) }
      await server.expectRequests(1, path: "/hung")
      var late = request("/ok")
      late.deadline = .now + .milliseconds(200)
      let start = ContinuousClock.now
      let error = await #expect(throws: URLError.self) { try await transport.fetch(late) }
      #expect(error?.code == .timedOut)
      #expect(error?.localizedDescription.contains("connections to the host were in use") == true)
      #expect(ContinuousClock.now - start >= .milliseconds(200))
      #expect(server.requestCount == 1)
      hung.cancel()
      await #expect(throws: CancellationError.self) { try await hung.value }
      // Its slot is free again.
      #expect(try await transport.fetch(request("/ok")).data.count == 2)
    }

    @Test func sessionsWithEqualSettingsHaveSeparateLimits() async throws {
      defer { server.stop() }
      let (first, second) = (try transport(2), try transport(2))
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<20 { group.addTask { _ = try? await first.fetch(request("/hung")) } }
        await server.expectRequests(2, path: "/hung")
        for _ in 0..<10 {
          let count = try await second.fetch(request("/ok")).data.count
          #expect(count == 2)
        }
        #expect(server.requests(path: "/hung").count == 2)
        #expect(server.peakConnections == 3)
        group.cancelAll()
      }
    }

    @Test func transportsOfOneSessionShareItsLimit() async throws {
      defer { server.stop() }
      let session = Session()
      let gate = Gate()
      server.route("/held") { _ in .streaming(contentLength: 2, [.wait(gate), .sendString("ok")]) }
      let transports = try (0..<10).map { _ in try transport(3, session: session) }
      try await withThrowingTaskGroup(of: Int.self) { group in
        for transport in transports {
          for _ in 0..<5 { group.addTask { try await transport.fetch(request("/held")).data.count } }
        }
        await server.expectRequests(3)
        gate.open()
        for try await count in group { #expect(count == 2) }
      }
      #expect(server.requestCount == 50)
      #expect(server.peakConnections == 3)
    }

    @Test func twentyThousandWaitingRequestsCanBeCancelled() async throws {
      defer { server.stop() }
      let gate = Gate()
      server.route("/held") { _ in .streaming(contentLength: 2, [.wait(gate), .sendString("ok")]) }
      let transport = try transport(2)
      let held = (0..<2).map { _ in Task { try await transport.fetch(request("/held")).data.count } }
      await server.expectRequests(2, path: "/held")
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<20_000 {
          group.addTask {
            await #expect(throws: CancellationError.self) { try await transport.fetch(request("/hung")) }
          }
        }
        group.cancelAll()
      }
      gate.open()
      for task in held { #expect(try await task.value == 2) }
      #expect(try await transport.fetch(request("/ok")).data.count == 2)
      #expect(server.requestCount == 3)
    }

    /// The server never sees requests that are cancelled while they wait, and they do not raise the limit for others.
    @Test func cancellingWaitingRequestsKeepsTheLimit() async throws {
      defer { server.stop() }
      let gate = Gate()
      server.route("/held") { _ in .streaming(contentLength: 2, [.wait(gate), .sendString("ok")]) }
      // Its own options: connections of other tests do not evict these while they are idle.
      let transport = try transport(4, tls: TLSOptions(pinnedPublicKeys: ["waiting"]))
      let held = (0..<4).map { _ in Task { try await transport.fetch(request("/held")).data.count } }
      await server.expectRequests(4, path: "/held")
      let waiting = (0..<400).map { _ in Task { try await transport.fetch(request("/ok")).data.count } }
      for (index, task) in waiting.enumerated() where index % 3 != 0 { task.cancel() }
      gate.open()
      for task in held { #expect(try await task.value == 2) }
      for (index, task) in waiting.enumerated() {
        if index % 3 == 0 { #expect(try await task.value == 2) } else { _ = try? await task.value }
      }
      #expect(server.peakConnections == 4)
      #expect(server.acceptedConnections == 4)
    }

    /// Counts the sockets of this process every millisecond: a response takes several, and without a pause the thread would take
    /// the time of all other tests.
    @Test func connectionsNeverExceedTheLimitUnderRandomCancellation() async throws {
      defer { server.stop() }
      server.route("/slow") { _ in
        .streaming(contentLength: 20, [.trickle(Data(count: 20), chunk: 5, every: .milliseconds(1))])
      }
      let gate = Gate()
      server.route("/held") { _ in .streaming(contentLength: 2, [.wait(gate), .sendString("ok")]) }
      let transport = try transport(5)
      let port = server.port
      // What is counted below is seen at all. The thread below may see nothing while others keep it from running.
      let held = Task { try await transport.fetch(request("/held")).data.count }
      await server.expectRequests(1, path: "/held")
      #expect(Self.clientPorts(to: port).count == 1)
      gate.open()
      #expect(try await held.value == 2)
      let isOver = Locked(false)
      let peak = Locked(0)
      // Not a task, which others that are as slow as under a sanitizer could keep from ever running.
      Thread {
        let (pause, never) = (Duration.milliseconds(1), Gate())
        var last: Set<UInt16> = []
        while !isOver.withLock({ $0 }) {
          never.waitBlocking(timeout: pause)
          // While they are listed, one may be closed and another opened. Those in two lists were open between the two.
          let ports = Self.clientPorts(to: port)
          let count = ports.intersection(last).count
          last = ports
          peak.withLock { $0 = max($0, count) }
        }
      }.start()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for worker in 0..<40 {
          group.addTask {
            var random = SplitMix(state: UInt64(worker))
            for _ in 0..<15 {
              let task = Task { try await transport.fetch(request("/slow")).data.count }
              if Bool.random(using: &random) {
                for _ in 0..<Int.random(in: 0..<50, using: &random) { await Task.yield() }
                task.cancel()
              }
              do {
                let count = try await task.value
                #expect(count == 20)
              } catch is CancellationError {}
            }
          }
        }
        try await group.waitForAll()
      }
      isOver.withLock { $0 = true }
      #expect(peak.withLock { $0 } <= 5)
    }

    /// The local ports of the sockets of this process that are connected to a port.
    private static func clientPorts(to port: Int) -> Set<UInt16> {
      var ports: Set<UInt16> = []
      for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? [] {
        guard let descriptor = Int32(name) else { continue }
        let peer = Self.port { getpeername(descriptor, $0, $1) }
        if peer == UInt16(port), let own = Self.port({ getsockname(descriptor, $0, $1) }) { ports.insert(own) }
      }
      return ports
    }

    private static func port(
      _ name: (UnsafeMutablePointer<sockaddr>?, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> UInt16? {
      var address = sockaddr_in()
      var size = socklen_t(MemoryLayout<sockaddr_in>.size)
      let result = withUnsafeMutableBytes(of: &address) {
        name($0.baseAddress?.assumingMemoryBound(to: sockaddr.self), &size)
      }
      return result == 0 ? UInt16(bigEndian: address.sin_port) : nil
    }
  }
#endif
