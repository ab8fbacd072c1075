#if os(Linux)
  import Foundation
  import FoundationNetworking
  import LoopbackServer
  import Testing

  @testable import EKNetwork

  /// Handshakes with a third-party server (Python's `ssl`) that the system does not trust.
  @Suite("TLS peers", .serialized, .timeLimit(.minutes(10)), .enabled(if: PeerProcess.python != nil))
  struct TLSPeerTests {
    private let peer: PeerProcess
    private let transport: any Transport

    init() throws {
      peer = try PeerProcess.shared("tls.py")
      transport = TransportSelection.transport(for: URLSession(configuration: .ephemeral))
    }

    private func code(_ url: URL) async throws -> URLError.Code? {
      do {
        _ = try await transport.fetch(TransportRequest(URLRequest(url: url)))
        Issue.record("An answer came from \(url)")
        return nil
      } catch let error as URLError {
        #expect(error.userInfo[NSURLErrorFailingURLErrorKey] as? URL == url)
        return error.code
      }
    }

    @Test(
      "An untrusted certificate is a typed error",
      arguments: [
        ("good", URLError.Code.serverCertificateHasUnknownRoot),
        ("unknown-root", .serverCertificateHasUnknownRoot),
        ("self-signed", .serverCertificateUntrusted),
      ])
    func untrusted(name: String, expected: URLError.Code) async throws {
      #expect(try await code(peer.url(name)) == expected)
    }

    /// The server says that it closes the connection, and waits for the client to say so (RFC 8446 §6.1).
    @Test(
      "A complete response, and the end of TLS after it, end an upload whose body has nothing to send",
      arguments: [0, 1])
    func endOfTLSWhileTheBodyIsPending(pieces: Int) async throws {
      let (stream, input) = AsyncStream<Data>.makeStream()
      defer { input.finish() }
      for _ in 0..<pieces { input.yield(Data(count: 100)) }
      let url = try peer.url("good")
      let manager = NetworkManager(
        baseURL: { url }, transport: .secured(by: TLSOptions(certificateAuthorityFile: peer.authority)))
      var probe = Probe<StatusCodeResponse>(path: "/", method: .post)
      probe.body = RequestBody(sequence: stream, contentType: "a/b")
      #expect(try await manager.send(probe).statusCode == 200)
    }

    @Test(
      "A connection that is lost during the handshake is told apart from a server that does not speak TLS",
      arguments: [
        ("cut", URLError.Code.networkConnectionLost), ("reset", .networkConnectionLost),
        ("plain", .secureConnectionFailed),
      ])
    func brokenHandshake(name: String, expected: URLError.Code) async throws {
      #expect(try await code(peer.url(name)) == expected)
      let error = try await #require(throws: URLError.self) {
        try await WebSocket.connect(to: peer.url(name, scheme: "wss"))
      }
      #expect(error.code == expected)
    }

    /// What forwards connections accepts them while the server behind it restarts.
    @Test("A request is retried if the connection is lost during the handshake")
    func restartingServer() async throws {
      let peer = try PeerProcess("tls.py")
      defer { withExtendedLifetime(peer) {} }
      let url = try peer.url("restarting")
      let manager = NetworkManager(
        baseURL: { url }, transport: .secured(by: TLSOptions(certificateAuthorityFile: peer.authority)))
      let response = try await manager.send(
        Probe<Data>(path: "/", retryPolicy: RetryPolicy(maxRetryCount: 2, delay: 0)))
      #expect(String(decoding: response, as: UTF8.self).hasPrefix("GET / "))
    }

    @Test("A POST of an adapter is retried if the connection is lost during the handshake: nothing was sent")
    func restartingServerOfAnAdapter() async throws {
      let peer = try PeerProcess("tls.py")
      defer { withExtendedLifetime(peer) {} }
      let adapter = PrismNetworkAdapter.forTests(
        retryPolicy: PrismLinearRetry(fixedDelay: .zero, maxAttempts: 2),
        transport: .secured(by: TLSOptions(certificateAuthorityFile: peer.authority)))
      var endpoint = LocalEndpoint(port: try peer.url("restarting").port)
      (endpoint.scheme, endpoint.method) = (.https, .post)
      let response = try await adapter.request(on: LocalRequest<Data>(endpoint))
      #expect(String(decoding: response, as: UTF8.self).hasPrefix("POST /item "))
    }

    private func secured(_ options: (inout TLSOptions) -> Void = { _ in }) -> any Transport {
      var tls = TLSOptions(certificateAuthorityFile: peer.authority)
      options(&tls)
      return TransportSelection.transport(for: URLSession(configuration: .ephemeral), choice: .secured(by: tls))
    }

    private func text(_ transport: any Transport, _ url: URL) async throws -> String {
      String(decoding: try await transport.fetch(TransportRequest(URLRequest(url: url))).data, as: UTF8.self)
    }

    private func code(_ transport: any Transport, _ name: String) async throws -> URLError.Code? {
      do {
        _ = try await text(transport, peer.url(name))
        return nil
      } catch let error as URLError {
        return error.code
      }
    }

    @Test("A custom authority is trusted in place of the system's, with its own options only")
    func authority() async throws {
      #expect(try await text(secured(), peer.url("good")) == "ok")
      // The open connection belongs to those options alone.
      #expect(try await code(transport, "good") == .serverCertificateHasUnknownRoot)
    }

    @Test(
      "An invalid certificate is refused with a custom authority, too",
      arguments: [
        ("expired", URLError.Code.serverCertificateHasBadDate), ("not-yet", .serverCertificateNotYetValid),
        ("wrong-host", .serverCertificateHasUnknownRoot), ("unknown-root", .serverCertificateHasUnknownRoot),
        ("self-signed", .serverCertificateUntrusted),
      ])
    func stillVerified(name: String, expected: URLError.Code) async throws {
      let code = try await code(secured(), name)
      // Foundation has no separate code for a certificate that names another host.
      #expect(name == "wrong-host" ? code == .serverCertificateUntrusted : code == expected)
    }

    @Test("Only a pinned key is accepted")
    func pins() async throws {
      let command =
        "openssl x509 -pubkey -noout -in '\(peer.file("good.pem").path)' | openssl pkey -pubin -outform der"
        + " | openssl dgst -sha256 -binary | base64"
      let pin = String(decoding: try ChildProcess("/bin/sh", ["-c", command]).run(), as: UTF8.self)
        .trimmingCharacters(in: .whitespacesAndNewlines)
      let other = Data(repeating: 1, count: 32).base64EncodedString()
      #expect(try await text(secured { $0.pinnedPublicKeys = [other, pin] }, peer.url("good")) == "ok")
      #expect(try await code(secured { $0.pinnedPublicKeys = [other] }, "good") == .serverCertificateUntrusted)
    }

    /// Of the right length, but not Base64; of another hash; of another scheme.
    @Test(
      "A pin that is no hash fails the request before it is sent, and says which one it is",
      arguments: [
        "garbage;", "", "2jmj7l5rSw0yVb/vlWAYkK/YBwk=", "sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
      ])
    func malformedPins(pin: String) async throws {
      var options = TLSOptions(certificateAuthorityFile: peer.authority)
      options.pinnedPublicKeys = [Data(repeating: 1, count: 32).base64EncodedString(), pin]
      // Nothing listens there, and nothing is asked.
      let url = try #require(URL(string: "https://localhost:1"))
      let manager = NetworkManager(baseURL: { url }, transport: .secured(by: options))
      let error = await #expect(throws: URLError.self) { try await manager.send(Probe<Data>(path: "/")) }
      #expect(error?.code == .serverCertificateUntrusted)
      #expect(error?.localizedDescription.contains(pin.debugDescription) == true)
      var socket = WebSocketOptions()
      socket.tls = options
      let refusal = await #expect(throws: URLError.self) {
        try await WebSocket.connect(to: peer.url("good", scheme: "wss"), options: socket)
      }
      #expect(refusal?.code == .serverCertificateUntrusted)
    }

    @Test(
      "A server that speaks only older versions of TLS is refused",
      arguments: [
        ("good", .tls12, nil), ("good", .tls13, nil), ("1.2-with-alert", .tls12, nil), ("1.2-with-alert", nil, nil),
        ("1.2-with-alert", .tls13, .secureConnectionFailed), ("old-with-alert", nil, .secureConnectionFailed),
        ("old-with-alert", .tls12, .secureConnectionFailed), ("old-with-alert", .tls13, .secureConnectionFailed),
      ] as [(String, TLSOptions.Version?, URLError.Code?)])
    func minimumVersion(name: String, minimum: TLSOptions.Version?, expected: URLError.Code?) async throws {
      let transport = secured { $0.minimumVersion = minimum }
      do {
        _ = try await text(transport, peer.url(name))
        #expect(expected == nil)
      } catch let error as URLError {
        #expect(error.code == expected, "\(error.localizedDescription)")
      }
      guard let expected else { return }
      var socket = WebSocketOptions()
      socket.tls = TLSOptions(certificateAuthorityFile: peer.authority, minimumVersion: minimum)
      let error = await #expect(throws: URLError.self) {
        try await WebSocket.connect(to: peer.url(name, scheme: "wss"), options: socket)
      }
      #expect(error?.code == expected)
    }

    @Test("A server that requires a client certificate accepts only requests with one")
    func clientCertificate() async throws {
      let client = TLSOptions.ClientCertificate(
        certificateFile: peer.file("client.pem"), keyFile: peer.file("client.key"))
      #expect(try await text(secured { $0.clientCertificate = client }, peer.url("client-required")) == "ok")
      #expect(try await code(secured(), "client-required") != nil)
      var broken = client
      broken.keyFile = peer.file("missing.key")
      let code = try await code(secured { $0.clientCertificate = broken }, "client-required")
      #expect(code == .clientCertificateRejected)
    }

    /// The certificate proves who the client is to the origin that it is meant for, like every credential.
    @Test(
      "Another origin, to which a redirect or middleware leads, is presented no client certificate",
      arguments: [
        ("client-optional", ["client-optional"], true),
        ("client-optional", ["client-optional", "client-optional"], true),
        ("echo", ["echo", "client-optional"], false),
        ("client-optional", ["client-optional", "echo", "client-optional"], false),
        ("echo", ["client-optional"], false),
      ])
    func clientCertificateBelongsToItsOrigin(base: String, hops: [String], isPresented: Bool) async throws {
      let client = TLSOptions.ClientCertificate(
        certificateFile: peer.file("client.pem"), keyFile: peer.file("client.key"))
      let tls = TLSOptions(certificateAuthorityFile: peer.authority, clientCertificate: client)
      var url = try peer.url(hops.last ?? "")
      for name in hops.dropLast().reversed() {
        let target = url.absoluteString.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        url = try peer.url(name, path: "/to/\(target)")
      }
      let start = url
      let baseURL = try peer.url(base)
      let manager = NetworkManager(
        baseURL: { baseURL }, session: URLSession(configuration: .ephemeral), transport: .secured(by: tls))
      manager.middleware = [Redirection(url: start)]
      let text = String(decoding: try await manager.send(Probe<Data>(path: "/")), as: UTF8.self)
      #expect(text == (isPresented ? "EKNetwork test client" : "nobody"))
    }

    /// Sends each request to another URL.
    private struct Redirection: NetworkMiddleware {
      let url: URL

      func intercept(
        _ request: URLRequest, context: NetworkMiddlewareContext, next: NetworkMiddlewareNext
      ) async throws -> NetworkMiddlewareResponse {
        var request = request
        request.url = url
        return try await next(request)
      }
    }

    @Test(
      "A stored response is not used for clients that do not trust its server",
      arguments: ["", "/public"], [false, true])
    func trustSeparatesStoredResponses(path: String, hasPin: Bool) async throws {
      let cache = HTTPCache()
      let url = try peer.url("client-optional", path: path)
      let right = CachingTransport(wire: secured(), cache: cache)
      #expect(try await text(right, url) == "nobody")
      let pin = Data(repeating: 1, count: 32).base64EncodedString()
      let other = CachingTransport(wire: hasPin ? secured { $0.pinnedPublicKeys = [pin] } : transport, cache: cache)
      let error = await #expect(throws: URLError.self) { try await text(other, url) }
      #expect(error?.code == (hasPin ? .serverCertificateUntrusted : .serverCertificateHasUnknownRoot))
      // Other options, but the same trust.
      _ = try await text(CachingTransport(wire: secured(), cache: cache), url)
      #expect(cache.statistics.hits == 1)
    }

    /// A certificate is renewed, or another user's is written to the same path.
    @Test("A replaced client certificate identifies the next request, on a connection and in a cache of its own")
    func replacedClientCertificate() async throws {
      let folder = try ScratchFolder()
      func write(_ name: String) throws {
        for type in ["pem", "key"] {
          try Data(contentsOf: peer.file("\(name).\(type)")).write(to: folder[type], options: .atomic)
        }
      }
      try write("client")
      let transport = secured {
        $0.clientCertificate = .init(certificateFile: folder["pem"], keyFile: folder["key"])
      }
      let cached = CachingTransport(wire: transport, cache: HTTPCache())
      for _ in 0..<2 {
        for name in ["client", "other-client"] {
          try write(name)
          for transport in [transport, cached] {
            #expect(try await text(transport, peer.url("client-name")) == "EKNetwork test \(name)")
          }
        }
      }
    }

    /// From 7.87 on libcurl caches the file for a day.
    @Test("A replaced authority file is read again, and its previous authorities are no longer trusted")
    func replacedAuthorities() async throws {
      let folder = try ScratchFolder()
      let right = try Data(contentsOf: peer.file("ca.pem"))
      let wrong = try Data(contentsOf: peer.file("unknown-root.pem"))
      let file = try folder.file("authorities.pem", wrong)
      let transport = secured { $0.certificateAuthorityFile = file }
      for _ in 0..<2 {
        #expect(try await code(transport, "good") == .serverCertificateHasUnknownRoot)
        try right.write(to: file, options: .atomic)
        #expect(try await text(transport, peer.url("good")) == "ok")
        try wrong.write(to: file, options: .atomic)
      }
      #expect(try await code(transport, "good") == .serverCertificateHasUnknownRoot)
    }

    @Test("A missing authority file fails the connection")
    func missingAuthorities() async throws {
      let transport = secured { $0.certificateAuthorityFile = peer.file("missing.pem") }
      #expect(try await code(transport, "good") == .secureConnectionFailed)
    }

    @Test("A server that speaks only TLS 1.0 is refused")
    func oldProtocol() async throws {
      try await expecting(.closedForAnOldProtocol) {
        let code = try await code(secured(), "old")
        #expect(code == .secureConnectionFailed)
      }
    }

    @Test("A server that claims HTTP/2 after negotiating HTTP/1.1 causes no mixed-up responses")
    func claimedVersion() async throws {
      let transport = secured()
      for round in 0..<10 {
        await withTaskGroup(of: Void.self) { group in
          for index in 0..<32 {
            let path = index % 8 == 3 ? "/claim" : "/\(round)-\(index)"
            group.addTask { [self] in
              do {
                #expect(try await text(transport, peer.url("claim", path: path)) == path)
              } catch {
                #expect(path == "/claim", "\(path): \(error)")
                #expect((error as? URLError)?.code == .badServerResponse)
              }
            }
          }
        }
      }
    }

    /// Nothing can be sent during the handshake, although the socket is writable.
    @Test("A handshake that a server begins and does not continue uses no processor time")
    func stalledRenegotiation() async throws {
      let port: UInt16 = UInt16(try #require(try peer.url("renegotiating").port))
      let authority: String = peer.authority.path
      await #expect(processExitsWith: .success) { [port = port as UInt16, authority = authority as String] in
        var options = WebSocketOptions()
        options.tls = TLSOptions(certificateAuthorityFile: URL(fileURLWithPath: authority))
        let address = try ByteTransportEndpoint(host: "127.0.0.1", port: Int(port), isSecure: true, options: options)
        let transport = try ByteTransports.make(address, options)
        try await transport.open()
        transport.send(Array("go\n".utf8), isLast: false) { _ in }
        var received: [UInt8] = []
        while !received.contains(UInt8(ascii: "\n")) {
          let bytes = try await transport.receive()
          try #require(!bytes.isEmpty)
          received += bytes
        }
        #expect(received == Array("ready\n".utf8))
        transport.send(Array("more\n".utf8), isLast: false) { _ in }
        // The loop does this after it has tried to send.
        _ = await transport.output()
        let before = clock()
        // Compared with a thread that is busy for as long, a loop that is, too, uses as much on a loaded machine as well.
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
          Thread.detachNewThread {
            var used = timespec()
            repeat {
              clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used)
            } while used.tv_sec == 0 && used.tv_nsec < 500_000_000
            continuation.resume()
          }
        }
        #expect(Double(clock() - before) / Double(CLOCKS_PER_SEC) - 0.5 < 0.25)
        transport.cancel()
        exit(0)
      }
    }

    /// `exit` cleans up the TLS library while the event loop still runs.
    @Test("The process can exit during transfers, and while connections are opened", arguments: [false, true])
    func exitInTheMidst(closes: Bool) async throws {
      let url: String = try peer.url("echo").absoluteString
      let authority: String = peer.authority.path
      for _ in 0..<10 {
        await #expect(processExitsWith: .exitCode(7)) {
          [url = url as String, authority = authority as String, closes = closes as Bool] in
          let tls = TLSOptions(certificateAuthorityFile: URL(fileURLWithPath: authority))
          let session = URLSession(configuration: .ephemeral)
          let transport = TransportSelection.transport(for: session, choice: .secured(by: tls))
          let count = Locked(0)
          let hasBegun = Gate()
          var urlRequest = URLRequest(url: try #require(URL(string: url)))
          if closes { urlRequest.setValue("close", forHTTPHeaderField: "Connection") }
          let request = TransportRequest(urlRequest)
          for _ in 0..<32 {
            Task {
              while true {
                _ = try await transport.fetch(request)
                if count.withLock({
                  $0 += 1; return $0 == 200
                }) {
                  hasBegun.open()
                }
              }
            }
          }
          _ = await hasBegun.wait()
          exit(7)
        }
      }
    }

    @Test("A server that is silent after connecting times out", arguments: [TransportChoice.automatic, .urlSession])
    func silentHandshake(choice: TransportChoice) async throws {
      let configuration = URLSessionConfiguration.ephemeral
      configuration.timeoutIntervalForRequest = 1
      let transport = TransportSelection.transport(for: URLSession(configuration: configuration), choice: choice)
      #expect(try await code(transport, "silent") == .timedOut)
    }

    @Test(
      "A failed handshake is a typed error with Foundation's implementation, too",
      arguments: ["good", "self-signed", "expired", "unknown-root", "cut", "plain", "old"])
    func foundation(name: String) async throws {
      let transport = TransportSelection.transport(for: URLSession(configuration: .ephemeral), choice: .urlSession)
      let differences: [String: LibcurlDifference] = ["cut": .codeOfAHandshakeCutShort, "old": .codeOfAnOldHandshake]
      try await expecting(differences[name]) {
        let code = try await code(transport, name)
        #expect(code.map { Self.refusals.contains($0) } == true, "\(name): \(String(describing: code))")
      }
    }

    private static let refusals: Set<URLError.Code> = [
      .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasBadDate,
      .serverCertificateNotYetValid, .serverCertificateHasUnknownRoot,
    ]

    @Test("Plain HTTP to a TLS port is an error")
    func plainToTLS() async throws {
      let code = try await self.code(peer.url("good", scheme: "http"))
      // The server sends an alert before it closes, or only closes.
      #expect(code == .badServerResponse || code == .networkConnectionLost)
    }
  }
#endif
