#if os(Linux)
  import LoopbackServer
  import Testing

  @testable import EKNetwork

  /// Malformed responses that Tests/Fuzz/responses.sh has found, each with its seed and index.
  @Suite(.timeLimit(.minutes(10))) struct SpoiledResponsesTests {
    private func error(of response: String) async throws -> URLError? {
      let server = try LoopbackServer()
      defer { server.stop() }
      server.route("/") { _ in .raw([.sendString(response)]) }
      let transport = try #require(HTTPTransport(configuration: .ephemeral))
      do {
        _ = try await transport.fetch(TransportRequest(URLRequest(url: server.url("/"), timeoutInterval: 600)))
        return nil
      } catch let error as URLError { return error }
    }

    /// Seed 1, 2798: paused for a reader that waited for a head, the transfer never ended.
    @Test func bodyWithoutAHeadFails() async throws {
      let noise = String(repeating: "X: v\n\r", count: 200_000)
      let error = try await error(of: "HTTP/1.1 102 Processing\r\n\r\nhttp/1.1 200 OK\n\r" + noise)
      #expect(error?.code == .badServerResponse)
    }

    /// Seed 1, 2986: libcurl 8.14 and later report that limit with a separate code.
    @Test func endlessStatusLineFails() async throws {
      let error = try await error(of: "HTTP/1.1 200 OK" + String(repeating: "\rX-A: v", count: 50_000))
      #expect(error?.code == .dataLengthExceedsMaximum)
    }
  }
#endif
