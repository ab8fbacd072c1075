import Testing

@testable import EKNetwork

@Suite("WebSocket handshake")
struct HandshakeTests {
  private func request(
    _ url: String, protocols: [String] = [], headers: [String: String] = [:], compression: WebSocketCompression? = nil
  ) throws -> HandshakeRequest {
    var request = URLRequest(url: try #require(URL(string: url)))
    for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
    var options = WebSocketOptions()
    options.compression = compression
    // The key of RFC 6455 §1.3.
    return try HandshakeRequest(request, protocols: protocols, options: options, nonce: Array("the sample nonce".utf8))
  }

  private let head =
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nconnection: keep-alive, Upgrade\r\n"
    + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"

  /// A connection that the server has closed without reading the request.
  private final class ResetConnection: ByteTransport {
    private let last: Result<String, any Error>

    init(_ last: Result<String, any Error>) { self.last = last }

    func open() async throws {}
    func receive() async throws -> [UInt8] { Array(try last.get().utf8) }
    func send(_ bytes: [UInt8], isLast: Bool, completion: @escaping @Sendable ((any Error)?) -> Void) {
      completion(ByteTransportError.failed("The request was not sent"))
    }
    func cancel() {}
  }

  @Test("What the server has said before it closed the connection unread is the error; otherwise that of sending is")
  func unreadRequest() async throws {
    let handshake = try request("wss://example.com/")
    func run(_ last: Result<String, any Error>) async throws {
      _ = try await Handshake.run(handshake, on: ResetConnection(last), options: WebSocketOptions())
    }
    let alert = await #expect(throws: URLError.self) { try await run(.failure(URLError(.clientCertificateRequired))) }
    #expect(alert?.code == .clientCertificateRequired)
    await #expect(throws: WebSocketError.refused(status: 403, headers: [:])) {
      try await run(.success("HTTP/1.1 403 No\r\n\r\n"))
    }
    let lost = WebSocketError.connectionLost(reason: "The request was not sent")
    await #expect(throws: lost) { try await run(.success("")) }
    await #expect(throws: lost) { try await run(.failure(ByteTransportError.failed("The connection was reset"))) }
  }

  private func respond(_ text: String, to request: HandshakeRequest) throws -> HandshakeResponse.Agreement? {
    var response = HandshakeResponse(to: request)
    return try response.receive(Array(text.utf8))
  }

  @Test("The request matches RFC 6455 and carries the user's header fields")
  func requestHead() throws {
    let handshake = try request(
      "ws://example.com:8080/chat?a=%20b", protocols: ["v2", "v1"], headers: ["Authorization": "Bearer t"])
    #expect(handshake.key == "dGhlIHNhbXBsZSBub25jZQ==")
    #expect(handshake.expectedAccept == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    let lines = String(decoding: handshake.head, as: UTF8.self).components(separatedBy: "\r\n")
    #expect(lines[0] == "GET /chat?a=%20b HTTP/1.1")
    #expect(lines.contains("Host: example.com:8080"))
    #expect(lines.contains("Sec-WebSocket-Protocol: v2, v1"))
    #expect(lines.contains("Authorization: Bearer t"))
    #expect(try request("wss://[::1]/").address.port == 443)
  }

