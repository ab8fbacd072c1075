#if os(Linux)
  import LoopbackServer
  import Testing

  @testable import EKNetwork

  /// Unusual and malformed responses of HTTP/1.1 servers.
  struct BadAnswersTests {
    private struct Row: Sendable {
      let name: String
      let reply: String
      var code: URLError.Code?
      var status = 200
      var body = ""
      var latin1 = false
      var method = "GET"
      /// The error with some versions of libcurl.
      var otherCode: URLError.Code?
      /// How FoundationNetworking behaves instead.
      var limitation: Limitation?
      var differences: [LibcurlDifference] = []
    }

    private static let rows: [Row] = [
      Row(
        name: "trailers", reply: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-T: 1\r\n\r\n",
        body: "ok", limitation: .endsTheProcess),
      Row(
        name: "a bare status line", reply: "HTTP/1.1 200 OK\r\n", code: .badServerResponse, limitation: .endsTheProcess
      ),
      Row(
        name: "a head cut short", reply: "HTTP/1.1 200 OK\r\nX-A: b", code: .badServerResponse,
        limitation: .endsTheProcess),
      Row(
        name: "an interim answer and half a head", reply: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nA:",
        code: .badServerResponse, limitation: .endsTheProcess),
      Row(name: "only interim answers", reply: "HTTP/1.1 103 Early Hints\r\n\r\n", code: .networkConnectionLost),
      Row(
        name: "interim answers first",
        reply: "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", body: "ok"),
      Row(
        name: "the longest length", reply: "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\nok",
        code: .networkConnectionLost, limitation: .endsTheProcess),
      Row(
        name: "a length past 64 bits", reply: "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nok",
        code: .badServerResponse, limitation: .believesIt),
      Row(
        name: "a negative length", reply: "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nok", code: .badServerResponse),
      Row(
        name: "two lengths", reply: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!",
        code: .badServerResponse, limitation: .waitsForTheTimeout),
      Row(
        name: "the same length twice", reply: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok",
        body: "ok"),
      Row(
        name: "chunked and a length",
        reply: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        body: "ok"),
      Row(
        name: "no space after the colon", reply: "HTTP/1.1 200 OK\r\nContent-Length:2\r\nX:y\r\n\r\nok", body: "ok",
        limitation: .losesTheAnswer),
      Row(
        name: "a value of blanks", reply: "HTTP/1.1 200 OK\r\nX:   \r\nContent-Length: 2\r\n\r\nok", body: "ok",
        limitation: .losesTheAnswer),
      Row(
        name: "a latin-1 byte", reply: "HTTP/1.1 200 OK\r\nX-Name: caf\u{e9}\r\nContent-Length: 2\r\n\r\nok",
        body: "ok", latin1: true, limitation: .losesTheAnswer),
      Row(
        name: "line feeds alone", reply: "HTTP/1.1 200 OK\nContent-Length: 2\n\nok", body: "ok",
        limitation: .losesTheAnswer),
      Row(
        name: "no reason phrase", reply: "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok", body: "ok",
        limitation: .losesTheAnswer),
      Row(
        name: "a folded value", reply: "HTTP/1.1 200 OK\r\nX-A: one\r\n two\r\nContent-Length: 2\r\n\r\nok", body: "ok"
      ),
      Row(
        name: "a body cut short", reply: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok", code: .networkConnectionLost
      ),
      Row(
        name: "chunks cut short", reply: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nok",
        code: .networkConnectionLost),
      Row(
        name: "a chunk size that is none",
        reply: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nok\r\n0\r\n\r\n", code: .badServerResponse),
      Row(
        name: "a chunk size too long",
        reply: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffffff\r\nok",
        code: .badServerResponse),
      Row(
        name: "chunk extensions",
        reply: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\nok\r\n0\r\n\r\n", body: "ok"),
      Row(
        name: "bytes after the body", reply: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 500 No\r\n\r\n",
        body: "ok"),
      Row(
        name: "an unknown transfer coding", reply: "HTTP/1.1 200 OK\r\nTransfer-Encoding: zip\r\n\r\nok",
        code: .badServerResponse, limitation: .callsItAnUnknownCoding,
        differences: [.refusesAnUnknownTransferCoding, .ignoresAnUnknownTransferCoding]),
      Row(name: "HTTP/0.9", reply: "<html>hello</html>", code: .badServerResponse),
      Row(name: "another protocol", reply: "SSH-2.0-OpenSSH_9.2\r\n", code: .badServerResponse),
      Row(name: "a status of two digits", reply: "HTTP/1.1 20 OK\r\n\r\n", code: .badServerResponse),
      Row(name: "a status that is none", reply: "HTTP/1.1 abc OK\r\n\r\n", code: .badServerResponse),
      Row(name: "no byte", reply: "", code: .networkConnectionLost),
      Row(
        name: "protocols switched unasked", reply: "HTTP/1.1 101 Switching Protocols\r\n\r\n",
        code: .badServerResponse, limitation: .waitsForTheTimeout),
      Row(
        name: "a field without a name", reply: "HTTP/1.1 200 OK\r\n: b\r\nContent-Length: 2\r\n\r\nok", body: "ok",
        limitation: .losesTheAnswer),
      Row(
        name: "a body where there is none", reply: "HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nok",
        status: 204),
      Row(
        name: "a status line in lower case", reply: "Http/1.1 404 No\r\nContent-Length: 2\r\n\r\nok",
        code: .badServerResponse, limitation: .believesIt),
      Row(
        name: "a status line of HTTP/2 in lower case", reply: "Http/2 200 OK\r\nContent-Length: 2\r\n\r\nok",
        code: .badServerResponse, limitation: .believesIt),
      Row(
        name: "a second status line", reply: "HTTP/1.1 200 OK\r\nHTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nok",
        code: .badServerResponse, limitation: .believesIt),
      Row(
        name: "a bare carriage return in a value",
        reply: "HTTP/1.1 200 OK\r\nX-A: b\rSet-Cookie: c=d\r\nContent-Length: 2\r\n\r\nok",
        code: .badServerResponse, limitation: .believesIt),
      Row(
        name: "a coding of no body", reply: "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: zip\r\n\r\n",
        status: 304, limitation: .believesIt),
      Row(
        name: "a coding of a HEAD response", reply: "HTTP/1.1 200 OK\r\nTransfer-Encoding: zip\r\n\r\n",
        method: "HEAD", limitation: .believesIt),
      Row(
        name: "many folded lines",
        reply: "HTTP/1.1 200 OK\r\nA: b\r\n" + String(repeating: " c\r\n", count: 70_000) + "\r\n",
        code: .badServerResponse, otherCode: .dataLengthExceedsMaximum, limitation: .believesIt),
      Row(name: "until the connection ends", reply: "HTTP/1.1 200 OK\r\n\r\nok", body: "ok"),
    ]

    @Test(arguments: Wire.allCases, rows.indices) func rawResponseIsHandled(_ wire: Wire, _ index: Int) async throws {
      var row = Self.rows[index]
      if let limitation = row.limitation, wire == .urlSession {
        guard let code = limitation.code else { try Test.cancel("\(row.name): \(limitation.rawValue)") }
        row.code = code
      }
      let server = try LoopbackServer()
      defer { server.stop() }
      let bytes = row.latin1 ? row.reply.data(using: .isoLatin1) : Data(row.reply.utf8)
      server.route("/") { [bytes] _ in .raw([.send(bytes ?? Data())]) }
      let transport = wire.transport()
      var urlRequest = URLRequest(url: server.url("/"), timeoutInterval: 10)
      urlRequest.httpMethod = row.method
      let request = TransportRequest(urlRequest)
      try await expecting(row.differences.first { $0.isPossible }, where: wire == .urlSession) { [row] in
        do {
          let response = try await transport.fetch(request)
          #expect(row.code == nil, "\(row.name)")
          #expect(response.head.statusCode == row.status, "\(row.name)")
          #expect(String(decoding: response.data, as: UTF8.self) == row.body, "\(row.name)")
          if row.latin1 { #expect(response.head.value("x-name") == "café") }
          _ = response.head.urlResponse
        } catch let error as URLError {
          let text = error.localizedDescription
          #expect(error.code == row.code || error.code == row.otherCode, "\(row.name): \(text)")
          #expect(text.count > 8, "\(row.name)")
          // What only a reader of libcurl's source understands.
          let isInternal = ["libcurl function", "memory", "callback"].contains { text.contains($0) }
          #expect(!isInternal || wire == .urlSession, "\(row.name): \(text)")
        }
      }
      #expect(await server.waitForOpenConnections(0))
    }

    @Test func oversizedHeadIsRejected() async throws {
      let server = try LoopbackServer()
      defer { server.stop() }
      let field = "X-A: " + String(repeating: "x", count: 1_000) + "\r\n"
      server.route("/") { _ in
        .raw([.sendString("HTTP/1.1 200 OK\r\n" + String(repeating: field, count: 400) + "\r\n"), .stall])
      }
      server.route("/line") { _ in
        .raw([.sendString("HTTP/1.1 200 OK\r\nX: " + String(repeating: "x", count: 200_000) + "\r\n\r\n"), .stall])
      }
      server.route("/interim") { _ in
        .raw([.sendString(String(repeating: "HTTP/1.1 102 Processing\r\n\r\n", count: 12_000)), .stall])
      }
      let transport = try #require(HTTPTransport(configuration: .ephemeral))
      for path in ["/", "/line", "/interim"] {
        let error = await #expect(throws: URLError.self) {
          try await transport.fetch(TransportRequest(URLRequest(url: server.url(path))))
        }
        let text = error?.localizedDescription ?? ""
        #expect(error?.code == .dataLengthExceedsMaximum, "\(path): \(text)")
        #expect(!text.contains("Out of memory") && !text.contains("grew"), "\(path): \(text)")
      }
    }

    @Test func resetIsNetworkConnectionLost() async throws {
      let server = try LoopbackServer()
      defer { server.stop() }
      server.route("/head") { _ in .raw([.sendString("HTTP/1.1 200 OK\r\nX"), .reset]) }
      server.route("/body") { _ in .streaming(contentLength: 10, [.sendString("abc"), .reset]) }
      server.route("/none") { _ in .raw([.reset]) }
      let transport = try #require(HTTPTransport(configuration: .ephemeral))
      for path in ["/head", "/body", "/none"] {
        let error = await #expect(throws: URLError.self) {
          try await transport.fetch(TransportRequest(URLRequest(url: server.url(path))))
        }
        #expect(error?.code == .networkConnectionLost, "\(path): \(error?.localizedDescription ?? "")")
      }
    }
  }
#endif
