#if os(Linux)
  import Foundation
  import FoundationNetworking
  import LoopbackServer
  import Testing

  @testable import EKNetwork

  /// Changes of real links, as the kernel reports them.
  @Suite(.serialized, .timeLimit(.minutes(10)), .enabled(if: NetworkNamespace.isAvailable))
  struct NetworkNamespaceTests {
    private let network: NetworkNamespace

    init() throws { network = try NetworkNamespace() }

    @Test func monitorStartsWithCurrentState() async throws {
      let monitor = try network.inside { PrismConnectivityMonitor() }
      #expect(!monitor.isConnected)
      try network.connect()
      // The kernel may take a second to see that both ends of a cable are plugged in.
      for await isConnected in monitor.connectionStream() where isConnected { break }
      #expect(try network.inside { PrismConnectivityMonitor().isConnected })
      try network.run("ip link set v0 down")
      #expect(try network.inside { PrismConnectivityMonitor().isConnected } == false)
    }

    /// Commands that change the network, and the state that follows.
    @Test func everyChangeIsReported() async throws {
      let monitor = try network.inside { PrismConnectivityMonitor() }
      var states = monitor.connectionStream().makeAsyncIterator()
      #expect(await states.next() == false)
      let changes: [(String, isConnected: Bool)] = [
        ("ip link set v1 up; ip link set v0 up; ip addr add 192.0.2.1/24 dev v0", false),
        ("ip route add default via 192.0.2.2", true),
        ("ip link set v0 down", false),
        ("ip link set v0 up; ip route add default via 192.0.2.2", true),
        // The peer goes down: the carrier is lost.
        ("ip link set v1 down", false),
        ("ip link set v1 up", true),
        // A directly attached network alone is no connection.
        ("ip route del default", false),
        ("ip route add default via 192.0.2.2", true),
        ("ip addr del 192.0.2.1/24 dev v0", false),
        // The routes have gone with the address.
        ("ip addr add 192.0.2.1/24 dev v0", false),
        ("ip addr add 198.18.0.1/24 dev v0; ip route add default via 198.18.0.2 src 198.18.0.1", true),
        // The route has gone with its source.
        ("ip addr del 198.18.0.1/24 dev v0", false),
        ("ip route add 198.51.100.0/24 via 192.0.2.2", true),
        ("ip link del v0", false),
        ("ip link add v2 type veth peer name v3; ip link set v2 up; ip link set v3 up", false),
        ("ip -6 addr add 2001:db8::1/64 dev v2 nodad; ip -6 route add default via 2001:db8::2", true),
        ("ip -6 route append default via 2001:db8::3", true),
        ("ip -6 route del default via 2001:db8::2", true),
        ("ip -6 route del default via 2001:db8::3", false),
        ("ip -6 route add default via 2001:db8::2", true),
        ("ip link set v2 down", false),
      ]
      var last = false
      for (commands, isConnected) in changes {
        try network.run(commands.replacingOccurrences(of: ";", with: " &&"))
        if isConnected != last { #expect(await states.next() == isConnected, "\(commands)") }
        #expect(monitor.isConnected == isConnected, "\(commands)")
        // A new monitor reports the same state.
        #expect(try network.inside { PrismConnectivityMonitor().isConnected } == isConnected, "\(commands)")
        last = isConnected
      }
    }

    @Test func lastOfQuickChangesIsReported() async throws {
      try network.connect()
      let monitor = try network.inside { PrismConnectivityMonitor() }
      let flap = "ip link set v0 down && ip link set v0 up && ip route add default via 192.0.2.2"
      try network.run("for i in 1 2 3 4 5 6 7 8 9 10; do \(flap); done && ip link set v0 down")
      // The last state is reported in the end; earlier ones may be skipped.
      for await isConnected in monitor.connectionStream() where !isConnected { break }
      try network.connect()
      for await isConnected in monitor.connectionStream() where isConnected { break }
      #expect(monitor.isConnected)
    }

    /// The clock stands still: only the network ends the backoff.
    @Test func queueDeliversWhenNetworkReturns() async throws {
      let server = try LoopbackServer()
      server.fallback = { _ in .status(204) }
      let monitor = try network.inside { PrismConnectivityMonitor() }
      let clock = ManualClock()
      var options = PrismOfflineQueueOptions()
      options.connectivity = monitor
      options.clock = clock
      let manager = Wire.automatic.manager(server)
      let queue = try PrismOfflineQueue(
        directory: nil,
        delivery: .each { request in
          guard monitor.isConnected else { throw URLError(.notConnectedToInternet) }
          try await manager.deliver(request, AccessToken(nil as (() -> String?)?))
        }, options: options)
      for round in 1...3 {
        var request = URLRequest(url: server.url("/items"))
        request.httpMethod = "POST"
        var keys: [String?] = []
        for _ in 0..<3 { keys.append(try await queue.enqueue(request).id.uuidString) }
        await clock.waitForSleepers()
        #expect(server.requestCount == (round - 1) * 3)
        try network.connect()
        await server.expectRequests(round * 3)
        #expect(server.requests.suffix(3).map { $0.header("Idempotency-Key") } == keys)
        try await queue.flush()
        #expect(await queue.count == 0)
        try network.run("ip link set v0 down")
        for await isConnected in monitor.connectionStream() where !isConnected { break }
      }
    }
  }
#endif
