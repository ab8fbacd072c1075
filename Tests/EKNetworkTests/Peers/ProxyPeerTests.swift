#if os(Linux)
  import Foundation
  import FoundationNetworking
  import Testing

  @testable import EKNetwork

  /// Requests through third-party proxies and faulty ones.
  @Suite("Proxy peers", .serialized, .timeLimit(.minutes(10)), .enabled(if: PeerProcess.python != nil))
  struct ProxyPeerTests {
    private let peer: PeerProcess

    init() throws { peer = try PeerProcess.shared("proxy.py") }

    /// A transport whose session names a proxy for both schemes.
    private func transport(_ proxy: String?, _ more: [AnyHashable: Any] = [:]) throws -> any Transport {
      let configuration = URLSessionConfiguration.ephemeral
      configuration.timeoutIntervalForRequest = proxy == "silent" ? 0.5 : 60
      var dictionary: [AnyHashable: Any] = [:]
      if let proxy {
        let port = try #require(peer.url(proxy).port)
        for kind in ["HTTP", "HTTPS"] {
          dictionary["\(kind)Enable"] = 1
          dictionary["\(kind)Proxy"] = "127.0.0.1"
          dictionary["\(kind)Port"] = port
        }
      }
      configuration.connectionProxyDictionary = dictionary.merging(more) { $1 }
      return TransportSelection.transport(
        for: URLSession(configuration: configuration),
        choice: .secured(by: TLSOptions(certificateAuthorityFile: peer.authority)))
    }

    private func fetch(_ transport: any Transport, _ url: String) async throws -> (Int?, String) {
      var request = URLRequest(url: try #require(URL(string: url)))
      request.setValue("Bearer token", forHTTPHeaderField: "Authorization")
      request.setValue("1", forHTTPHeaderField: "X-Secret")
      let response = try await transport.fetch(TransportRequest(request))
      return (response.head.statusCode, String(decoding: response.data, as: UTF8.self))
    }

    private func code(_ proxy: String, _ url: String) async throws -> URLError.Code? {
      let transport = try transport(proxy)
      do {
        let (status, text) = try await fetch(transport, url)
        Issue.record("\(proxy) gave \(url) an answer: \(status ?? 0) \(text)")
        return nil
      } catch let error as URLError {
        #expect(!error.localizedDescription.isEmpty)
        return error.code
      }
    }

    @Test("A plain request is sent to the proxy with its absolute URL and its Host field")
    func plain() async throws {
      let transport = try transport("good")
      for _ in 0..<3 {
        let (status, head) = try await fetch(transport, "http://behind.invalid/a?b=c")
        #expect(status == 200)
        #expect(head.hasPrefix("GET http://behind.invalid/a?b=c HTTP/1.1\r\nHost: behind.invalid\r\n"))
        #expect(head.contains("Authorization: Bearer token\r\n"))
      }
    }

    @Test("Requests that share a connection to the proxy name their own hosts")
    func hosts() async throws {
      let transport = try transport("good")
      let hosts = ["behind.invalid", "[2001:db8::1]", "behind.invalid:81", "[2001:db8::1]:81", "behind.invalid"]
      for host in hosts {
        let (status, head) = try await fetch(transport, "http://\(host)/")
        #expect(status == 200)
        #expect(head.hasPrefix("GET http://\(host)/ HTTP/1.1\r\nHost: \(host)\r\n"), "\(head)")
      }
    }

    @Test("An HTTPS request is tunnelled: the proxy sees neither its fields nor its path")
    func tunnel() async throws {
      let transport = try transport("good")
      for _ in 0..<3 {
        let (status, head) = try await fetch(transport, "https://localhost/a?b=c")
        #expect(status == 200)
        #expect(head.hasPrefix("GET /a?b=c HTTP/1.1\r\nHost: localhost\r\n"))
        #expect(head.contains("Authorization: Bearer token\r\n"))
        #expect(!head.contains("Proxy-"))
      }
      // The certificate is verified through the tunnel.
      #expect(try await code("good", "https://behind.invalid/") == .serverCertificateUntrusted)
    }

    @Test("A proxy's credentials are sent to the proxy only")
    func credentials() async throws {
      let transport = try transport(
        "authenticating", ["kCFProxyUsernameKey": "someone", "kCFProxyPasswordKey": "s%cret"])
      #expect(try await fetch(transport, "http://behind.invalid/").0 == 200)
      let (status, head) = try await fetch(transport, "https://localhost/")
      #expect(status == 200)
      #expect(!head.contains("Proxy-"))
    }

    /// libcurl before 8.19 would send them all through the first one's tunnel.
    @Test("A tunnel is used only by requests with its credentials")
    func tunnelIdentity() async throws {
      func identified(_ user: String?) throws -> any Transport {
        try transport(
          "authenticating", user.map { ["kCFProxyUsernameKey": $0, "kCFProxyPasswordKey": "s%cret"] } ?? [:])
      }
      let url = try #require(URL(string: "https://localhost/"))
      for _ in 0..<3 {
        #expect(try await fetch(identified("someone"), "\(url)").0 == 200)
        for other in ["somebody", nil] {
          let error = await #expect(throws: URLError.self) { try await fetch(identified(other), "\(url)") }
          #expect(error?.code == .userAuthenticationRequired)
        }
      }
    }

    @Test("Exceptions, a disabled proxy and an empty dictionary connect directly")
    func direct() async throws {
      let url = try peer.url("origin", scheme: "http").absoluteString
      #expect(try await fetch(transport("forbidding", ["ExceptionsList": ["127.0.0.1"]]), url).0 == 200)
      #expect(try await fetch(transport("forbidding", ["ExceptionsList": ["*.elsewhere"]]), url).0 == 403)
      #expect(try await fetch(transport("forbidding", ["HTTPEnable": 0]), url).0 == 200)
      #expect(try await fetch(transport(nil), url).0 == 200)
    }

    private func connecting(_ proxy: ConnectionOptions.Proxy, configured: String? = nil) throws -> any Transport {
      let configuration = URLSessionConfiguration.ephemeral
      if let configured {
        configuration.connectionProxyDictionary = [
          "HTTPEnable": 1, "HTTPProxy": "127.0.0.1", "HTTPPort": try #require(peer.url(configured).port),
        ]
      }
      let tls = TLSOptions(certificateAuthorityFile: peer.authority)
      return TransportSelection.transport(
        for: URLSession(configuration: configuration), choice: .connecting(with: .init(tls: tls, proxy: proxy)))
    }

    @Test("A proxy is named by a value, which precedes the session's dictionary")
    func named() async throws {
      func port(_ name: String) throws -> Int { try #require(peer.url(name).port) }
      let url = try peer.url("origin", scheme: "http").absoluteString
      let named = ConnectionOptions.Proxy.http(
        host: "127.0.0.1", port: try port("authenticating"), user: "someone", password: "s%cret")
      for _ in 0..<2 {
        #expect(try await fetch(connecting(named), "http://behind.invalid/").0 == 200)
        #expect(try await fetch(connecting(named), "https://localhost/").0 == 200)
      }
      let anonymous = ConnectionOptions.Proxy.http(host: "127.0.0.1", port: try port("authenticating"))
      #expect(try await fetch(connecting(anonymous, configured: "good"), "http://behind.invalid/").0 == 407)
      #expect(try await fetch(connecting(.automatic, configured: "forbidding"), url).0 == 403)
      #expect(try await fetch(connecting(.none, configured: "forbidding"), url).0 == 200)
      #expect(try await fetch(connecting(.environment, configured: "forbidding"), url).0 == 200)
      let socks = ConnectionOptions.Proxy.socks5(host: "127.0.0.1", port: try port("socks"))
      #expect(try await fetch(connecting(socks), url).0 == 200)
    }

    @Test("A closure chooses a proxy for each request: what was opened through another is not used")
    func chosen() async throws {
      let (good, forbidding) = (try #require(peer.url("good").port), try #require(peer.url("forbidding").port))
      let asked = Locked<[String]>([])
      let transport = try connecting(
        .choosing { origin in
          let count = asked.withLock {
            $0.append(origin.absoluteString)
            return $0.count
          }
          return count % 2 == 0 ? .http(host: "127.0.0.1", port: forbidding) : .http(host: "127.0.0.1", port: good)
        })
      for _ in 0..<2 {
        #expect(try await fetch(transport, "http://behind.invalid/a?b").0 == 200)
        #expect(try await fetch(transport, "http://behind.invalid/a?b").0 == 403)
      }
      #expect(try await fetch(transport, "https://localhost:8443/").0 == 200)
      await #expect(throws: URLError.self) { try await fetch(transport, "https://localhost:8443/") }
      #expect(Set(asked.withLock { $0 }) == ["http://behind.invalid:80/", "https://localhost:8443/"])
    }

    @Test(
      "A host or port that no proxy has is refused",
      arguments: [("", 80), ("a/b", 80), ("user@host", 80), ("host", 0), ("host", 65_536), ("host", -1)])
    func impossible(host: String, port: Int) async throws {
      for proxy in [
        ConnectionOptions.Proxy.http(host: host, port: port), .socks5(host: host, port: port),
        .choosing { _ in .http(host: host, port: port) },
      ] {
        let error = await #expect(throws: URLError.self) {
          try await fetch(connecting(proxy), "http://behind.invalid/")
        }
        #expect(error?.code == .badURL)
      }
    }

    @Test("A WebSocket beside a session's requests takes their proxy")
    func webSocketThroughNamed() async throws {
      let port = try #require(peer.url("forbidding").port)
      for proxy in [
        ConnectionOptions.Proxy.http(host: "127.0.0.1", port: port),
        .choosing { _ in .http(host: "127.0.0.1", port: port) },
      ] {
        var options = WebSocketOptions()
        try options.inherit(connecting(proxy).connectionSettings)
        await #expect(throws: (any Error).self) {
          try await WebSocket.connect(to: peer.url("origin", scheme: "ws"), options: options)
        }
        options = WebSocketOptions()
        try options.inherit(connecting(.none).connectionSettings)
        #expect(options.proxies == SessionProxies([:]))
      }
    }

    @Test("A proxy's error response to a plain request is returned as a response")
    func plainRefusals() async throws {
      for (name, status) in [("authenticating", 407), ("forbidding", 403), ("failing", 502)] {
        let (code, text) = try await fetch(transport(name), "http://behind.invalid/")
        #expect(code == status)
        #expect(text == "sad\n")
      }
    }

    @Test(
      "A proxy that opens no tunnel fails the request",
      arguments: [
        ("authenticating", URLError.Code.userAuthenticationRequired), ("forbidding", .cannotConnectToHost),
        ("failing", .cannotConnectToHost), ("dying", .cannotConnectToHost), ("resetting", .cannotConnectToHost),
        ("garbage", .cannotConnectToHost), ("endless-garbage", .cannotConnectToHost), ("silent", .timedOut),
        ("dying-later", .networkConnectionLost),
      ])
    func noTunnel(proxy: String, expected: URLError.Code) async throws {
      try await expecting(.zeroByteFromAProxy, where: proxy == "garbage") {
        let found = try await code(proxy, "https://localhost/")
        #expect(found == expected)
      }
    }

    /// Some versions of libcurl would read it for ever, and nothing else.
    @Test(
      "A response to CONNECT without an end fails the request and the WebSocket that wait for it",
      arguments: ["fields", "status", "folds", "interim", "chunks", "body"])
    func endlessTunnel(kind: String) async throws {
      let codes: Set<URLError.Code> = [
        .dataLengthExceedsMaximum, .userAuthenticationRequired, .cannotConnectToHost, .badServerResponse,
      ]
      for code in [
        try await code("endless-\(kind)", "https://localhost/"), try await webSocketCode("endless-\(kind)"),
      ] {
        #expect(code.map { codes.contains($0) } == true, "\(String(describing: code))")
      }
    }

    @Test("A WebSocket whose proxy requires credentials says so")
    func credentialsOfWebSocket() async throws {
      #expect(try await webSocketCode("authenticating") == .userAuthenticationRequired)
    }

    private func webSocketCode(_ proxy: String) async throws -> URLError.Code? {
      let configuration = URLSessionConfiguration.ephemeral
      configuration.connectionProxyDictionary = [
        "HTTPEnable": 1, "HTTPProxy": "127.0.0.1", "HTTPPort": try peer.url(proxy).port ?? 0,
      ]
      var options = WebSocketOptions()
      options.useProxies(of: configuration)
      let url = try #require(URL(string: "ws://localhost/"))
      return await #expect(throws: URLError.self) { try await WebSocket.connect(to: url, options: options) }?.code
    }

    @Test(
      "A proxy that corrupts the response to a plain request, or sends none, fails it",
      arguments: [
        ("dying", URLError.Code.networkConnectionLost), ("resetting", .networkConnectionLost),
        ("garbage", .badServerResponse), ("endless-garbage", .badServerResponse), ("silent", .timedOut),
        ("dying-later", .badServerResponse),
      ])
    func brokenPlainResponses(proxy: String, expected: URLError.Code) async throws {
      #expect(try await code(proxy, "http://behind.invalid/") == expected)
    }

    @Test("An unreachable or unresolvable proxy fails the request")
    func absent() async throws {
      let proxies: [AnyHashable: Any] = ["HTTPEnable": 1, "HTTPProxy": "127.0.0.1", "HTTPPort": 1]
      let error = await #expect(throws: URLError.self) {
        try await fetch(transport(nil, proxies), "http://behind.invalid/")
      }
      #expect(error?.code == .cannotConnectToHost)
      let nameless: [AnyHashable: Any] = ["HTTPEnable": 1, "HTTPProxy": "proxy.invalid", "HTTPPort": 1]
      let unresolved = await #expect(throws: URLError.self) {
        try await fetch(transport(nil, nameless), "http://127.0.0.1/")
      }
      #expect(unresolved?.code == .cannotFindHost)
    }

    @Test("A session without a dictionary uses the environment's proxy and its exceptions")
    func environment() throws {
      let proxy = try peer.url("good", scheme: "http", path: "").absoluteString
      #expect(try demo("http://behind.invalid/", ["http_proxy": proxy]).contains("status 200"))
      let direct = try demo("http://behind.invalid/", ["http_proxy": proxy, "no_proxy": "behind.invalid"])
      #expect(direct.contains("URLError \(URLError.Code.cannotFindHost.rawValue)"))
      // In a CGI script `HTTP_PROXY` is a request's `Proxy` field, which must not become its proxy.
      #expect(!(try demo("http://behind.invalid/", ["HTTP_PROXY": proxy])).contains("status 200"))
    }

    /// Runs the demo program in a process and an environment of its own.
    private func demo(_ url: String, _ environment: [String: String]) throws -> String {
      let folder = try #require(Bundle.main.executableURL?.deletingLastPathComponent())
      let program = folder.appendingPathComponent("EKNetworkDemo").path
      let others = ProcessInfo.processInfo.environment.filter { !$0.key.lowercased().hasSuffix("_proxy") }
      let process = try ChildProcess(program, ["--url", url], environment: others.merging(environment) { $1 })
      defer { process.waitUntilExit() }
      return String(decoding: try process.readToEnd(), as: UTF8.self)
    }
  }
#endif
