#if os(Linux)
  import CCurl
  import Foundation
  import FoundationNetworking
  import LoopbackServer
  import Testing

  @testable import EKNetwork

  @Suite("WebSocket: TLS options and proxies", .timeLimit(.minutes(10)))
  struct WebSocketSecurityTests {
    private func configuration(_ proxy: LoopbackServer, _ more: [AnyHashable: Any] = [:]) -> URLSessionConfiguration {
      let configuration = URLSessionConfiguration.ephemeral
      var dictionary: [AnyHashable: Any] = [:]
      for kind in ["HTTP", "HTTPS"] {
        dictionary["\(kind)Enable"] = 1
        dictionary["\(kind)Proxy"] = "127.0.0.1"
        dictionary["\(kind)Port"] = proxy.port
      }
      configuration.connectionProxyDictionary = dictionary.merging(more) { $1 }
      return configuration
    }

    @Test("The proxy receives CONNECT with credentials and is bypassed only for exceptions", arguments: ["ws", "wss"])
    func proxies(scheme: String) async throws {
      let proxy = try LoopbackServer()
      let target = try LoopbackServer()
      proxy.fallback = { _ in .status(403) }
      target.route("/") { .webSocketEcho($0) }
      var options = WebSocketOptions()
      options.useProxies(
        of: configuration(proxy, ["kCFProxyUsernameKey": "alice", "kCFProxyPasswordKey": "secret"]))
      let url = try #require(URL(string: "\(scheme)://127.0.0.1:\(target.port)/?room=1"))
      let error = await #expect(throws: URLError.self) { _ = try await WebSocket.connect(to: url, options: options) }
      #expect(error?.code == .cannotConnectToHost)
      #expect(error?.failingURL == url)
      #expect(target.acceptedConnections == 0)
      #expect(proxy.requests.map(\.method) == ["CONNECT"])
      let basic = "Basic \(Data("alice:secret".utf8).base64EncodedString())"
      #expect(proxy.requests.first?.headers["Proxy-Authorization"] == basic)
      // A host in the dictionary's exceptions is reached directly.
      if scheme == "ws" {
        options.useProxies(of: configuration(proxy, ["ExceptionsList": ["127.0.0.1"]]))
        let socket = try await WebSocket.connect(to: url, options: options)
        try await socket.close()
        #expect(proxy.requestCount == 1)
      }
      for server in [proxy, target] { server.stop() }
    }

    @Test("A subscription goes through the proxy of its manager's session", arguments: Wire.allCases)
    func proxyOfSubscription(wire: Wire) async throws {
      let proxy = try LoopbackServer()
      let target = try LoopbackServer()
      proxy.fallback = { _ in .status(403) }
      let manager = wire.manager(target) {
        $0.connectionProxyDictionary = configuration(proxy).connectionProxyDictionary
      }
      let client = PrismGraphQLClient(endpointURL: target.url("/graphql"), manager: manager)
      await #expect(throws: PrismNetworkError.noConnectivity) {
        for try await _ in client.subscribe(PrismGraphQLQuery(query: "subscription { a }"), as: Int.self) {}
      }
      #expect(target.acceptedConnections == 0)
      #expect(proxy.requests.map(\.method) == ["CONNECT"])
      for server in [proxy, target] { server.stop() }
    }

    @Test("TLS options and proxies are set as required libcurl options")
    func libcurlOptions() throws {
      let file = URL(fileURLWithPath: "/a.pem")
      let client = TLSOptions.ClientCertificate(certificateFile: file, keyFile: file, keyPassword: "p")
      let tls = TLSOptions(certificateAuthorityFile: file, pinnedPublicKeys: ["a"], clientCertificate: client)
      let secured = tls.curlOptions.map(\.option)
      #expect(Set(secured) == [.cainfo, .pinnedpublickey, .sslcert, .sslkey, .keypasswd])
      // Without a password OpenSSL would prompt for one.
      let plain = TLSOptions(clientCertificate: .init(certificateFile: file, keyFile: file))
      #expect(plain.curlOptions.last { $0.option == .keypasswd }?.value.isEmpty == true)
      let proxies = SessionProxies(try #require(configurationWithSOCKS().connectionProxyDictionary))
      let server = try (proxies as SessionProxies?).server(for: "h", isSecure: true)
      #expect(server?.user != nil && server?.password != nil && server?.forwards(isSecure: false) == false)
      let required = (secured + [.proxy, .noproxy, .proxyusername, .proxypassword]).filter(\.isRequired)
      #expect(required.count == 9)
    }

    private func configurationWithSOCKS() -> URLSessionConfiguration {
      let configuration = URLSessionConfiguration.ephemeral
      configuration.connectionProxyDictionary = [
        "SOCKSEnable": 1, "SOCKSProxy": "127.0.0.1", "kCFProxyUsernameKey": "a", "kCFProxyPasswordKey": "b",
      ]
      return configuration
    }
  }
#endif
