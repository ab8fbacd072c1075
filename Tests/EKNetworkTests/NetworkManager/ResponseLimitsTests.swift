import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

struct ResponseLimitsTests {
  private struct Blob: NetworkRequest {
    typealias Response = StatusCodeResponse
    var path = "/blob"
    var method = HTTPMethod.get
    var maximumResponseSize: Int64?
    var maximumInflation: Int?
    var retryPolicy = RetryPolicy()
  }

  private func server(_ response: @escaping @Sendable () -> LoopbackServer.Response) throws -> LoopbackServer {
    let server = try LoopbackServer()
    server.route("/blob") { _ in response() }
    return server
  }

  /// RFC 9112 §6.3: these responses have no body, whatever their header fields say.
  @Test(arguments: [204, 304, 200]) func bodyFieldsOfBodylessResponseAreIgnored(status: Int) async throws {
    for server in [
      try server { .status(status, headers: ["Content-Encoding": "aws-chunked"]) },
      try server { .status(status, headers: ["Content-Length": "5000"]) },
    ] {
      defer { server.stop() }
      let blob = Blob(method: status == 200 ? .head : .get, maximumResponseSize: 100)
      do {
        #expect(try await Wire.automatic.manager(server).send(blob).statusCode == status)
      } catch let error as HTTPError {
        #expect(error.statusCode == status)
      }
    }
  }

