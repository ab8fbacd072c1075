#if os(Linux)
  import CCurl
  import Foundation
  import FoundationNetworking
  import LoopbackServer
  import Testing

  @testable import EKNetwork

  @Suite("WebSockets, TLS options and proxies", .timeLimit(.minutes(10)))
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

    @Test("The session's proxies are asked for a tunnel, and nothing goes past them", arguments: ["ws", "wss"])
    func proxies(scheme: String) async throws {
      let proxy = try LoopbackServer()
      let target = try LoopbackServer()
      proxy.fallback = { _ in .status(403) }
      target.route("/") { .webSocketEcho($0) }
      var options = WebSocketOptions()
      options.useProxies(
        of: configuration(proxy, ["kCFProxyUsernameKey": "alice", "kCFProxyPasswordKey": "secret"]))
      let url = try #require(URL(string: "\(scheme)://127.0.0.1:\(target.port)/"))
      let error = await #expect(throws: URLError.self) { _ = try await WebSocket.connect(to: url, options: options) }
      #expect(error?.code == .cannotConnectToHost)
      #expect(target.acceptedConnections == 0)
      #expect(proxy.requests.map(\.method) == ["CONNECT"])
      let basic = "Basic \(Data("alice:secret".utf8).base64EncodedString())"
      #expect(proxy.requests.first?.headers["Proxy-Authorization"] == basic)
      // An exception of the dictionary's is reached directly.
      if scheme == "ws" {
        options.useProxies(of: configuration(proxy, ["ExceptionsList": ["127.0.0.1"]]))
        let socket = try await WebSocket.connect(to: url, options: options)
        try await socket.close()
        #expect(proxy.requestCount == 1)
      }
      for server in [proxy, target] { server.stop() }
    }

    private func refused(_ option: Int, _ change: (inout WebSocketOptions) -> Void) -> URLError.Code? {
      var options = WebSocketOptions()
      change(&options)
      let address = TransportAddress(host: "::1", port: 443, isSecure: true, options: options)
      return address.refusedOption { name, _ in name != option }?.code
    }

    @Test("What libcurl does not take fails the connection")
    func refusals() {
      let proxied = configurationWithSOCKS()
      #expect(
        refused(EKN_OPT_PINNEDPUBLICKEY) { $0.tls = TLSOptions(pinnedPublicKeys: ["a"]) } == .secureConnectionFailed)
      let file = URL(fileURLWithPath: "/a.pem")
      #expect(
        refused(EKN_OPT_CAINFO) { $0.tls = TLSOptions(certificateAuthorityFile: file) } == .secureConnectionFailed)
      let client = TLSOptions.ClientCertificate(certificateFile: file, keyFile: file, keyPassword: "p")
      for option in [EKN_OPT_SSLCERT, EKN_OPT_SSLKEY, EKN_OPT_KEYPASSWD] {
        #expect(refused(option) { $0.tls = TLSOptions(clientCertificate: client) } == .secureConnectionFailed)
      }
      for option in [EKN_OPT_PROXY, EKN_OPT_NOPROXY, EKN_OPT_PROXYUSERNAME, EKN_OPT_PROXYPASSWORD] {
        #expect(refused(option) { $0.useProxies(of: proxied) } == .cannotConnectToHost)
      }
      #expect(refused(EKN_OPT_PROXY) { _ in } == nil)
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