  @Test("A request without a URL is rejected like one with an invalid URL")
  func noURL() async throws {
    var request = URLRequest(url: try #require(URL(string: "ws://a/")))
    request.url = nil
    let urlless = request
    await #expect(throws: WebSocketError.invalidURL) { _ = try await WebSocket.connect(to: urlless) }
  }

  @Test("Invalid URLs, subprotocols and header fields are rejected before anything is sent")
  func badRequests() throws {
    #expect(throws: WebSocketError.invalidURL) { try request("ftp://example.com/") }
    #expect(throws: WebSocketError.invalidURL) { try request("ws:///path") }
    for protocols in [[""], ["a b"], ["a", "b", "a"]] {
      let error = #expect(throws: InvalidHeaderError.self) { try request("ws://a/", protocols: protocols) }
      #expect(error?.errorDescription == "A subprotocol is not a token, or is listed twice")
    }
    #expect(throws: InvalidHeaderError.self) { try request("ws://a/", headers: ["Sec-WebSocket-Key": "x"]) }
    #expect(throws: InvalidHeaderError.self) { try request("ws://a/", protocols: ["a b"]) }
  }

  @Test("A response is parsed the same for any chunking, and the bytes after it are kept")
  func cutResponses() throws {
    let handshake = try request("ws://a/", protocols: ["v1"])
    let whole = head + "Sec-WebSocket-Protocol: v1\r\n\r\nxyz"
    for position in 1..<whole.utf8.count - 3 {
      var response = HandshakeResponse(to: handshake)
      let bytes = Array(whole.utf8)
      let first = try response.receive(Array(bytes[..<position]))
      let agreement = try first ?? response.receive(Array(bytes[position...]))
      #expect(agreement?.subprotocol == "v1")
      #expect(agreement?.rest == Array("xyz".utf8))
    }
  }

  @Test("Interim responses are skipped for any chunking")
  func interim() throws {
    let handshake = try request("ws://a/")
    let whole = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + head + "\r\nxyz"
    let bytes = Array(whole.utf8)
    for position in 1..<bytes.count - 3 {
      var response = HandshakeResponse(to: handshake)
      let first = try response.receive(Array(bytes[..<position]))
      let agreement = try first ?? response.receive(Array(bytes[position...]))
      #expect(agreement?.rest == Array("xyz".utf8))
      #expect(agreement?.headers["link"] == nil)
    }
    #expect(throws: WebSocketError.self) { try respond("HTTP/1.1 103 Early Hints\r\n\r\ngarbage", to: handshake) }
    let endless = String(repeating: "HTTP/1.1 103 Early Hints\r\n\r\n", count: 3_000)
    #expect(throws: WebSocketError.invalidHandshake(reason: "its head is too long")) {
      try respond(endless, to: handshake)
    }
  }

  @Test("Refusals and redirects throw their status, malformed responses an invalid handshake")
  func badResponses() throws {
    let handshake = try request("ws://a/", compression: WebSocketCompression())
    for status in [200, 301, 401, 404, 503] {
      #expect(throws: WebSocketError.refused(status: status, headers: ["location": "/b"])) {
        try respond("HTTP/1.1 \(status) No\r\nLocation: /b\r\n\r\n", to: handshake)
      }
    }
    // Nothing follows a refusal: where its body ends may be uncertain.
    let framings = [
      "Content-Length: 1\r\nContent-Length: 2", "Content-Length: x", "Transfer-Encoding: gzip, chunked",
      "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked, gzip",
    ]
    for framing in framings {
      #expect { try respond("HTTP/1.1 503 No\r\n\(framing)\r\n\r\nabc", to: handshake) } throws: {
        if case .refused(status: 503, headers: _) = $0 as? WebSocketError { true } else { false }
      }
    }
    let broken = [
      "garbage", "HTTP/1.1 abc\r\n\r\n", head.replacingOccurrences(of: "s3p", with: "x") + "\r\n",
      head + "Sec-WebSocket-Protocol: v9\r\n\r\n", head + "Sec-WebSocket-Extensions: x-other\r\n\r\n",
      head + "Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=99\r\n\r\n",
      "HTTP/1.1 101 Yes\r\n\r\n", head + "no colon\r\n\r\n",
      head + "A: b\rC: d\r\n\r\n", head + "A: b\nC: d\r\n\r\n", head + "A: b\0\r\n\r\n",
      "HTTP/1.1 101 Yes\r\nA: " + String(repeating: "a", count: 70_000),
    ]
    for text in broken {
      #expect { try respond(text, to: handshake) } throws: {
        if case .invalidHandshake = $0 as? WebSocketError { true } else { false }
      }
    }
  }

  @Test("Compression is negotiated according to RFC 7692")
  func compression() throws {
    let offer = WebSocketCompression(serverContextTakeover: false, serverMaxWindowBits: 10)
    #expect(
      DeflateParameters.offer(offer)
        == "permessage-deflate; server_no_context_takeover; server_max_window_bits=10; client_max_window_bits")
    #expect(try DeflateParameters.agreed(nil, offer: offer) == nil)
    let agreed = try DeflateParameters.agreed(
      "permessage-deflate; server_no_context_takeover; server_max_window_bits=\"9\"; client_max_window_bits=11",
      offer: offer)
    #expect(agreed == DeflateParameters(clientKeepsContext: true, serverKeepsContext: false, clientWindowBits: 11))
    #expect(throws: WebSocketError.self) { try DeflateParameters.agreed("permessage-deflate", offer: offer) }
    #expect(throws: WebSocketError.self) { try DeflateParameters.agreed("permessage-deflate", offer: nil) }
  }
}
