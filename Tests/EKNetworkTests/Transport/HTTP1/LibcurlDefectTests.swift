#if os(Linux)
  import CCurl
  import LoopbackServer
  import Testing

  @testable import EKNetwork

  /// What some versions of libcurl do wrong, where they speak HTTP themselves.
  @Suite("Defects of libcurl") struct LibcurlDefectTests {
    private func fetch(
      _ transport: any Transport, _ url: URL, _ change: (inout URLRequest) -> Void = { _ in }
    ) async throws -> CollectedResponse {
      var request = URLRequest(url: url)
      change(&request)
      return try await transport.fetch(TransportRequest(request))
    }

    private func transport(
      tls: TLSOptions? = nil, _ change: (URLSessionConfiguration) -> Void = { _ in }
    ) throws -> HTTPTransport {
      let configuration = URLSessionConfiguration.ephemeral
      change(configuration)
      return try #require(HTTPTransport(configuration: configuration, options: .init(tls: tls)))
    }

    /// Between 7.84 and 8.1 the line is written through a pointer of the transfer before, which has been freed.
    @Test(
      arguments: [" folded: x\r\n", "\tfolded: \(String(repeating: "x", count: 5_000))\r\n", " \r\n"])
    func leadingFoldedLineIsHarmless(_ line: String) async throws {
      let server = try LoopbackServer()
      defer { server.stop() }
      server.route("/good") { _ in .text("ok", headers: ["X-Long": String(repeating: "y", count: 300)]) }
      server.route("/blank") { _ in .raw("HTTP/1.1 200 OK\r\n\(line)Content-Length: 2\r\n\r\nok") }
      let transport = try transport()
      for _ in 0..<50 {
        #expect(try await fetch(transport, server.url("/good")).data == Data("ok".utf8))
        do {
          #expect(try await fetch(transport, server.url("/blank")).data == Data("ok".utf8))
        } catch let error as URLError {
          #expect(error.code == .badServerResponse)
          #expect(!error.localizedDescription.contains("libcurl function"), "\(error.localizedDescription)")
        }
      }
    }

    /// A request that is resent by us goes over a handle that has already received another response.
    @Test func leadingFoldedLineAfterAStaleConnection() async throws {
      let server = try LoopbackServer()
      defer { server.stop() }
      server.route("/stale") { _ in .text("ok", headers: ["X-Long": "y"]).then(.closeOnNextRequest) }
      server.route("/blank") { _ in .raw("HTTP/1.1 200 OK\r\n folded: x\r\nContent-Length: 2\r\n\r\nok") }
      let transport = try transport()
      for _ in 0..<50 {
        _ = try await fetch(transport, server.url("/stale"))
        do { _ = try await fetch(transport, server.url("/blank")) } catch let error as URLError {
          #expect(error.code == .badServerResponse)
        }
      }
    }

    private static let own = EventLoops(count: 1)

    /// A load balancer ends an idle connection with a 408, or a server writes more than it should.
    @Test(
      arguments: ["HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n", "\r\n", "evil"])
    func unsolicitedDataIsNoResponse(_ text: String) async throws {
      let server = try LoopbackServer()
      defer { server.stop() }
      let (isRead, isSent) = (Gate(), Gate())
      server.route("/first") { _ in
        .raw([
          .sendString("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), .wait(isRead), .sendString(text),
          .open(isSent),
          .stall,
        ])
      }
      server.route("/second") { _ in .text("mine") }
      // Where many connections are kept, the oldest is closed.
      let transport = try #require(
        HTTPTransport(configuration: .ephemeral, eventLoops: Self.own))
      #expect(try await fetch(transport, server.url("/first")).data == Data("ok".utf8))
      isRead.open()
      await isSent.wait()
      for method in ["POST", "GET", "GET"] {
        let response = try await fetch(transport, server.url("/second")) { $0.httpMethod = method }
        #expect(response.data == Data("mine".utf8))
      }
      #expect(server.requests(path: "/second").count == 3)
    }

    // MARK: - Messages

    /// What only a reader of libcurl's source understands.
    @Test(arguments: [
      (27, "Out of memory", URLError.Code.dataLengthExceedsMaximum, "longer than 100 KB"),
      (100, "A value or data field grew larger than allowed", .dataLengthExceedsMaximum, "longer than 100 KB"),
      (43, "A libcurl function was given a bad argument", .badServerResponse, "no header field"),
      (43, "unable to set private key file", .clientCertificateRejected, "private key"),
      (92, "HTTP/2 stream 1 was reset: PROTOCOL_ERROR", .badServerResponse, "was reset"),
      (92, "HTTP/2 stream 1 was reset: INTERNAL_ERROR", .networkConnectionLost, "INTERNAL"),
      (63, "The proxy's response to CONNECT is longer", .dataLengthExceedsMaximum, "CONNECT"),
      (2, "The process is out of resources", .resourceUnavailable, "out of resources"),
      // Before 8.20, without the descriptors that a lookup needs.
      (6, "getaddrinfo() thread failed to start", .resourceUnavailable, "failed to start"),
      (6, "Could not resolve host: h", .cannotFindHost, "resolve host"),
      (52, "Empty reply from server", .networkConnectionLost, "Empty reply"),
      // A port without TLS: OpenSSL and GnuTLS.
      (
        35, "OpenSSL/3.0.22: error:0A00010B:SSL routines::wrong version number", .secureConnectionFailed,
        "does not speak TLS on this port (OpenSSL"
      ),
      (35, "error:0A0000C6:SSL routines::packet length too long", .secureConnectionFailed, "not speak TLS"),
      (35, "gnutls_handshake() failed: An unexpected TLS packet was received.", .secureConnectionFailed, "speak TLS"),
      (7, "Failed to connect to h port 80: Connection refused", .cannotConnectToHost, "Failed to connect to h port 80"),
      // OpenSSL 1.1, 3.0 and 3.5.
      (
        56, "SSL_read: error:1409445C:SSL routines:ssl3_read_bytes:tlsv13 alert certificate required, errno 0",
        .clientCertificateRequired, "requires a client certificate (SSL_read"
      ),
      (
        56, "OpenSSL SSL_read: error:0A000412:SSL routines::sslv3 alert bad certificate, errno 0",
        .clientCertificateRejected, "does not accept the client certificate"
      ),
      (
        55, "OpenSSL SSL_write: OpenSSL/3.5.1: error:0A000415:SSL routines::ssl/tls alert certificate expired",
        .clientCertificateRejected, "certificate expired"
      ),
      (35, "TLS connect error: error:0A000418:SSL routines::tlsv1 alert unknown ca", .clientCertificateRejected, "ca"),
      (
        35, "error:14094410:SSL routines:ssl3_read_bytes:sslv3 alert handshake failure", .secureConnectionFailed,
        "alert"
      ),
      (
        56, "OpenSSL SSL_read: error:0A000126:SSL routines::unexpected eof while reading, errno 0",
        .networkConnectionLost, "unexpected eof"
      ),
    ])
    func messageSaysWhatHappened(_ row: (code: Int, text: String, expected: URLError.Code, part: String)) throws {
      let url = try #require(URL(string: "https://h/"))
      let failure = CurlError.Failure(code: row.code, text: row.text, hasProxy: [27, 43, 100].contains(row.code))
      let error = CurlError.urlError(failure, url: url)
      #expect(error.code == row.expected)
      #expect(error.localizedDescription.contains(row.part), "\(error.localizedDescription)")
    }

    /// In TLS 1.2 a server says only that the handshake has failed (RFC 5246 §7.4.6), or that the certificate is bad.
    @Test(arguments: ["sslv3 alert handshake failure", "sslv3 alert bad certificate"])
    func missingCertificateIsToldApart(_ alert: String) {
      var failure = CurlError.Failure(code: 35, text: "error:0A000410:SSL routines::\(alert)")
      #expect(CurlError.urlErrorCode(failure) != .clientCertificateRequired)
      failure.lacksCertificate = true
      let error = CurlError.urlError(failure, url: nil)
      #expect(error.code == .clientCertificateRequired && UnsentRequestError.isCause(of: error))
      #expect(error.localizedDescription.hasPrefix("The server requires a client certificate"))
      failure.text = "error:0A00010B:SSL routines::wrong version number"
      #expect(CurlError.urlErrorCode(failure) == .secureConnectionFailed)
    }

    /// The server resets a connection that it ends with an alert, if it has not read everything.
    @Test(arguments: [
      "OpenSSL SSL_read: error:0A000438:SSL routines::tlsv1 alert internal error, errno 0",
      "OpenSSL SSL_read: error:0A000412:SSL routines::sslv3 alert bad certificate, errno 0",
      "GnuTLS recv error (-12): A TLS fatal alert has been received.",
    ])
    func alertSaysMoreThanAReset(_ text: String) {
      let (alert, reset) = (CurlError.Failure(code: 56, text: text), CurlError.Failure.sending(ECONNRESET))
      #expect(alert.following(reset).text == text)
      #expect(alert.following(nil).text == text)
      let lost = CurlError.Failure.receiving(ECONNRESET)
      #expect(lost.following(reset).text == reset.text)
      #expect(lost.following(nil).text == lost.text)
    }

    /// Not that of a proxy that was reached, and opens no tunnel.
    @Test func messageSaysWhatCannotBeReached() {
      var failure = CurlError.Failure(code: 7, text: "Failed to connect to p port 1: refused", hasProxy: true)
      #expect(CurlError.text(failure) == "The proxy cannot be reached: \(failure.text)")
      failure.text = "Proxy CONNECT aborted"
      #expect(CurlError.text(failure) == failure.text)
      failure = CurlError.Failure(code: 7, text: "Tunnel failed, response 403", proxyStatus: 403, hasProxy: true)
      #expect(
        CurlError.text(failure) == "The proxy refuses the connection with the status 403 (Tunnel failed, response 403)")
      failure.code = 56
      #expect(
        CurlError.text(failure).contains("the status 403") && CurlError.urlErrorCode(failure) == .cannotConnectToHost)
      failure = CurlError.Failure(code: 7, text: "Couldn't connect to server", systemError: Int(ECONNREFUSED))
      #expect(CurlError.text(failure) == "Couldn't connect to server (Connection refused)")
      failure.text = "Failed to connect to h port 80: Connection refused"
      #expect(CurlError.text(failure) == failure.text)
      failure = CurlError.Failure(code: 7, text: "refused", systemError: Int(EACCES), socketPath: "/a.sock")
      #expect(CurlError.text(failure) == "Failed to connect to the socket /a.sock: Permission denied")
      failure.systemError = 0
      #expect(CurlError.text(failure) == "Failed to connect to the socket /a.sock: refused")
    }

    /// It is verified by the authorities of the system, whatever those of the origin are.
    @Test func messageNamesTheCertificateOfTheProxy() {
      var failure = CurlError.Failure(code: 60, text: "unable to get local issuer certificate", proxyVerifyResult: 20)
      #expect(CurlError.urlErrorCode(failure) == .serverCertificateHasUnknownRoot)
      #expect(CurlError.text(failure) == "The certificate of the proxy is refused (\(failure.text))")
      (failure.verifyResult, failure.proxyVerifyResult) = (10, 0)
      #expect(CurlError.urlErrorCode(failure) == .serverCertificateHasBadDate)
      #expect(CurlError.text(failure) == failure.text)
    }

    @Test(arguments: [
      (5, "Unsupported proxy syntax in 'http://user:secret@host:x': Port number was not a decimal number"),
      (7, "Unsupported proxy scheme for 'ftp://user:secret@host'"),
      (4, "Unsupported proxy 'https://user:secret@host', libcurl is built without the HTTPS-proxy support."),
    ])
    func messageKeepsThePasswordForAProxy(_ code: Int, _ text: String) {
      let failure = CurlError.Failure(code: code, text: text, hasProxy: true)
      #expect(CurlError.urlErrorCode(failure) == (code == 4 ? .unsupportedURL : .badURL))
      #expect(CurlError.text(failure).hasPrefix("The URL of the proxy is not valid"))
    }

    /// A later attempt may have what this one lacks.
    @Test(arguments: [2, 27]) func lackOfMemoryIsTemporary(_ code: Int) {
      #expect(CurlError.urlErrorCode(CurlError.Failure(code: code, text: "")) == .resourceUnavailable)
    }

    /// Without a proxy libcurl reads no response.
    @Test(arguments: [27, 43, 100]) func messageBlamesNoProxyThatThereIsNot(_ code: Int) {
      #expect(CurlError.text(CurlError.Failure(code: code, text: "Out of memory")) == "Out of memory")
      #expect(CurlError.text(CurlError.Failure(code: code, text: "Out of memory", hasProxy: true)).contains("proxy"))
    }

    // MARK: - Versions that are claimed

    /// Up to 7.81 such a status line lets several requests share a connection that cannot tell their responses apart.
    @Test(arguments: ["HTTP/2 200 OK", "HTTP/2.0 200 OK", "HTTP/3 200 OK"])
    func unnegotiatedVersionIsRefused(_ statusLine: String) async throws {
      let server = try LoopbackServer()
      defer { server.stop() }
      server.fallback = { .text($0.path) }
      server.route("/claim") { _ in .raw("\(statusLine)\r\nContent-Length: 2\r\n\r\nok") }
      let transport = try transport { $0.httpMaximumConnectionsPerHost = 8 }
      for round in 0..<10 {
        await withTaskGroup(of: Void.self) { group in
          for index in 0..<32 {
            let path = index % 8 == 3 ? "/claim" : "/\(round)-\(index)"
            group.addTask {
              do {
                let response = try await fetch(transport, server.url(path))
                #expect(response.data == Data(path.utf8))
              } catch {
                #expect(path == "/claim", "\(path): \(error)")
                #expect((error as? URLError)?.code == .badServerResponse)
              }
            }
          }
        }
      }
    }

    // MARK: - Options that are refused

    /// libcurl rejects strings of more than 8 MB: the request must fail, and not be sent without the option.
    private static let tooLong = String(repeating: "a", count: 9_000_000)

    private func refusal(
      _ transport: any Transport, _ url: URL, _ change: (inout URLRequest) -> Void = { _ in }
    ) async -> TransportOptionError? {
      await #expect(throws: TransportOptionError.self) { try await fetch(transport, url, change) }
    }

    @Test func requestWithRejectedOptionsIsNotSent() async throws {
      let server = try LoopbackServer()
      defer { server.stop() }
      server.fallback = { _ in .text("") }
      let url = server.url("/")
      let identified = try transport {
        $0.connectionProxyDictionary = [
          "HTTPEnable": 1, "HTTPProxy": "127.0.0.1", "HTTPPort": url.port ?? 0, "kCFProxyUsernameKey": "a",
          "kCFProxyPasswordKey": Self.tooLong,
        ]
      }
      #expect(await refusal(identified, url)?.option == "CURLOPT_PROXYPASSWORD")
      #expect(server.requestCount == 0)
    }

    @Test func requestWithRejectedTLSOptionsIsNotSent() async throws {
      let url = try #require(URL(string: "https://127.0.0.1:\(try LoopbackServer.refusedPort())/"))
      let file = URL(fileURLWithPath: "/" + Self.tooLong)
      let certificate = TLSOptions.ClientCertificate(certificateFile: file, keyFile: URL(fileURLWithPath: "/key"))
      var key = certificate
      key.certificateFile = URL(fileURLWithPath: "/certificate")
      key.keyFile = file
      let cases = [
        (TLSOptions(clientCertificate: certificate), "CURLOPT_SSLCERT"),
        (TLSOptions(clientCertificate: key), "CURLOPT_SSLKEY"),
      ]
      for (options, name) in cases {
        let error = await refusal(try transport(tls: options), url)
        #expect(error?.option == name)
        #expect(error?.library.hasPrefix("libcurl ") == true)
        #expect(error?.localizedDescription.contains(name) == true)
      }
    }

    /// The other options of that kind, as libcurl takes them: a transport hashes them first, and not optimized, that takes seconds.
    @Test func everyOptionThatIsRejectedIsAnError() throws {
      let capabilities = try #require(CurlLibrary.capabilities)
      let file = URL(fileURLWithPath: "/" + Self.tooLong)
      let cases: [(name: String, apply: (inout CurlSettings) -> Void)] = [
        ("CURLOPT_PROXY", { $0.apply(ProxyServer(url: Self.tooLong, user: nil, password: nil)) }),
        (
          "CURLOPT_PINNEDPUBLICKEY",
          { $0.apply(TLSOptions(pinnedPublicKeys: [Self.tooLong]), capabilities, loads: true) }
        ),
        ("CURLOPT_CAINFO", { $0.apply(TLSOptions(certificateAuthorityFile: file), capabilities, loads: true) }),
      ]
      for (name, apply) in cases {
        let easy = try #require(ekn_easy_init())
        defer { ekn_easy_cleanup(easy) }
        var settings = CurlSettings(easy)
        apply(&settings)
        #expect(settings.error?.option == name)
      }
    }

    // MARK: - Uploads

    /// The kernel buffers megabytes, and takes longer to send them than the idle timeout.
    @Test func slowUploadDoesNotTimeOut() async throws {
      let server = try LoopbackServer { $0.receiveBufferSize = 256 * 1024 }
      defer { server.stop() }
      let response = try await withTimeoutsThatMustNotPass { timeout in
        let pause = Duration.seconds(timeout / 100)
        server.route("PUT", "/", onHead: { _ in .steps([.trickle(chunk: 32 * 1024, every: pause)]) }) {
          .text("\($0.body.count)")
        }
        let transport = try transport { $0.timeoutIntervalForRequest = timeout }
        return try await fetch(transport, server.url("/")) {
          $0.httpMethod = "PUT"
          $0.timeoutInterval = timeout
          $0.httpBody = Data(count: 8_000_000)
        }
      }
      #expect(response.data == Data("8000000".utf8))
    }

    /// The response has begun, and the kernel still sends the body.
    @Test func slowUploadDoesNotTimeOutAfterAnEarlyHead() async throws {
      let server = try LoopbackServer { $0.receiveBufferSize = 256 * 1024 }
      defer { server.stop() }
      let (status, count) = try await withTimeoutsThatMustNotPass { timeout in
        let pause = Duration.seconds(timeout / 20)
        let (count, never) = (Locked(0), Gate())
        let reply: @Sendable (Data) -> Data? = { piece in
          count.withLock { $0 += piece.count }
          never.waitBlocking(timeout: pause)
          return nil
        }
        server.route("PUT", "/", onHead: { _ in .converse(status: 200) { reply($0) } }) { _ in .status(500) }
        let transport = try transport { $0.timeoutIntervalForRequest = timeout }
        let response = try await fetch(transport, server.url("/")) {
          $0.httpMethod = "PUT"
          $0.timeoutInterval = timeout
          $0.httpBody = Data(count: 4_000_000)
        }
        return (response.head.statusCode, count.withLock { $0 })
      }
      #expect(status == 200)
      #expect(count == 4_000_000)
    }

    // MARK: - Expectations

    @Test(arguments: ["PUT", "POST"])
    func failedExpectationIsNotResent(_ method: String) async throws {
      let server = try LoopbackServer { $0.answersExpectContinue = false }
      defer { server.stop() }
      server.route(
        method, "/", onHead: { $0.headers["Expect"] == nil ? .readBody : .respond(.text("no", status: 417)) }
      ) {
        _ in .text("yes")
      }
      let transport = try transport()
      for _ in 0..<5 {
        let response = try await fetch(transport, server.url("/")) {
          $0.httpMethod = method
          $0.setValue("100-continue", forHTTPHeaderField: "Expect")
          $0.httpBody = Data(count: 100_000)
        }
        #expect(response.head.statusCode == 417)
        #expect(response.data == Data("no".utf8))
      }
      #expect(server.requests.allSatisfy { $0.headers["Expect"] != nil })
      #expect(server.requestCount == 5)
    }
  }
#endif
