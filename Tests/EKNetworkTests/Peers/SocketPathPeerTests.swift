#if os(Linux)
  import Foundation
  import FoundationNetworking
  import Testing

  @testable import EKNetwork

  /// aiohttp on Unix domain sockets.
  @Suite("Unix domain sockets", .serialized, .timeLimit(.minutes(5)), .enabled(if: PeerProcess.python != nil))
  struct SocketPathPeerTests {
    private let peer: PeerProcess

    init() throws { peer = try PeerProcess.shared("unix.py") }

    private func options(_ name: String, _ version: ConnectionOptions.HTTPVersion = .automatic) -> ConnectionOptions {
      let path = name == "@" ? "@" + peer.file("").path : peer.file(name).path
      return ConnectionOptions(
        tls: TLSOptions(certificateAuthorityFile: peer.authority), httpVersion: version, socketPath: path)
    }

    private func client(
      _ name: String, host: String = "localhost", _ version: ConnectionOptions.HTTPVersion = .automatic,
      timings: Locked<[NetworkTimings]> = Locked([]), _ change: (URLSessionConfiguration) -> Void = { _ in }
    ) throws -> NetworkManager {
      let configuration = URLSessionConfiguration.ephemeral
      change(configuration)
      let scheme = name == "tls.sock" ? "https" : "http"
      let manager = NetworkManager(
        baseURL: try #require(URL(string: "\(scheme)://\(host)")), session: URLSession(configuration: configuration),
        transport: .connecting(with: options(name, version)))
      manager.eventHandler = { event in
        guard case .finished(_, _, let measured) = event.kind else { return }
        timings.withLock { $0.append(measured) }
      }
      return manager
    }

    private func seen(by manager: NetworkManager, _ path: String = "/seen", token: String? = nil) async throws
      -> [String]
    {
      try await manager.send(Probe<[String]>(path: path), accessToken: token.map { token in { token } })
    }

    @Test(
      "Requests go to the socket, over one connection", arguments: ["server.sock", "tls.sock", "@"],
      [ConnectionOptions.HTTPVersion.automatic, .http1])
    func requests(name: String, version: ConnectionOptions.HTTPVersion) async throws {
      let timings = Locked<[NetworkTimings]>([])
      let manager = try client(name, version, timings: timings)
      for _ in 0..<3 { #expect(try await seen(by: manager) == ["GET", "localhost", ""]) }
      let measured = timings.withLock { $0 }
      #expect(measured.map(\.isConnectionReused) == [false, true, true])
      #expect(measured.allSatisfy { $0.remoteAddress == nil })
    }

    @Test("Large bodies pass in both directions, a hundred at once", arguments: ["server.sock", "tls.sock"])
    func bodies(name: String) async throws {
      let manager = try client(name)
      try await withThrowingTaskGroup(of: Bool.self) { group in
        for number in 0..<100 {
          group.addTask {
            var request = Probe<Data>(path: "/echo", method: .post)
            let sent = Data.noise(100_000 + number)
            request.body = RequestBody(data: sent, contentType: "a/b")
            return try await manager.send(request) == sent
          }
        }
        for try await isSame in group { #expect(isSame) }
      }
    }

    @Test("The host is only sent to the server: it is not looked up, and no proxy is asked")
    func host() async throws {
      let manager = try client("server.sock", host: "nowhere.invalid:8080") { configuration in
        configuration.connectionProxyDictionary = ["HTTPEnable": 1, "HTTPProxy": "127.0.0.1", "HTTPPort": 1]
      }
      #expect(try await seen(by: manager) == ["GET", "nowhere.invalid:8080", ""])
    }

    @Test("A redirect to another host stays on the socket, without credentials")
    func redirect() async throws {
      let manager = try client("server.sock")
      #expect(try await seen(by: manager, token: "secret") == ["GET", "localhost", "Bearer secret"])
      #expect(try await seen(by: manager, "/redirect", token: "secret") == ["GET", "elsewhere.invalid", ""])
    }

    private struct Whole: NetworkRequest {
      typealias Response = [String]
      let path = ""
      let method = HTTPMethod.get
      let targetURL: URL?
    }

    /// Returns a manager whose base URL names a socket.
    private func client(of name: String) throws -> NetworkManager {
      let path = name == "@" ? "@" + peer.file("").path : peer.file(name).path
      let host = try #require(path.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
      return NetworkManager(
        baseURL: try #require(URL(string: "http+unix://\(host)")), session: URLSession(configuration: .ephemeral),
        transport: .secured(by: TLSOptions(certificateAuthorityFile: peer.authority)))
    }

    @Test("A URL names the socket", arguments: ["server.sock", "@"])
    func socketURL(name: String) async throws {
      let timings = Locked<[NetworkTimings]>([])
      let manager = try client(of: name)
      manager.eventHandler = { event in
        guard case .finished(_, _, let measured) = event.kind else { return }
        timings.withLock { $0.append(measured) }
      }
      for _ in 0..<3 {
        #expect(try await seen(by: manager, token: "secret") == ["GET", "localhost", "Bearer secret"])
      }
      #expect(timings.withLock { $0.map(\.isConnectionReused) } == [false, true, true])
      var post = Probe<Data>(path: "/echo", method: .post)
      post.body = RequestBody(data: Data.noise(300_000), contentType: "a/b")
      #expect(try await manager.send(post).count == 300_000)
      let url = URL(string: "/seen?a=b", relativeTo: manager.baseURL())?.absoluteURL
      #expect(try await manager.send(Whole(targetURL: url)) == ["GET", "localhost", ""])
    }

    @Test("A WebSocket goes to the socket", arguments: ["server.sock", "tls.sock"])
    func webSocket(name: String) async throws {
      var options = WebSocketOptions()
      options.socketPath = peer.file(name).path
      options.tls = TLSOptions(certificateAuthorityFile: peer.authority)
      let url = try #require(URL(string: name == "tls.sock" ? "wss://localhost/socket" : "ws://nowhere.invalid/socket"))
      let socket = try await WebSocket.connect(to: url, options: options)
      try await socket.send(.text("hello"))
      #expect(try await socket.receive() == .text("hello"))
      try await socket.close()
    }

    @Test("A socket that is not there, or that nobody listens to, is a connection that cannot be made")
    func dead() async throws {
      for name in ["dead.sock", "missing.sock", "ca.pem"] {
        let error = await #expect(throws: URLError.self) { try await seen(by: client(name)) }
        #expect(error?.code == .cannotConnectToHost, "\(name)")
      }
    }

    @Test(
      "A server that speaks HTTP/1.1 is an error if HTTP/2 is required",
      .enabled(if: CurlLibrary.capabilities?.opensHTTP2 == true), arguments: ["server.sock", "tls.sock"])
    func otherVersion(name: String) async throws {
      let transport = TransportSelection.transport(
        for: URLSession(configuration: .ephemeral), choice: .connecting(with: options(name, .http2)))
      let url = try #require(URL(string: "\(name == "tls.sock" ? "https" : "http")://localhost/seen"))
      let error = await #expect(throws: URLError.self) {
        try await transport.fetch(TransportRequest(URLRequest(url: url)))
      }
      // Without TLS, aiohttp may reset the connection before its answer is read.
      let isLost = name == "server.sock" && error?.code == .networkConnectionLost
      #expect(error?.code == .badServerResponse || isLost, "\(String(describing: error))")
    }
  }
#endif
