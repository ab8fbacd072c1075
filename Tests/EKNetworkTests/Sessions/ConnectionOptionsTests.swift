import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

struct ConnectionOptionsTests {
  private func error(
    _ options: ConnectionOptions, _ url: String = "http://localhost/", proxies: [AnyHashable: Any]? = nil
  ) async throws -> URLError? {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.connectionProxyDictionary = proxies
    let transport = TransportSelection.transport(
      for: URLSession(configuration: configuration), choice: .connecting(with: options))
    return await #expect(throws: URLError.self) {
      try await transport.fetch(TransportRequest(URLRequest(url: try #require(URL(string: url)))))
    }
  }

  #if os(Linux)
    @Test(arguments: ["", String(repeating: "a", count: 108), "@" + String(repeating: "a", count: 107), "/a\0b"])
    func impossiblePathsAreRefused(_ path: String) async throws {
      #expect(try await error(ConnectionOptions(socketPath: path))?.code == .badURL)
      var options = WebSocketOptions()
      options.socketPath = path
      let url = try #require(URL(string: "ws://localhost/"))
      let error = await #expect(throws: URLError.self) { try await WebSocket.connect(to: url, options: options) }
      #expect(error?.code == .badURL)
    }

    @Test(arguments: [
      ConnectionOptions(addresses: ["a": []]), ConnectionOptions(addresses: ["a": ["b"]]),
      ConnectionOptions(addresses: ["a": ["127.0.0.1", "127.0.0.1:80"]]),
      ConnectionOptions(addresses: ["a": ["[::1]"]]),
      ConnectionOptions(addresses: ["a:80": ["::1"]]), ConnectionOptions(addresses: ["": ["::1"]]),
      ConnectionOptions(addresses: ["-a": ["::1"]]), ConnectionOptions(addresses: ["+a": ["::1"]]),
      ConnectionOptions(addresses: ["::1": ["::1"]]), ConnectionOptions(addresses: ["10.0.0.1": ["::1"]]),
      ConnectionOptions(addresses: ["a": ["127.0.0.1\0"]]), ConnectionOptions(interface: ""),
      ConnectionOptions(interface: "eth0/1"), ConnectionOptions(interface: "eth0\0"),
      ConnectionOptions(interface: "abcdefghijklmnop"),
      ConnectionOptions(dnsOverHTTPS: URL(string: "http://127.0.0.1/")),
      ConnectionOptions(dnsOverHTTPS: URL(string: "https:/dns")), ConnectionOptions(dnsOverHTTPS: URL(string: "dns")),
    ])
    func impossibleRoutesAreRefused(_ options: ConnectionOptions) async throws {
      let refused = try await self.error(options)
      #expect(refused?.code == .badURL && refused?.failingURL?.absoluteString == "http://localhost/")
      var socketOptions = WebSocketOptions()
      socketOptions.useConnectionOptions(options)
      let url = try #require(URL(string: "ws://localhost/"))
      let error = await #expect(throws: URLError.self) { try await WebSocket.connect(to: url, options: socketOptions) }
      #expect(error?.code == .badURL && error?.failingURL == url)
    }

    @Test(arguments: [String(repeating: "a", count: 107), "@" + String(repeating: "a", count: 106)])
    func longestPathsAreTried(_ path: String) async throws {
      #expect(try await error(ConnectionOptions(socketPath: path))?.code == .cannotConnectToHost)
    }

    /// The token must not go to the host, not even if the requests cannot be sent at all.
    @Test(arguments: ["/missing.sock", ""], [nil, TLSOptions()])
    func subscriptionsStayOnTheSocket(_ path: String, _ tls: TLSOptions?) async throws {
      let server = try LoopbackServer()
      let manager = NetworkManager(
        baseURL: server.baseURL, session: URLSession(configuration: .ephemeral),
        transport: .connecting(with: ConnectionOptions(socketPath: path)))
      var options = PrismGraphQLOptions()
      options.webSocket.tls = tls
      options.accessToken = { "secret" }
      let client = PrismGraphQLClient(endpointURL: server.url("/graphql"), manager: manager, options: options)
      await #expect(throws: (any Error).self) {
        for try await _ in client.subscribe(PrismGraphQLQuery(query: "subscription { a }"), as: Int.self) {}
      }
      #expect(server.acceptedConnections == 0)
    }

    /// To a port that answers nothing, and to a server that does not answer TLS: a hundred at once, which wait for the same
    /// connection, and unsafe requests, of which nothing was sent.
    @Test(.timeLimit(.minutes(5)), arguments: [true, false])
    func connectingTakesTooLong(isSecure: Bool) async throws {
      let unresponsive = try LoopbackServer.UnresponsivePort()
      let gate = Gate()
      let server = try LoopbackServer { $0.acceptGate = gate }
      let url = isSecure ? "https://127.0.0.1:\(server.port)" : "http://127.0.0.1:\(unresponsive.port)"
      let base = try #require(URL(string: url))
      let clock = RecordingClock()
      let options = ConnectionOptions(connectTimeout: .milliseconds(200))
      let session = URLSession(configuration: .ephemeral)
      let manager = NetworkManager(
        baseURL: { base }, transport: TransportSelection.transport(for: session, choice: .connecting(with: options)),
        clock: clock)
      try await withThrowingTaskGroup(of: URLError.Code?.self) { group in
        for _ in 0..<100 {
          group.addTask {
            let probe = Probe<EmptyResponse>(method: .post, retryPolicy: RetryPolicy(maxRetryCount: 1, delay: 1))
            do { _ = try await manager.send(probe) } catch { return error.urlErrorCode }
            return nil
          }
        }
        for try await code in group { #expect(code == .cannotConnectToHost) }
      }
      #expect(clock.sleeps.count == 100)
    }

    @Test func anOpenConnectionHasNoLimit() async throws {
      let gate = Gate()
      let server = try LoopbackServer()
      server.route("/item") { _ in .streaming([.wait(gate), .chunk(Data("{}".utf8)), .endOfChunks()]) }
      let manager = NetworkManager(
        baseURL: server.baseURL, session: URLSession(configuration: .ephemeral),
        transport: .connecting(with: ConnectionOptions(connectTimeout: .milliseconds(200))))
      async let response = manager.response(to: Probe<EmptyResponse>())
      await server.expectRequests(1)
      // The limit of another connection has passed meanwhile.
      let unresponsive = try LoopbackServer.UnresponsivePort()
      let other = NetworkManager(
        baseURL: try #require(URL(string: "http://127.0.0.1:\(unresponsive.port)")),
        session: URLSession(configuration: .ephemeral),
        transport: .connecting(with: ConnectionOptions(connectTimeout: .milliseconds(400))))
      await #expect(throws: URLError.self) { try await other.send(Probe<EmptyResponse>()) }
      gate.open()
      #expect(try await response.statusCode == 200)
    }

    @Test func errorOfAProxyThatCannotBeOneNamesTheRequest() async throws {
      let error = try await error(ConnectionOptions(proxy: .http(host: "a b", port: 1)))
      #expect(error?.code == .badURL && error?.failingURL?.absoluteString == "http://localhost/")
    }

    /// A proxy for plain http forwards requests over HTTP/1.1.
    @Test func forwardingProxiesAreRefusedForHTTP2() async throws {
      let proxies: [AnyHashable: Any] = ["HTTPEnable": 1, "HTTPProxy": "127.0.0.1", "HTTPPort": 1]
      let error = try await error(ConnectionOptions(httpVersion: .http2), proxies: proxies)
      #expect(error?.code == .resourceUnavailable)
      #expect(error?.localizedDescription.contains("proxy") == true)
    }

    @Test(arguments: ["http", "https"]) func messageOfADeadProxySaysThatItIsOne(_ scheme: String) async throws {
      let port = try LoopbackServer.refusedPort()
      let error = try await error(
        ConnectionOptions(proxy: .http(host: "127.0.0.1", port: port)), "\(scheme)://origin.invalid/")
      #expect(error?.code == .cannotConnectToHost)
      #expect(error?.localizedDescription.hasPrefix("The proxy cannot be reached: ") == true)
      #expect(error?.localizedDescription.hasSuffix("(Connection refused)") == true)
    }

    @Test func serversOfHTTP1AreRefusedIfHTTP2IsRequired() async throws {
      let server = try LoopbackServer()
      let error = try await error(ConnectionOptions(httpVersion: .http2), server.url("/").absoluteString)
      let speaksHTTP2 = CurlLibrary.capabilities?.speaksHTTP2 == true
      #expect(error?.code == (speaksHTTP2 ? .badServerResponse : .resourceUnavailable))
    }
  #else
    @Test(arguments: [
      ConnectionOptions(httpVersion: .http1), ConnectionOptions(socketPath: "/tmp/socket"),
      ConnectionOptions(addresses: ["a": ["::1"]]), ConnectionOptions(interface: "en0"),
      ConnectionOptions(dnsOverHTTPS: URL(string: "https://dns.invalid")),
    ])
    func optionsWithoutCounterpartAreRefused(_ options: ConnectionOptions) async throws {
      #expect(try await error(options)?.code == .resourceUnavailable)
    }
  #endif
}
