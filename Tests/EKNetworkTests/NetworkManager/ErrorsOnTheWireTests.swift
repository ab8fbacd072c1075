import LoopbackServer
import Testing

@testable import EKNetwork

/// Every failure is a `URLError` with the code that an Apple developer expects, a description and the URL.
struct ErrorsOnTheWireTests {
  /// Errors are shown and logged.
  @Test(arguments: Wire.allCases, ["/cut", "/refused", "/loop"])
  func errorsDoNotShowThePasswordOfTheURL(wire: Wire, path: String) async throws {
    let server = try LoopbackServer()
    server.route("/cut", .raw([.close]))
    server.route("/loop") { _ in .redirect(to: "/loop", status: 302) }
    let port = path == "/refused" ? try LoopbackServer.refusedPort() : server.port
    let url = try #require(URL(string: "http://alice:secret@127.0.0.1:\(port)"))
    let error = await #expect(throws: URLError.self) {
      try await wire.manager(url).send(Probe<StatusCodeResponse>(path: path))
    }
    #expect(error?.failingURL?.absoluteString == "http://127.0.0.1:\(port)\(path)")
    #expect(error.map { "\($0 as NSError)" }?.contains("secret") == false)
  }

  private struct Row: Sendable {
    let name: String
    let response: LoopbackServer.Response
    let code: URLError.Code
    var limitation: Limitation?
    var difference: LibcurlDifference?
  }

  private static let gzip: Data = {
    let text =
      "H4sIAAAAAAACAyvJSFUoLM1MzlZIKsovz1NIy69QyCrNLShWyC9LLVIoAUrnJFZVKqTkp+uBeaOKRxWPKh5VPKp4VPEwUgwApLt2/QgHAAA="
    return Data(base64Encoded: text) ?? Data()
  }()

  private static func coded(_ data: Data, _ coding: String = "gzip") -> LoopbackServer.Response {
    .data(data, headers: ["Content-Encoding": coding])
  }

  private static let rows: [Row] = [
    Row(name: "closed before the head", response: .raw(""), code: .networkConnectionLost),
    Row(name: "reset before the head", response: .raw([.reset]), code: .networkConnectionLost),
    Row(
      name: "a body cut short", response: .raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok"),
      code: .networkConnectionLost),
    Row(
      name: "chunks cut short", response: .raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nok"),
      code: .networkConnectionLost),
    Row(
      name: "a body that is reset", response: .streaming(contentLength: 9, [.sendString("ok"), .reset]),
      code: .networkConnectionLost),
    Row(name: "no HTTP", response: .raw("220 mail.example.com ESMTP\r\n"), code: .badServerResponse),
    Row(
      name: "a bad chunk", response: .raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
      code: .badServerResponse),
    Row(
      name: "a head that does not end",
      response: .raw([.sendString("HTTP/1.1 200 OK\r\n"), .trickle(field(400), chunk: 1 << 16, every: .zero), .stall]),
      code: .dataLengthExceedsMaximum, limitation: .namesNoReason, difference: .headWithoutEnd),
    Row(
      name: "a gzip cut short", response: coded(gzip.dropLast(20)), code: .cannotDecodeContentData,
      limitation: .believesIt),
    Row(
      name: "a gzip without its checksum", response: coded(gzip.dropLast(8)), code: .cannotDecodeContentData,
      limitation: .believesIt),
    Row(name: "no gzip", response: coded(Data("plain text".utf8)), code: .cannotDecodeContentData),
    Row(
      name: "a gzip with a wrong checksum", response: coded(gzip.dropLast(8) + Data(repeating: 1, count: 8)),
      code: .cannotDecodeContentData),
    Row(name: "an unheard-of coding", response: coded(gzip, "sdch"), code: .cannotDecodeContentData),
  ]

  private static func field(_ count: Int) -> Data {
    let line = "X-A: " + String(repeating: "x", count: 1_000) + "\r\n"
    return Data(String(repeating: line, count: count).utf8)
  }

  /// The status keeps its meaning if the body cannot be decoded.
  @Test(.enabled(if: Platform.isLinux))
  func errorStatusWithUndecodableBodyKeepsItsMeaning() async throws {
    let server = try LoopbackServer()
    defer { server.stop() }
    server.route("/item") { request in
      request.headers["Authorization"] == "Bearer new"
        ? .json(Item(id: 1)) : .data(Data([1]), status: 401).header("Content-Encoding", "sdch")
    }
    let manager = Wire.automatic.manager(server)
    let tokens = TestTokens("old")
    manager.tokenRefresher = tokens
    #expect(try await manager.send(ItemProbe()) { tokens.current } == Item(id: 1))
    #expect(try await manager.stream(ItemProbe()) { tokens.current }.statusCode == 200)
    #expect(tokens.count == 1)
    server.route("/item") { _ in .data(Data([1]), status: 503).header("Content-Encoding", "gzip") }
    let error = await #expect(throws: HTTPError.self) { try await manager.send(ItemProbe()) }
    #expect(error?.statusCode == 503)
  }

  /// Nor if the connection breaks in the middle of the body: the server has answered.
  @Test(arguments: Wire.allCases, [400, 401, 403])
  func errorStatusWithIncompleteBodyKeepsItsMeaning(_ wire: Wire, _ status: Int) async throws {
    let server = try LoopbackServer()
    defer { server.stop() }
    server.route("/item") { _ in .raw("HTTP/1.1 \(status) No\r\nContent-Length: 9\r\n\r\nno") }
    let request = ItemProbe(retryPolicy: .transientFailures)
    let error = await #expect(throws: (any Error).self) { _ = try await wire.manager(server).send(request) }
    if status == 401 {
      #expect(error as? NetworkError == .unauthorized)
    } else {
      #expect((error as? HTTPError)?.statusCode == status)
    }
    #expect(server.requestCount == 1)
    server.reset()
    let client = PrismNetworkAdapter.forTests(
      retryPolicy: PrismLinearRetry(), transport: wire == .automatic ? .automatic : .urlSession)
    await #expect(throws: PrismNetworkError(status: status)) { _ = try await client.request(on: server.teapot()) }
    #expect(server.requestCount == 1)
  }

  /// The gzip header's file name does not end, so there is no content, however much is sent.
  @Test(.timeLimit(.minutes(2)), .enabled(if: Platform.isLinux))
  func unterminatedGzipNameFailsDecoding() async throws {
    let server = try LoopbackServer()
    defer { server.stop() }
    let start = Data([0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3])
    server.route("/item") { _ in
      .raw([
        .sendString("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"), .send(start),
        .send(Data(repeating: 65, count: 8 << 20)), .stall,
      ])
    }
    let error = await #expect(throws: URLError.self) { try await Wire.automatic.manager(server).send(ItemProbe()) }
    #expect(error?.code == .cannotDecodeContentData)
  }

  @Test(.timeLimit(.minutes(10)), arguments: Wire.allCases, rows.indices)
  func badResponseHasItsErrorCode(_ wire: Wire, _ index: Int) async throws {
    let row = Self.rows[index]
    var code = row.code
    if let limitation = row.limitation, wire == .urlSession, Platform.isLinux {
      guard let other = limitation.code else { try Test.cancel("\(row.name): \(limitation.rawValue)") }
      code = other
    }
    let server = try LoopbackServer()
    defer { server.stop() }
    server.route("/item") { _ in row.response }
    try await expecting(row.difference, where: wire == .urlSession) {
      try await expect(code, row.name, from: wire.manager(server), url: server.url("/item"))
    }
  }

  @Test(.timeLimit(.minutes(10)), .enabled(if: Machine.hasManyLoopbackAddresses), arguments: Wire.allCases)
  func closedPortIsCannotConnectToHost(_ wire: Wire) async throws {
    // The server holds the port at another address, so that no other process starts to listen at this one.
    let server = try LoopbackServer()
    defer { server.stop() }
    let url = try #require(URL(string: "http://127.0.0.2:\(server.port)"))
    try await expect(.cannotConnectToHost, "refused", from: wire.manager(url), url: url.appendingPathComponent("item"))
  }

  @Test(.timeLimit(.minutes(10)), arguments: Wire.allCases)
  func unknownHostIsCannotFindHost(_ wire: Wire) async throws {
    let url = try #require(URL(string: "http://nonexistent.invalid"))
    try await expect(.cannotFindHost, "unknown", from: wire.manager(url), url: url.appendingPathComponent("item"))
  }

  @Test(.timeLimit(.minutes(10)), arguments: Wire.allCases)
  func plainServerFailsTLSHandshake(_ wire: Wire) async throws {
    let server = try LoopbackServer()
    defer { server.stop() }
    let url = try #require(URL(string: "https://127.0.0.1:\(server.port)"))
    let manager = wire.manager(url)
    try await expect(.secureConnectionFailed, "no TLS", from: manager, url: url.appendingPathComponent("item"))
  }

  @Test(arguments: Wire.allCases, ["ftp://127.0.0.1", "file:///etc", "ws://127.0.0.1"])
  func nonHTTPSchemeIsRefused(_ wire: Wire, _ base: String) async throws {
    let manager = wire.manager(try #require(URL(string: base)))
    await #expect { _ = try await manager.send(ItemProbe()) } throws: { error in
      (error as? URLError)?.code == .unsupportedURL || error as? NetworkError == .invalidURL
    }
  }

  private func expect(_ code: URLError.Code, _ name: String, from manager: NetworkManager, url: URL) async throws {
    let error = await #expect(throws: URLError.self, "\(name)") {
      _ = try await manager.send(ItemProbe(timeout: .seconds(60)))
    }
    #expect(error?.code == code, "\(name): \(error?.localizedDescription ?? "")")
    #expect(error?.failingURL == url, "\(name)")
    #expect((error?.localizedDescription.count ?? 0) > 8, "\(name)")
  }
}