  @Test(arguments: Wire.allCases) func announcedSizeIsCheckedAtOnce(_ wire: Wire) async throws {
    // The body never arrives: only its announced length can end the request.
    let server = try server { .streaming(contentLength: 101, [.stall]) }
    defer { server.stop() }
    let error = await #expect(throws: ResponseLimitError.self) {
      try await wire.manager(server).send(Blob(maximumResponseSize: 100))
    }
    #expect(error == ResponseLimitError(limit: .size(100), announcedSize: 101, url: server.url("/blob")))
    let text = "The response has 101 bytes, of which 100 are allowed"
    #expect(error?.localizedDescription == text)
    #expect(error.map { "\($0)" } == "\(text): \(server.url("/blob"))")
    #expect(await server.waitForOpenConnections(0))
  }

  @Test func printedErrorHasNoSecrets() throws {
    let url = try #require(URL(string: "https://u:sesame@example.com/a?key=sesame"))
    let text = "The response has more than the 9 bytes that are allowed"
    #expect("\(ResponseLimitError(limit: .size(9), url: url))" == "\(text): https://example.com/a?key=<redacted>")
    #expect("\(ResponseLimitError(limit: .size(9)))" == text)
  }

  @Test(arguments: Wire.allCases) func chunkedBodyIsCounted(_ wire: Wire) async throws {
    let server = try server { .chunked([Data(count: 60), Data(count: 40), Data(count: 1)]) }
    defer { server.stop() }
    let manager = wire.manager(server)
    let error = await #expect(throws: ResponseLimitError.self) {
      try await manager.send(Blob(maximumResponseSize: 100, retryPolicy: RetryPolicy(maxRetryCount: 3)))
    }
    #expect(error == ResponseLimitError(limit: .size(100), url: server.url("/blob")))
    #expect(server.requestCount == 1)
    _ = try await manager.send(Blob(maximumResponseSize: 101))
    await #expect(throws: ResponseLimitError.self) {
      for try await _ in try await manager.stream(Blob(maximumResponseSize: 100), accessToken: nil).chunks {}
    }
  }

  /// RFC 9112 §6.3: the transfer coding overrides the length.
  @Test(arguments: Wire.allCases) func chunkedBodyIsNotLimitedByContentLength(_ wire: Wire) async throws {
    let server = try server {
      .raw("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n")
    }
    defer { server.stop() }
    #expect(try await wire.manager(server).send(Blob(maximumResponseSize: 100)).statusCode == 200)
  }

  @Test(arguments: Wire.allCases) func headResponseIsNotLimitedByContentLength(_ wire: Wire) async throws {
    let server = try server { .status(200, headers: ["Content-Length": "1000"]) }
    defer { server.stop() }
    _ = try await wire.manager(server).send(Blob(method: .head, maximumResponseSize: 1))
  }

  @Test(arguments: Wire.allCases) func errorBodyIsLimited(_ wire: Wire) async throws {
    let server = try server { .data(Data(count: 1_000), status: 500) }
    defer { server.stop() }
    await #expect(throws: ResponseLimitError.self) {
      try await wire.manager(server).send(Blob(maximumResponseSize: 999))
    }
  }

  /// The status alone decides.
  @Test(arguments: Wire.allCases) func unauthorizedIsRefreshedDespiteBodySize(_ wire: Wire) async throws {
    let server = try LoopbackServer()
    defer { server.stop() }
    server.fallback = { request in
      if request.header("Authorization") == "Bearer new" { return .status(200) }
      return request.path == "/counted"
        ? .chunked([Data(count: 60), Data(count: 60)], status: 401) : .data(Data(count: 1_000), status: 401)
    }
    for path in ["/blob", "/counted"] {
      let tokens = TestTokens("old")
      let manager = wire.manager(server)
      manager.tokenRefresher = tokens
      let blob = Blob(path: path, maximumResponseSize: 100)
      #expect(try await manager.send(blob) { tokens.current }.statusCode == 200)
      tokens.token.withLock { $0 = "old" }
      #expect(try await manager.stream(blob) { tokens.current }.statusCode == 200)
      #expect(tokens.count == 2)
      // Without a refresher the limit applies.
      await #expect(throws: ResponseLimitError.self) { try await wire.manager(server).send(blob) { "old" } }
    }
  }

  /// Also where the request accepts it: such a 401 is the result only if the token is not refreshed, and then its body must
  /// be complete.
  @Test(arguments: Wire.allCases, ["/announced", "/counted", "/coded", "/broken"])
  func acceptedUnauthorizedIsRefreshedDespiteItsBody(wire: Wire, path: String) async throws {
    let server = try LoopbackServer()
    defer { server.stop() }
    server.fallback = { request in
      if request.header("Authorization") == "Bearer new" { return .json(#"{"id":1}"#) }
      switch request.path {
      case "/announced": return .data(Data(count: 1_000), status: 401)
      case "/counted": return .chunked([Data(count: 60), Data(count: 60)], status: 401)
      case "/coded": return .data(Data("no gzip".utf8), status: 401).header("Content-Encoding", "gzip")
      default: return .streaming(contentLength: 100, status: 401, [.sendString("x"), .close])
      }
    }
    let probe = Probe<Numbered>(path: path, acceptedStatuses: .any, maximumResponseSize: 100)
    let tokens = TestTokens("old")
    let manager = wire.manager(server)
    manager.tokenRefresher = tokens
    #expect(try await manager.response(to: probe) { tokens.current }.statusCode == 200)
    tokens.token.withLock { $0 = "old" }
    #expect(try await manager.send(probe) { tokens.current } == Numbered(id: 1))
    tokens.token.withLock { $0 = "old" }
    #expect(try await manager.stream(probe) { tokens.current }.statusCode == 200)
    #expect(tokens.count == 3)
    let limited = wire.manager(server)
    let isLimited = path == "/announced" || path == "/counted"
    let error = await #expect(throws: (any Error).self) { try await limited.response(to: probe) { "old" } }
    #expect((error is ResponseLimitError) == isLimited)
    if path == "/announced" {
      await #expect(throws: ResponseLimitError.self) { try await limited.stream(probe) { "old" } }
    }
  }

  @Test func mockBodyIsLimited() async throws {
    struct Mock: URLSessionProtocol {
      func data(for request: URLRequest) async throws -> (Data, URLResponse) {
        let url = try #require(request.url)
        let response = try #require(HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil))
        return (Data(count: 11), response)
      }
    }
    let url = try #require(URL(string: "https://example.com"))
    let manager = NetworkManager(baseURL: url, session: Mock())
    _ = try await manager.send(Blob(maximumResponseSize: 11))
    await #expect(throws: ResponseLimitError.self) { try await manager.send(Blob(maximumResponseSize: 10)) }
  }

  #if os(Linux)
    /// 300 MB of zeros in 300 KB.
    private static let bomb: Data = {
      var bytes = Data([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255])
      // A deflate block of a zero and matches of it (RFC 1951 §3.2.6), not terminated.
      var bits = BitWriter()
      bits.write(0b011, 3)
      bits.writeHuffman(0x30, 8)
      for _ in 0..<200_000 {
        bits.writeHuffman(0b1100_0101, 8)
        bits.writeHuffman(0, 5)
      }
      bytes.append(contentsOf: bits.bytes)
      return bytes
    }()

    private struct BitWriter {
      var bytes: [UInt8] = []
      private var used = 8
      mutating func write(_ value: Int, _ count: Int) {
        for bit in 0..<count {
          if used == 8 {
            bytes.append(0)
            used = 0
          }
          bytes[bytes.count - 1] |= UInt8((value >> bit) & 1) << UInt8(used)
          used += 1
        }
      }
      mutating func writeHuffman(_ code: Int, _ count: Int) {
        for bit in stride(from: count - 1, through: 0, by: -1) { write((code >> bit) & 1, 1) }
      }
    }

    @Test func decompressionBombIsStopped() async throws {
      let server = try server { .data(Self.bomb, headers: ["Content-Encoding": "gzip"]) }
      defer { server.stop() }
      let manager = Wire.automatic.manager(server)
      let bySize = await #expect(throws: ResponseLimitError.self) {
        try await manager.send(Blob(maximumResponseSize: 10_000_000))
      }
      #expect(bySize?.limit == .size(10_000_000))
      let byInflation = await #expect(throws: ResponseLimitError.self) {
        try await manager.send(Blob(maximumInflation: 20))
      }
      #expect(byInflation?.limit == .inflation(20))
      // Without a limit all of it is inflated, and is found to be truncated.
      let error = await #expect(throws: URLError.self) { try await manager.send(Probe<Data>(path: "/blob")) }
      #expect(error?.code == .cannotDecodeContentData)
    }

    @Test func smallBodyMayExceedInflationLimit() async throws {
      let server = try server { .data(Data(Self.bomb.prefix(400)), headers: ["Content-Encoding": "gzip"]) }
      defer { server.stop() }
      let error = await #expect(throws: URLError.self) {
        try await Wire.automatic.manager(server).send(Probe<Data>(path: "/blob", maximumInflation: 2))
      }
      #expect(error?.code == .cannotDecodeContentData)
    }
  #endif
}
