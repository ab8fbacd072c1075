#if os(Linux)
  import LoopbackServer
  import Testing

  @testable import EKNetwork

  /// What Tests/Fuzz/responses.sh has found, each with the seed and the index that did.
  @Suite(.timeLimit(.minutes(10))) struct SpoiledResponsesTests {
    private func error(of response: String, requests: Int = 1) async throws -> URLError? {
      let server = try LoopbackServer()
      defer { server.stop() }
      server.route("/") { _ in .raw([.sendString(response)]) }
      let transport = try #require(CurlTransport(configuration: .ephemeral))
      var last: URLError?
      for _ in 0..<requests {
        do {
          _ = try await transport.fetch(TransportRequest(URLRequest(url: server.url("/"), timeoutInterval: 600)))
          last = nil
        } catch let error as URLError { last = error }
      }
      return last
    }

    /// Seed 1, 2798: paused for a reader that waited for a head, the transfer stayed for ever.
    @Test func aBodyWithoutAHeadEnds() async throws {
      let noise = String(repeating: "X: v\n\r", count: 200_000)
      let error = try await error(of: "HTTP/1.1 102 Processing\r\n\r\nhttp/1.1 200 OK\n\r" + noise)
      #expect(error?.code == .badServerResponse)
    }

    /// Seed 1, 2986: libcurl 8.14 and later name that limit by a code of its own.
    @Test func aStatusLineWithoutAnEnd() async throws {
      let error = try await error(of: "HTTP/1.1 200 OK" + String(repeating: "\rX-A: v", count: 50_000))
      #expect(error?.code == .dataLengthExceedsMaximum)
    }

    /// Seed 1, 39 and 44: libcurl before 8.1 keeps a pointer to the lines of the response before.
    @Test func aFoldOntoNothingHarmsNobody() async throws {
      let folded = "HTTP/1.1 200 OK\r\n folded: x\r\nX-A: b\r\nContent-Length: 2\r\n\r\nok"
      let code = try await error(of: folded, requests: 50)?.code
      #expect([nil, .badServerResponse].contains(code))
    }
  }
#endif
