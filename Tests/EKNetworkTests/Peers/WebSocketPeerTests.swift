#if os(Linux)
  import Foundation
  import Testing

  @testable import EKNetwork

  /// Third-party servers: Python's `websockets` and `aiohttp`, over TCP and TLS.
  @Suite("WebSocket peers", .serialized, .timeLimit(.minutes(10)), .enabled(if: PeerProcess.python != nil))
  struct WebSocketPeerTests {
    private let peer: PeerProcess

    init() throws { peer = try PeerProcess.shared("sockets.py") }

    static let servers = ["websockets", "aiohttp", "websockets-tls", "aiohttp-tls"]

    private func url(_ server: String, _ path: String = "/") throws -> URL {
      try peer.url(server, scheme: server.hasSuffix("-tls") ? "wss" : "ws", path: path)
    }

    private func options(_ change: (inout WebSocketOptions) -> Void = { _ in }) -> WebSocketOptions {
      var options = WebSocketOptions()
      options.tls = TLSOptions(certificateAuthorityFile: peer.authority)
      // Long enough for a busy machine.
      options.connectTimeout = .seconds(300)
      options.closeTimeout = .seconds(300)
      change(&options)
      return options
    }

    private func connect(
      _ server: String, _ path: String = "/", _ change: (inout WebSocketOptions) -> Void = { _ in }
    ) async throws -> WebSocket {
      try await WebSocket.connect(to: url(server, path), protocols: ["v0", "v1"], options: options(change))
    }

    @Test(
      "Authorities, pins and client certificates apply to a WebSocket", arguments: ["websockets-tls", "aiohttp-tls"])
    func security(_ server: String) async throws {
      let command =
        "openssl x509 -pubkey -noout -in '\(peer.file("good.pem").path)' | openssl pkey -pubin -outform der"
        + " | openssl dgst -sha256 -binary | base64"
      let pin = String(decoding: try ChildProcess("/bin/sh", ["-c", command]).run(), as: UTF8.self)
        .trimmingCharacters(in: .whitespacesAndNewlines)
      let other = Data(repeating: 1, count: 32).base64EncodedString()
      func code(_ tls: TLSOptions?) async throws -> URLError.Code? {
        do {
          let socket = try await connect(server) { $0.tls = tls }
          try await socket.ping()
          try await socket.close()
          return nil
        } catch let error as URLError {
          return error.code
        }
      }
      let authority = peer.authority
      #expect(try await code(nil) == .serverCertificateHasUnknownRoot)
      #expect(try await code(TLSOptions(certificateAuthorityFile: authority)) == nil)
      #expect(try await code(TLSOptions(certificateAuthorityFile: authority, pinnedPublicKeys: [other, pin])) == nil)
      #expect(
        try await code(TLSOptions(certificateAuthorityFile: authority, pinnedPublicKeys: [other]))
          == .serverCertificateUntrusted)
      let client = TLSOptions.ClientCertificate(
        certificateFile: peer.file("client.pem"), keyFile: peer.file("missing.key"))
      #expect(
        try await code(TLSOptions(certificateAuthorityFile: authority, clientCertificate: client))
          == .clientCertificateRejected)
    }

    /// The peer does not speak GraphQL: the handshake alone shows whom the client trusts.
    @Test("A subscription trusts the servers that its manager trusts", arguments: [false, true])
    func subscription(overridesOptions: Bool) async throws {
      let url = try peer.url("websockets-tls")
      let other = Data(repeating: 1, count: 32).base64EncodedString()
      let authority = TLSOptions(certificateAuthorityFile: peer.authority)
      let pinned = TLSOptions(certificateAuthorityFile: peer.authority, pinnedPublicKeys: [other])
      func cause(_ tls: TLSOptions?, streamsWithMock: Bool = false) async throws -> URLError.Code? {
        let manager = NetworkManager(
          baseURL: url, session: URLSession(configuration: .ephemeral),
          streamingSession: streamsWithMock ? StubSession() : nil, transport: tls.map { .secured(by: $0) } ?? .automatic
        )
        var options = PrismGraphQLOptions()
        options.accessToken = { "secret" }
        if overridesOptions { options.webSocket.tls = authority }
        let client = PrismGraphQLClient(endpointURL: url, manager: manager, options: options)
        do {
          try await PrismNetworkFailure.detailed {
            for try await _ in client.subscribe(PrismGraphQLQuery(query: "subscription { a }"), as: Int.self) {}
          }
          return nil
        } catch let failure as PrismNetworkFailure {
          return (failure.underlyingError as? URLError)?.code
        } catch is PrismGraphQLSubscriptionError {
          return nil
        }
      }
      #expect(try await cause(nil) == (overridesOptions ? nil : .serverCertificateHasUnknownRoot))
      #expect(try await cause(authority) == nil)
      for mock in [false, true] {
        #expect(
          try await cause(pinned, streamsWithMock: mock) == (overridesOptions ? nil : .serverCertificateUntrusted))
      }
    }

    @Test("Text and binary messages are echoed, compressed and not", arguments: servers + ["plain"], [true, false])
    func echo(_ server: String, isCompressed: Bool) async throws {
      let socket = try await connect(server) { if !isCompressed { $0.compression = nil } }
      #expect(socket.subprotocol == "v1")
      #expect(socket.isCompressed == (isCompressed && server != "plain"))
      for size in [0, 1, 125, 126, 65_535, 65_536, 200_000] {
        let text = String(repeating: "ü", count: size / 2) + String(repeating: "x", count: size % 2)
        try await socket.send(text)
        #expect(try await socket.receive() == .text(text))
        let data = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
        try await socket.send(data)
        #expect(try await socket.receive() == .binary(data))
      }
      try await socket.ping()
      try await socket.close(reason: "done")
      #expect(socket.closeCode == .normalClosure)
      #expect(try await socket.receive() == nil)
    }

    @Test(
      "Messages are echoed with the requested context takeover and window sizes", arguments: ["websockets", "aiohttp"],
      [
        WebSocketCompression(clientContextTakeover: false), WebSocketCompression(serverContextTakeover: false),
        WebSocketCompression(clientMaxWindowBits: 9, serverMaxWindowBits: 9),
        WebSocketCompression(
          clientContextTakeover: false, serverContextTakeover: false, clientMaxWindowBits: 12, serverMaxWindowBits: 10),
      ])
    func compressions(_ server: String, _ compression: WebSocketCompression) async throws {
      let socket = try await connect(server) { $0.compression = compression }
      #expect(socket.isCompressed)
      for index in 0..<50 {
        let text = (0..<2000).map { "\($0 * index) tea" }.joined(separator: ", ")
        try await socket.send(text)
        #expect(try await socket.receive() == .text(text))
      }
      try await socket.close()
    }

    @Test("A message of 64 MiB is echoed", arguments: servers)
    func largeMessage(_ server: String) async throws {
      let socket = try await connect(server) { if server != "websockets-tls" { $0.compression = nil } }
      let data = Data(repeating: 0x2A, count: 64 << 20)
      async let echoed = socket.receive()
      try await socket.send(data)
      #expect(try await echoed == .binary(data))
      try await socket.close()
      #expect(socket.closeCode == .normalClosure)
    }

    @Test("10,000 small messages are sent each way concurrently", arguments: servers)
    func manyMessages(_ server: String) async throws {
      let socket = try await connect(server, "/both")
      async let sending: Void = { for index in 0..<10_000 { try await socket.send("up \(index)") } }()
      for index in 0..<10_000 {
        let message = try await socket.receive()
        guard message == .text("down \(index)") else {
          Issue.record("\(index) came as \(String(describing: message))")
          break
        }
      }
      try await sending
      #expect(try await socket.receive() == .text("10000"))
      try await socket.close()
    }

    @Test("A killed connection is reported as lost", arguments: servers)
    func kill(_ server: String) async throws {
      let socket = try await connect(server, "/kill")
      try await socket.send("x")
      await #expect {
        try await socket.receive()
      } throws: {
        if case .connectionLost = $0 as? WebSocketError { true } else { false }
      }
      #expect(socket.closeCode == .abnormalClosure)
    }

    @Test("Keep-alive pings detect a peer that reads nothing", arguments: servers)
    func halfOpen(_ server: String) async throws {
      let socket = try await connect(server, "/deaf") { $0.keepAliveInterval = .milliseconds(100) }
      await #expect(throws: WebSocketError.timedOut) { try await socket.receive() }
    }

    @Test("A private close code is an error with its reason", arguments: servers)
    func closeCode(_ server: String) async throws {
      let socket = try await connect(server, "/close")
      await #expect(throws: WebSocketError.closed(code: WebSocketCloseCode(rawValue: 4321), reason: "enough")) {
        try await socket.receive()
      }
    }

    @Test("A refusal is an error with its status; a redirect is not followed", arguments: servers, [301, 401, 404])
    func refusals(_ server: String, status: Int) async throws {
      await #expect {
        _ = try await connect(server, "/\(status)")
      } throws: {
        if case .refused(let code, _) = $0 as? WebSocketError { code == status } else { false }
      }
    }

    @Test("An unanswered handshake times out, in TLS too", arguments: ["mute", "mute-tls"])
    func muteServer(_ server: String) async throws {
      await #expect(throws: WebSocketError.timedOut) {
        _ = try await connect(server) { $0.connectTimeout = .milliseconds(500) }
      }
      // TLS with a peer that does not speak it.
      await #expect(throws: WebSocketError.timedOut) {
        let url = try peer.url("mute", scheme: "wss")
        _ = try await WebSocket.connect(to: url, options: options { $0.connectTimeout = .milliseconds(500) })
      }
    }

    @Test("Garbage in place of a handshake is an error", arguments: ["garbage", "garbage-tls"])
    func garbage(_ server: String) async throws {
      await #expect {
        _ = try await connect(server)
      } throws: {
        if case .invalidHandshake = $0 as? WebSocketError { true } else { false }
      }
    }

    @Test("An untrusted certificate and a server without TLS are refused")
    func untrusted() async throws {
      let url = try url("websockets-tls")
      let error = await #expect(throws: URLError.self) { _ = try await WebSocket.connect(to: url) }
      #expect(error?.code == .serverCertificateHasUnknownRoot)
      let plain = try peer.url("websockets", scheme: "wss")
      await #expect(throws: URLError.self) { _ = try await WebSocket.connect(to: plain, options: options()) }
    }

    @Test("A reconnecting WebSocket survives killed connections", arguments: ["websockets", "aiohttp-tls"])
    func reconnecting(_ server: String) async throws {
      let (killing, echoing) = (try url(server, "/kill"), try url(server))
      let attempts = Locked(0)
      let policy = WebSocketReconnectPolicy(initialDelay: .milliseconds(1))
      let socket = ReconnectingWebSocket(protocols: ["v1"], options: options(), reconnect: policy) {
        let number = attempts.withLock { attempts in
          attempts += 1
          return attempts
        }
        return URLRequest(url: number < 4 ? killing : echoing)
      }
      var iterator = socket.events.makeAsyncIterator()
      for _ in 0..<3 {
        while case let event? = await iterator.next() { if case .connected = event { break } }
        try await socket.send("lost")
      }
      while case let event? = await iterator.next() { if case .connected = event { break } }
      try await socket.send("found")
      #expect(try await socket.receive() == .text("found"))
      try await socket.close()
    }
  }
#endif
