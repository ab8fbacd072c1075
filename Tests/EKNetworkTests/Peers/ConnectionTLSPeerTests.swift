#if os(Linux)
  import CCurl
  import Foundation
  import FoundationNetworking
  import Testing

  @testable import EKNetwork

  /// Where a response over TLS ends, and what its connection is used for afterwards. The server is Python's `ssl`.
  @Suite("TLS peers: connections", .serialized, .timeLimit(.minutes(10)), .enabled(if: PeerProcess.python != nil))
  struct ConnectionTLSPeerTests {
    private let peer: PeerProcess

    init() throws { peer = try PeerProcess.shared("tls.py") }

    private func text(_ transport: any Transport, _ url: URL) async throws -> String {
      String(decoding: try await transport.fetch(TransportRequest(URLRequest(url: url))).data, as: UTF8.self)
    }

    private static let surpluses = ["none", "response", "byte", "long", "half", "timeout", "late"].flatMap { kind in
      ["surplus", "surplus-1.2"].map { (kind, $0) }
    }

    /// The rest of a record that ends a body stays in the TLS library.
    @Test("What follows a complete response is not the response to the next request", arguments: surpluses)
    func surplus(kind: String, server: String) async throws {
      for method in [HTTPMethod.get, .post] {
        let transport = TransportSelection.transport(
          for: URLSession(configuration: .ephemeral),
          choice: .secured(by: TLSOptions(certificateAuthorityFile: peer.authority)))
        func text(_ path: String) async throws -> String {
          var request = URLRequest(url: try peer.url(server, path: path))
          request.httpMethod = method.rawValue
          return String(decoding: try await transport.fetch(TransportRequest(request)).data, as: UTF8.self)
        }
        // A connection of its own, or the one of the method before.
        let first = try await text("/\(kind)")
        #expect(first.hasPrefix("/\(kind) "))
        if kind == "late" { #expect(try peer.ask("send") == "sent") }
        // The same one, if nothing followed.
        let before = kind == "none" ? Int(first.dropFirst("/none ".count)) ?? 0 : 0
        for number in 1...3 { #expect(try await text("/next") == "/next \(before + number)") }
      }
    }

    /// RFC 9112 §9.8: anybody on the way can end a connection, but not with a close_notify. A length or a last chunk say
    /// themselves that a body is complete.
    @Test(
      "A body that ends with the connection is complete only if TLS says so",
      arguments: ["ending", "ending-1.2"], ["announced", "length", "chunked", "identity", "cut"])
    func endOfConnection(server: String, kind: String) async throws {
      let url = try peer.url(server, path: "/\(kind)")
      let transport = try own()
      for _ in 0..<3 {
        guard kind == "cut" || kind == "identity" else {
          #expect(try await text(transport, url) == "body")
          continue
        }
        let error = await #expect(throws: URLError.self) { try await text(transport, url) }
        #expect(error?.code == .networkConnectionLost)
      }
    }

    /// RFC 9110 §10.1.1: a server need not know the expectation. What it sends meanwhile takes several turns to be read.
    @Test("A body is sent to a server that does not ask for it, whatever it sends before")
    func expectationAmongHints() async throws {
      var request = URLRequest(url: try peer.url("hints"), timeoutInterval: 20)
      request.httpMethod = "POST"
      request.setValue("100-continue", forHTTPHeaderField: "Expect")
      request.httpBody = Data("body".utf8)
      let response = try await own().fetch(TransportRequest(request))
      #expect(String(decoding: response.data, as: UTF8.self) == "body")
    }

    /// The client has finished the handshake when the server looks at its certificate (RFC 8446 §2). One is of another
    /// authority, and one is for servers.
    @Test(
      "A client certificate that is missing or refused is no lost connection in TLS 1.3",
      .enabled(if: TransportDescription.current.tlsLibrary?.hasPrefix("OpenSSL") == true),
      arguments: ["http/1.1", "h2"],
      [
        (nil, .clientCertificateRequired), ("unknown-root", .clientCertificateRejected),
        ("good", .clientCertificateRejected),
      ] as [(String?, URLError.Code)])
    func refusedClient(version: String, row: (certificate: String?, expected: URLError.Code)) async throws {
      let url = try peer.url("client-required-1.3-\(version)")
      let certificate = row.certificate.map {
        TLSOptions.ClientCertificate(certificateFile: peer.file("\($0).pem"), keyFile: peer.file("\($0).key"))
      }
      let tls = TLSOptions(certificateAuthorityFile: peer.authority, clientCertificate: certificate)
      let transport = TransportSelection.transport(
        for: URLSession(configuration: .ephemeral), choice: .secured(by: tls))
      let error = await #expect(throws: URLError.self) { try await text(transport, url) }
      #expect(error?.code == row.expected, "\(error?.localizedDescription ?? "")")
      var options = WebSocketOptions()
      options.tls = tls
      let refusal = await #expect(throws: URLError.self) {
        try await WebSocket.connect(
          to: peer.url("client-required-1.3-\(version)", scheme: "wss"), options: options)
      }
      #expect(refusal?.code == row.expected, "\(refusal?.localizedDescription ?? "")")
    }

    /// Its alert only says that the handshake has failed. One that refuses the certificate says so.
    @Test(
      "A server that requires a client certificate in TLS 1.2 is understood",
      .enabled(if: TransportDescription.current.tlsLibrary?.hasPrefix("OpenSSL") == true))
    func missingClientCertificate() async throws {
      let tls = TLSOptions(certificateAuthorityFile: peer.file("ca.pem"))
      let transport = TransportSelection.transport(
        for: URLSession(configuration: .ephemeral), choice: .secured(by: tls))
      let error = await #expect(throws: URLError.self) { try await text(transport, peer.url("client-required-1.2")) }
      #expect(error?.code == .clientCertificateRequired, "\(error?.localizedDescription ?? "")")
      var options = WebSocketOptions()
      options.tls = tls
      let refusal = await #expect(throws: URLError.self) {
        try await WebSocket.connect(to: peer.url("client-required-1.2", scheme: "wss"), options: options)
      }
      #expect(refusal?.code == .clientCertificateRequired, "\(refusal?.localizedDescription ?? "")")
    }

    /// libcurl keeps the first error only: that of sending, or of asking for the address of a server that has gone.
    @Test(
      "An alert is received although the server has reset the connection",
      .enabled(if: TransportDescription.current.tlsLibrary?.hasPrefix("OpenSSL") == true),
      arguments: ["http/1.1", "h2"])
    func refusedAndReset(version: String) async throws {
      let tls = TLSOptions(certificateAuthorityFile: peer.authority)
      var options = WebSocketOptions()
      options.tls = tls
      let url = try peer.url("client-required-reset-\(version)")
      let socketURL = try peer.url("client-required-reset-\(version)", scheme: "wss")
      // Sending succeeds or fails, as the one or the other side is faster.
      for _ in 0..<10 {
        let transport = TransportSelection.transport(
          for: URLSession(configuration: .ephemeral), choice: .secured(by: tls))
        let error = await #expect(throws: URLError.self) { try await text(transport, url) }
        #expect(error?.code == .clientCertificateRequired, "\(error?.localizedDescription ?? "")")
        let refusal = await #expect(throws: URLError.self) {
          try await WebSocket.connect(to: socketURL, options: options)
        }
        #expect(refusal?.code == .clientCertificateRequired, "\(refusal?.localizedDescription ?? "")")
      }
    }

    /// As a server does that has not read everything.
    @Test(
      "A client certificate that is refused while a body is sent is no lost connection",
      .enabled(if: TransportDescription.current.tlsLibrary?.hasPrefix("OpenSSL") == true),
      arguments: ["http/1.1", "h2"])
    func refusedClientWhileSending(version: String) async throws {
      let client = TLSOptions.ClientCertificate(
        certificateFile: peer.file("unknown-root.pem"), keyFile: peer.file("unknown-root.key"))
      let tls = TLSOptions(certificateAuthorityFile: peer.authority, clientCertificate: client)
      let transport = TransportSelection.transport(
        for: URLSession(configuration: .ephemeral), choice: .secured(by: tls))
      var request = URLRequest(url: try peer.url("client-required-reset-\(version)"), timeoutInterval: 20)
      request.httpMethod = "PUT"
      request.httpBody = Data(count: 3 << 20)
      for _ in 0..<20 {
        let error = await #expect(throws: URLError.self) { _ = try await transport.fetch(TransportRequest(request)) }
        #expect(error?.code == .clientCertificateRejected, "\(error?.localizedDescription ?? "")")
      }
    }

    private func own(_ eventLoops: EventLoops = EventLoops(count: 1), file: URL? = nil) throws -> HTTPTransport {
      let tls = TLSOptions(certificateAuthorityFile: file ?? peer.authority)
      return try #require(
        HTTPTransport(configuration: .ephemeral, options: .init(tls: tls), eventLoops: eventLoops))
    }

    @Test("Authorities are loaded once for all connections that trust the same file in the same version")
    func sharedAuthorities() async throws {
      guard try #require(CurlLibrary.capabilities).sharesAuthorities else { return }
      let folder = try ScratchFolder()
      let file = try folder.file("authorities.pem", try Data(contentsOf: peer.file("ca.pem")))
      let version = AuthoritiesVersion(files: [file.path])
      var found: OpaquePointer?
      // Tests beside this one may use more files than are kept.
      for _ in 0..<20 where found == nil {
        #expect(try await text(own(file: file), peer.url("good")) == "ok")
        found = SharedAuthorities.ofProcess.reference(to: version)
      }
      let authorities = try #require(found)
      defer { ekn_authorities_release(authorities) }

      let shared = SharedAuthorities()
      let versions = try (0...SharedAuthorities.limit).map { number in
        AuthoritiesVersion(files: [try folder.file("\(number).pem", Data()).path])
      }
      for version in versions + versions.suffix(1) {
        #expect(ekn_authorities_retain(authorities))
        shared.keep(authorities, as: version)
      }
      #expect(versions.map { shared.reference(to: $0) } == [nil] + versions.dropFirst().map { _ in authorities })
      try Data("a".utf8).write(to: folder.url.appendingPathComponent("1.pem"))
      #expect(AuthoritiesVersion(files: [folder.url.appendingPathComponent("1.pem").path]) != versions[1])
    }

    /// libcurl knows a folder beside the file, in which it looks for authorities by a hash of their names.
    @Test(
      "A file of authorities replaces the system's folder",
      .enabled(if: SystemFolder.canReplace && !SystemFolder.isReplaced))
    func systemFolderIsNotTrusted() async throws {
      let folder = try ScratchFolder()
      let authority = peer.file("unknown-ca.pem").path
      let hash = try ChildProcess("openssl", ["x509", "-noout", "-hash", "-in", authority]).run()
      let name = String(decoding: hash, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
      for name in ["\(name).0", "ca-certificates.crt"] {
        try folder.file(name, Data(contentsOf: URL(fileURLWithPath: authority)))
      }
      let (url, file) = (try peer.url("unknown-root"), peer.file("ca.pem"))
      let output = try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread {
          continuation.resume(with: Result { try SystemFolder.run(in: folder.url, url, file) })
        }
      }
      #expect(output.contains("Test run with 1 test in 1 suite passed"), "\(output)")
    }

    /// RFC 7301: it outlasts the session tickets of TLS 1.3.
    @Test("An origin that has chosen HTTP/1.1 gets it over one connection", arguments: ["surplus", "surplus-1.2"])
    func origin(_ server: String) async throws {
      let loops = EventLoops(count: 1, directWait: DirectWait(longest: 900_000_000, promising: .max))
      let transport = try own(loops)
      for number in 1...20 { #expect(try await text(transport, peer.url(server, path: "/none")) == "/none \(number)") }
      // Most were read by the threads that had sent the requests.
      #expect(loops.directResponseCount > 10)
    }

    /// A record that TLS has read does not make the socket ready: nothing of it may be forgotten when a reader pauses.
    @Test("Large bodies pass in both directions, whether they are read at once or not")
    func largeBodies() async throws {
      let (transport, size) = (try own(), 16 << 20)
      for _ in 0..<2 { #expect(try await text(transport, peer.url("bulk", path: "/0")) == "0") }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<6 {
          group.addTask { [self] in
            var request = URLRequest(url: try peer.url("bulk", path: number % 2 == 0 ? "/\(size)" : "/0"))
            if number % 2 != 0 {
              request.httpMethod = "PUT"
              request.httpBody = Data(count: size)
              let data = try await transport.fetch(TransportRequest(request)).data
              #expect(String(decoding: data, as: UTF8.self) == "\(size)")
              return
            }
            let response = try await transport.start(TransportRequest(request))
            var count = 0
            while let chunk = try await response.body.next() {
              count += chunk.count
              // Meanwhile the rest arrives, more than is kept.
              if number > 0, count == chunk.count {
                #expect(try await text(transport, peer.url("bulk", path: "/1000000")).utf8.count == 1_000_000)
              }
            }
            #expect(count == size)
          }
        }
        try await group.waitForAll()
      }
    }

    /// Otherwise anybody on the way could end it (RFC 8446 §6.1).
    @Test("Lines end properly only if TLS announces it", arguments: ["ending", "ending-1.2"], [true, false])
    func endOfLines(_ server: String, isAnnounced: Bool) async throws {
      var options = WebSocketOptions()
      options.tls = TLSOptions(certificateAuthorityFile: peer.authority)
      let port = try #require(try peer.url(server).port)
      let address = try ByteTransportEndpoint(host: "127.0.0.1", port: port, isSecure: true, options: options)
      let transport = try await Handshake.openBare(address, options: options)
      let session = SocketSession(.lines(transport), maximumLineLength: 100)
      try await session.send("GET /\(isAnnounced ? "announced" : "cut") HTTP/1.1\r\n\r\n")
      #expect(await session.next() == Data("HTTP/1.1 200 OK".utf8))
      while await session.next() != nil {}
      let failure = await session.failure
      #expect((failure == nil) == isAnnounced, "\(String(describing: failure))")
    }
  }

  extension ConnectionTLSPeerTests {
    /// A record that TLS has read does not make the socket ready, and is not behind it either: the server sends nothing more
    /// before all was received.
    @Test("All records that have arrived are received, although nothing follows them")
    func records() async throws {
      let transport = try own()
      for (size, count) in [(1, 100), (4_095, 70), (4_096, 64), (4_097, 65), (16_383, 20), (16_384, 65)] {
        let expected = Data((0..<size * count).map { UInt8($0 % 251) })
        for _ in 0..<3 {
          let url = try peer.url("records", path: "/\(size)/\(count)")
          let response = try await transport.start(TransportRequest(URLRequest(url: url)))
          var body = Data()
          while body.count < expected.count, let chunk = try await response.body.next() { body += chunk }
          #expect(body == expected, "\(count) records of \(size) bytes")
          #expect(try await text(transport, peer.url("records", path: "/go")) == "ok")
          while let chunk = try await response.body.next() { body += chunk }
          #expect(body.dropFirst(expected.count) == Data("!".utf8))
        }
      }
    }
  }

  /// Another folder in place of the system's authorities, in a separate process.
  private enum SystemFolder {
    private static let folder = "/etc/ssl/certs"
    private static let variables = ["EKNETWORK_TEST_URL", "EKNETWORK_TEST_AUTHORITIES"]
    static let values = variables.compactMap { ProcessInfo.processInfo.environment[$0] }

    static let isReplaced = values.count == variables.count
    /// Whether that is where this libcurl looks, and the user may mount something there.
    static let canReplace =
      CurlLibrary.capabilities?.authorities.watched == ["\(folder)/ca-certificates.crt"]
      && (try? ChildProcess("unshare", ["--mount", "mount", "--bind", "/tmp", folder], hidesErrors: true).run()) != nil
      && (try? ChildProcess("openssl", ["version"], hidesErrors: true).run()) != nil

    /// Runs the test below there, and returns its output.
    static func run(in replacement: URL, _ url: URL, _ file: URL) throws -> String {
      var environment = ProcessInfo.processInfo.environment
      for (variable, value) in zip(variables, [url.absoluteString, file.path]) { environment[variable] = value }
      let command = "mount --bind \(replacement.path) \(folder) && exec \"$0\" --testing-library swift-testing"
      let child = try ChildProcess(
        "unshare",
        ["--mount", "sh", "-c", "\(command) --filter SystemFolderTests 2>&1", CommandLine.arguments[0]],
        environment: environment)
      defer { child.waitUntilExit() }
      return String(decoding: try child.readToEnd(), as: UTF8.self)
    }
  }

  @Suite(.enabled(if: SystemFolder.isReplaced))
  struct SystemFolderTests {
    @Test func fileReplacesFolder() async throws {
      let url = try #require(URL(string: SystemFolder.values[0]))
      func text(trusting file: String?) async throws -> String {
        let tls = TLSOptions(certificateAuthorityFile: file.map { URL(fileURLWithPath: $0) })
        let transport = try #require(HTTPTransport(configuration: .ephemeral, options: .init(tls: tls)))
        return String(
          decoding: try await transport.fetch(TransportRequest(URLRequest(url: url))).data, as: UTF8.self)
      }
      #expect(try await text(trusting: nil) == "ok")
      // The second connection uses what the first has loaded.
      for _ in 0..<2 {
        let error = await #expect(throws: URLError.self) { try await text(trusting: SystemFolder.values[1]) }
        #expect(error?.code == .serverCertificateHasUnknownRoot)
      }
    }
  }
#endif
