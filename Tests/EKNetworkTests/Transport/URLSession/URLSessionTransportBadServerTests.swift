import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Server errors that do not end the process. The others are in the documentation of `URLSessionTransport`.
@Suite("URLSessionTransport: bad servers", .enabled(if: Platform.isLinux), .timeLimit(.minutes(10)))
struct URLSessionTransportBadServerTests {
  private func code(
    of response: LoopbackServer.Response, scheme: String = "http", _ change: (inout URLRequest) -> Void = { _ in }
  ) async throws -> URLError.Code? {
    let server = try LoopbackServer()
    server.fallback = { _ in response }
    let url = try #require(URL(string: "\(scheme)://127.0.0.1:\(server.port)/"))
    var request = URLRequest(url: url)
    change(&request)
    let transport = URLSessionTransport(URLSession(configuration: .ephemeral))
    let error = await #expect(throws: URLError.self) { try await transport.fetch(TransportRequest(request)) }
    #expect(error?.failingURL == url)
    #expect(error?.localizedDescription.isEmpty == false)
    return error?.code
  }

  @Test(
    "A malformed response fails with badServerResponse",
    arguments: [
      "garbage\r\n\r\n",
      "HTTP/1.1 2x0 OK\r\n\r\n",
      "HTTP/1.1 200 OK\r\nX A: b\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 200 OK\nContent-Length: 0\n\n",
      "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n",
    ])
  func malformed(text: String) async throws {
    #expect(try await code(of: .raw(text)) == .badServerResponse)
  }

  @Test("A connection that ends too early fails with networkConnectionLost")
  func lost() async throws {
    #expect(try await code(of: .raw("")) == .networkConnectionLost)
    #expect(try await code(of: .raw([.reset])) == .networkConnectionLost)
    #expect(
      try await code(of: .raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")) == .networkConnectionLost)
    #expect(
      try await code(of: .raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel"))
        == .networkConnectionLost)
    #expect(
      try await code(of: .streaming(contentLength: 10, [.sendString("hello"), .reset])) == .networkConnectionLost)
  }

  @Test("A body that cannot be decoded fails with cannotDecodeContentData")
  func coding() async throws {
    #expect(
      try await code(of: .text("not gzip at all", headers: ["Content-Encoding": "gzip"])) == .cannotDecodeContentData)
    try await expecting(.codesOfUnknownCodings) {
      for name in ["Content-Encoding", "Transfer-Encoding"] {
        let code = try await code(of: .text("x", headers: [name: "unheard-of"]))
        #expect(code == .cannotDecodeContentData)
      }
    }
  }

  @Test("TLS to a server without TLS fails with secureConnectionFailed")
  func plainServer() async throws {
    #expect(try await code(of: .raw("not TLS"), scheme: "https") == .secureConnectionFailed)
  }

  @Test("An unknown host fails with cannotFindHost")
  func unknownHost() async throws {
    let url = try #require(URL(string: "http://no-such-host.invalid/"))
    let transport = URLSessionTransport(URLSession(configuration: .ephemeral))
    let error = await #expect(throws: URLError.self) {
      try await transport.fetch(TransportRequest(URLRequest(url: url)))
    }
    #expect(error?.code == .cannotFindHost)
  }

  @Test("A cookie that crashes Foundation's own parser does not end the process")
  func hostileCookie() async throws {
    let server = try LoopbackServer()
    server.fallback = { _ in .text("ok", headers: ["Set-Cookie": "👨‍👩‍👧‍👦=1"]).header("Set-Cookie", "a=1; 🇩🇪🇩🇪=2") }
    let transport = URLSessionTransport(URLSession(configuration: .ephemeral))
    for _ in 0..<2 {
      let fetched = try await transport.fetch(TransportRequest(URLRequest(url: server.url("/"))))
      #expect(fetched.data == Data("ok".utf8))
    }
    #expect(server.requests.last?.header("Cookie")?.contains("a=1") == true)
  }

  @Test("A GET with a body fails with dataLengthExceedsMaximum, as on Apple platforms")
  func getWithBody() async throws {
    #expect(try await code(of: .text("")) { $0.httpBody = Data(count: 1) } == .dataLengthExceedsMaximum)
  }
}
