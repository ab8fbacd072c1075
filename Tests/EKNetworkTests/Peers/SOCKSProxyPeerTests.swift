#if os(Linux)
  import Foundation
  import FoundationNetworking
  import LoopbackServer
  import Testing

  @testable import EKNetwork

  private enum SOCKSProxyProcess {
    static let variable = "EKNETWORK_SOCKS_TESTS"
    static let isChild = ProcessInfo.processInfo.environment[variable] != nil
  }

  /// Runs in a process of its own: only its environment names a proxy for which names are looked up here.
  @Suite(
    "Requests through a SOCKS proxy", .serialized, .timeLimit(.minutes(10)),
    .enabled(if: SOCKSProxyProcess.isChild))
  struct SOCKSProxyPeerTests {
    @Test("A cancelled request leaves the proxy")
    func cancelled() async throws {
      let peer = try PeerProcess("proxy.py")
      setenv("all_proxy", try "socks5://127.0.0.1:\(#require(peer.url("socks").port))", 1)
      let server = try LoopbackServer()
      defer { server.stop() }
      server.route("/") { _ in .text("ok") }
      server.route("/silent") { _ in .raw([.stall]) }
      let transport = try #require(HTTPTransport(configuration: .ephemeral))
      // The first one: the host is looked up for it.
      let silent = TransportRequest(URLRequest(url: server.url("/silent"), timeoutInterval: 600))
      let task = Task { try await transport.fetch(silent) }
      #expect(await server.waitForRequests(count: 1).count == 1)
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(await server.waitForOpenConnections(0, timeout: .seconds(60)))
      let request = TransportRequest(URLRequest(url: server.url("/"), timeoutInterval: 600))
      #expect(try await transport.fetch(request).data == Data("ok".utf8))
    }
  }

  /// Likewise, through a proxy that does not reply.
  @Suite(
    "Requests through a silent SOCKS proxy", .serialized, .timeLimit(.minutes(10)),
    .enabled(if: SOCKSProxyProcess.isChild))
  struct SilentSOCKSProxyPeerTests {
    @Test("A request that is cancelled before it is sent leaves the proxy")
    func cancelled() async throws {
      let peer = try PeerProcess("proxy.py")
      setenv("all_proxy", try "socks5://127.0.0.1:\(#require(peer.url("late-socks").port))", 1)
      let server = try LoopbackServer()
      defer { server.stop() }
      server.fallback = { _ in .text("ok") }
      let transport = try #require(HTTPTransport(configuration: .ephemeral))
      let request = TransportRequest(URLRequest(url: server.url("/"), timeoutInterval: 600))
      let task = Task { try await transport.fetch(request) }
      #expect(await server.waitForRequests(count: 1).map(\.path) == ["/requested"])
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(await server.waitForRequests(count: 2).map(\.path) == ["/requested", "/left"])
    }
  }

  @Suite(.timeLimit(.minutes(10)), .enabled(if: PeerProcess.python != nil && !SOCKSProxyProcess.isChild))
  struct SOCKSProxyProcessPeerTests {
    @Test(
      "Through a SOCKS proxy, a cancelled request is over",
      arguments: ["SOCKSProxyPeerTests", "SilentSOCKSProxyPeerTests"])
    func cancelled(suite: String) async throws {
      let (status, text) = try await ChildProcess.run(suite: suite, environment: [SOCKSProxyProcess.variable: "1"])
      #expect(status == 0)
      #expect(text.contains("Test run with 1 test in 1 suite passed"), "\(text)")
    }
  }
#endif
