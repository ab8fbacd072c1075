#if os(Linux)
  import Foundation
  import FoundationNetworking
  import Testing

  @testable import EKNetwork

  /// Names that are not looked up by the system, and interfaces, with aiohttp's server.
  @Suite("Routes of connections", .serialized, .timeLimit(.minutes(5)), .enabled(if: PeerProcess.has("aiohttp", "dns")))
  struct ConnectionRoutePeerTests {
    private let peer: PeerProcess

    init() throws { peer = try PeerProcess.shared("names.py") }

    static let name = "elsewhere.invalid"
    static let local = [name: ["127.0.0.1"]]

    private func client(
      _ options: ConnectionOptions, scheme: String = "http", host: String = Self.name,
      _ change: (URLSessionConfiguration) -> Void = { _ in }
    ) throws -> NetworkManager {
      let configuration = URLSessionConfiguration.ephemeral
      change(configuration)
      var options = options
      options.tls = options.tls ?? TLSOptions(certificateAuthorityFile: peer.authority)
      let port = try #require(try peer.url(scheme).port)
      return NetworkManager(
        baseURL: try #require(URL(string: "\(scheme)://\(host):\(port)")),
        session: URLSession(configuration: configuration), transport: .connecting(with: options))
    }

    private func seen(by manager: NetworkManager) async throws -> [String] {
      try await manager.send(Probe<[String]>(path: "/seen"))
    }

    private func code(of manager: NetworkManager) async throws -> URLError.Code? {
      await #expect(throws: URLError.self) { try await seen(by: manager) }?.code
    }

    private func dns() throws -> URL { try peer.url("dns", path: "/dns-query/\(peer.test)") }

    /// The names that this test's server was asked for since the last time.
    private func asked() throws -> String { try peer.ask(peer.test) }

    // MARK: - Addresses

    @Test("A name leads to its addresses, of which one is enough", arguments: ["http", "https"])
    func addresses(scheme: String) async throws {
      for addresses in [["127.0.0.1"], ["::1", "127.0.0.1"], ["127.0.0.9", "127.0.0.1"]] {
        let manager = try client(ConnectionOptions(addresses: ["Elsewhere.Invalid": addresses]), scheme: scheme)
        let seen = try await seen(by: manager)
        #expect(
          seen == [manager.baseURL().absoluteString.replacingOccurrences(of: "\(scheme)://", with: ""), "127.0.0.1"])
      }
    }

    @Test("A server is verified by its name, not by its address")
    func verification() async throws {
      let manager = try client(
        ConnectionOptions(addresses: ["other.invalid": ["127.0.0.1"]]), scheme: "https", host: "other.invalid")
      #expect(try await code(of: manager) == .serverCertificateUntrusted)
    }

    /// Neither its connections nor its names.
    @Test("What one session was told is not used by another", arguments: ["http", "https"])
    func isolation(scheme: String) async throws {
      let own = try client(ConnectionOptions(addresses: Self.local), scheme: scheme)
      let without = try client(ConnectionOptions(), scheme: scheme)
      let other = try client(ConnectionOptions(addresses: [Self.name: ["127.0.0.9"]]), scheme: scheme)
      for _ in 0..<2 {
        _ = try await seen(by: own)
        #expect(try await code(of: without) == .cannotFindHost)
        #expect(try await code(of: other) == .cannotConnectToHost)
      }
    }

    @Test("No proxy is used for a name with addresses, and one for the others")
    func proxies() async throws {
      let options = ConnectionOptions(proxy: .http(host: "127.0.0.1", port: 1), addresses: Self.local)
      #expect(try await seen(by: try client(options)).last == "127.0.0.1")
      #expect(try await code(of: try client(options, host: "other.invalid")) == .cannotConnectToHost)
    }

    @Test("A connection is opened ahead with TLS, and closed by nothing that the server sends before a request")
    func preconnect() async throws {
      let timings = Locked<[NetworkTimings]>([])
      let manager = try client(ConnectionOptions(addresses: Self.local), scheme: "https")
      manager.eventHandler = { event in
        guard case .finished(_, _, let measured) = event.kind else { return }
        timings.withLock { $0.append(measured) }
      }
      for _ in 0..<2 {
        #expect(try await manager.preconnect())
        _ = try await seen(by: manager)
      }
      #expect(timings.withLock { $0.map(\.protocolName) } == ["HTTP/1.1", "HTTP/1.1"])
      #expect(timings.withLock { $0.map(\.isConnectionReused) } == [true, true])
      let other = try client(
        ConnectionOptions(addresses: ["other.invalid": ["127.0.0.1"]]), scheme: "https", host: "other.invalid")
      #expect(
        await #expect(throws: URLError.self) { try await other.preconnect() }?.code == .serverCertificateUntrusted)
    }

    @Test("A WebSocket takes the same way", arguments: ["http", "https"])
    func webSocket(scheme: String) async throws {
      let port = try #require(try peer.url(scheme).port)
      let tls = TLSOptions(certificateAuthorityFile: peer.authority)
      let url = try #require(URL(string: "\(scheme == "http" ? "ws" : "wss")://\(Self.name):\(port)/socket"))
      for options in [
        ConnectionOptions(tls: tls, proxy: .http(host: "127.0.0.1", port: 1), addresses: Self.local),
        ConnectionOptions(tls: tls, interface: "lo", dnsOverHTTPS: try dns()),
      ] {
        var socketOptions = WebSocketOptions()
        socketOptions.useConnectionOptions(options)
        let socket = try await WebSocket.connect(to: url, options: socketOptions)
        try await socket.send(.text("hello"))
        #expect(try await socket.receive() == .text("hello"))
        try await socket.close()
      }
    }

    // MARK: - Interface

    @Test("Connections leave from an interface, or from an address", arguments: ["lo", "127.0.0.7"])
    func interface(name: String) async throws {
      let manager = try client(ConnectionOptions(addresses: Self.local, interface: name))
      #expect(try await seen(by: manager).last == (name == "lo" ? "127.0.0.1" : name))
    }

    @Test("An interface that is not there is a connection that cannot be made", arguments: ["nowhere0", "192.0.2.9"])
    func missingInterface(name: String) async throws {
      let manager = try client(ConnectionOptions(addresses: Self.local, interface: name))
      #expect(try await code(of: manager) == .cannotConnectToHost)
    }

    // MARK: - DNS over HTTPS

    static let hasDNS = CurlLibrary.capabilities?.missingOptions.contains(.dohUrl) == false

    @Test("Names are looked up over HTTPS, and kept", .enabled(if: hasDNS), arguments: ["http", "https"])
    func dnsOverHTTPS(scheme: String) async throws {
      let manager = try client(ConnectionOptions(dnsOverHTTPS: try dns()), scheme: scheme)
      try await withThrowingTaskGroup(of: [String].self) { group in
        for _ in 0..<20 { group.addTask { try await seen(by: manager) } }
        for try await seen in group { #expect(seen.last == "127.0.0.1") }
      }
      #expect(try asked() == Self.name)
      #expect(try await code(of: try client(ConnectionOptions(), scheme: scheme)) == .cannotFindHost)
      #expect(try asked() == "")
    }

    @Test(
      "An unknown name is not asked for elsewhere, and neither is any if the server cannot be trusted",
      .enabled(if: hasDNS))
    func unknownName() async throws {
      let options = ConnectionOptions(dnsOverHTTPS: try dns())
      // Known to the system.
      let known = try client(options, host: "host-of-this-machine.invalid")
      #expect(try await code(of: known) == .cannotFindHost)
      #expect(try asked() == "host-of-this-machine.invalid")
      var untrusting = options
      untrusting.tls = TLSOptions(certificateAuthorityFile: peer.file("unknown-ca.pem"))
      #expect(try await code(of: try client(untrusting)) == .cannotFindHost)
      let dead = ConnectionOptions(dnsOverHTTPS: URL(string: "https://127.0.0.1:1/dns-query"))
      #expect(try await code(of: try client(dead)) == .cannotFindHost)
      #expect(try asked() == "")
    }

    @Test("A libcurl without it says so", .enabled(if: !hasDNS))
    func withoutDNS() async throws {
      let manager = try client(ConnectionOptions(dnsOverHTTPS: try dns()))
      await #expect(throws: TransportOptionError.self) { try await seen(by: manager) }
    }
  }
#endif
