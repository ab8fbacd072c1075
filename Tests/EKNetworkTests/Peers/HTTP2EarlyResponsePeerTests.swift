#if os(Linux)
  import Foundation
  import FoundationNetworking
  import Testing

  @testable import EKNetwork

  /// A server that responds over HTTP/2 before the request is complete (RFC 9113 §8.1), with Python's `h2`.
  @Suite(
    "Early responses over HTTP/2", .serialized, .timeLimit(.minutes(10)), .enabled(if: PeerProcess.python != nil),
    .enabled(if: TransportDescription.current.capabilities.contains("http2")))
  struct HTTP2EarlyResponsePeerTests {
    private struct Size: Decodable { var size: Int }

    private struct Counts: Decodable {
      var requests: Int
      /// The number of bytes of the bodies that have arrived over HTTP/2.
      var received: Int
    }

    private let peer: PeerProcess
    private let manager: NetworkManager

    init() throws {
      peer = try PeerProcess.shared("http2_faults.py")
      manager = try HTTP2FaultPeerTests.makeManager(peer)
    }

    /// The next stream is served.
    private func isWell() async throws { #expect(try await manager.send(Probe<Size>(path: "/ok")).size == 0) }

    private func counts(_ path: String) async throws -> Counts {
      try await manager.send(Probe<Counts>(path: "/counts\(path)"))
    }

    private func start(
      _ path: String, _ body: @escaping @Sendable () -> RequestBody
    ) -> Task<StatusCodeResponse, any Error> {
      Task { [manager] in
        var probe = Probe<StatusCodeResponse>(path: path, method: .post)
        probe.body = body()
        return try await manager.send(probe)
      }
    }

    /// The first window has room for 65,535 bytes, and there is no second one. libcurl counts 64 KiB more as sent.
    @Test(
      "A response before the request is complete is returned and ends the upload", arguments: [10_000_000, 200_000])
    func earlyResponse(size: Int) async throws {
      var probe = Probe<StatusCodeResponse>(path: "/early/200/held", method: .post)
      probe.body = RequestBody(data: Data(count: size), contentType: "a/b")
      #expect(try await manager.send(probe).statusCode == 200)
      var count = 0
      for try await chunk in try await manager.stream(probe).chunks {
        count += chunk.count
        _ = try await manager.send(Probe<StatusCodeResponse>(path: "/release"))
      }
      #expect(count == 2)
      probe.path = "/early/413/held"
      let error = await #expect(throws: HTTPError.self) { try await manager.send(probe) }
      #expect(error?.statusCode == 413 && error?.data == Data("ok".utf8))
      for path in ["/early/200/held", "/early/413/held"] { #expect(try await counts(path).received <= 65_535) }
      // If the reset follows at once, libcurl may lose the response, but does not wait for more.
      probe.path = "/early/200"
      do { _ = try await manager.send(probe) } catch let error as URLError {
        #expect(error.code == .networkConnectionLost)
      }
      // In either case it was sent once.
      #expect(try await counts("/early/200").requests == 1)
      try await isWell()
    }

    /// The window of the connection is used up by another stream (RFC 9113 §5.2.1). Newer versions of libcurl count as
    /// sent what waits for it.
    @Test("A response to a body that has been read and cannot be sent ends the upload")
    func earlyResponseWithoutWindow() async throws {
      let first = start("/stall/first") { RequestBody(data: Data(count: 60_000), contentType: "a/b") }
      while try await counts("/stall/first").received < 60_000 {}
      // With a status of 300 or above, libcurl stops sending by itself.
      for status in [200, 413] {
        var probe = Probe<StatusCodeResponse>(path: "/early/\(status)/held", method: .post)
        probe.body = RequestBody(data: Data(count: 60_000), contentType: "a/b")
        do { #expect(try await manager.send(probe).statusCode == status) } catch let error as HTTPError {
          #expect(error.statusCode == status)
        }
        #expect(try await counts(probe.path).received <= 5_535)
      }
      first.cancel()
      await #expect(throws: CancellationError.self) { try await first.value }
      try await isWell()
    }

    /// Some versions of libcurl send such an upload over HTTP/1.1, and others over HTTP/2.
    @Test("Requests neither wait for an upload nor use its connection")
    func requestsBesideAnUpload() async throws {
      let (stream, input) = AsyncStream<Data>.makeStream()
      defer { input.finish() }
      let upload = start("/stall/beside") { RequestBody(sequence: stream, contentType: "a/b") }
      let other = try HTTP2FaultPeerTests.makeManager(peer)
      while try await other.send(Probe<Counts>(path: "/counts/stall/beside")).requests == 0 {}
      try await isWell()
      // The server closes the connection on which it gets the next request.
      _ = try await manager.send(Probe<StatusCodeResponse>(path: "/stale"))
      for _ in 0..<3 { try await isWell() }
      upload.cancel()
      // Over HTTP/2 it shared the connection.
      await #expect(throws: (any Error).self) { try await upload.value }
    }

    @Test(
      "A complete response ends an upload whose body has nothing to send", arguments: ["", "/unsized"], [0, 1, 100])
    func waitingBody(kind: String, pieces: Int) async throws {
      let (body, input) = unending(pieces)
      defer { input.finish() }
      var probe = Probe<StatusCodeResponse>(path: "/early/413\(kind)/held", method: .post)
      probe.body = body
      let error = await #expect(throws: HTTPError.self) { try await manager.send(probe) }
      #expect(error?.statusCode == 413 && error?.data == Data("ok".utf8))
      try await isWell()
    }

    /// From the head on it is the server that is silent.
    @Test("Silence after a refusal is limited while the body has nothing to send", arguments: [0, 1])
    func silenceAfterARefusal(pieces: Int) async throws {
      let (body, input) = unending(pieces)
      defer { input.finish() }
      var probe = Probe<StatusCodeResponse>(path: "/early-head/413/NO_ERROR/held", method: .post)
      probe.timeout = .milliseconds(500)
      probe.body = body
      let error = await #expect(throws: HTTPError.self) { try await manager.send(probe) }
      #expect(error?.statusCode == 413)
      try await isWell()
    }

    /// A body of which these pieces are there, and that does not end.
    private func unending(_ pieces: Int) -> (RequestBody, AsyncStream<Data>.Continuation) {
      let (stream, input) = AsyncStream<Data>.makeStream()
      for _ in 0..<pieces { input.yield(Data(count: 1_000)) }
      return (RequestBody(sequence: stream, contentType: "a/b"), input)
    }

    @Test(
      "A response without content ends an upload",
      arguments: [0, 1, 100])
    func noContent(pieces: Int) async throws {
      let (body, input) = unending(pieces)
      defer { input.finish() }
      var probe = Probe<StatusCodeResponse>(path: "/early/204/held", method: .post)
      probe.body = body
      #expect(try await manager.send(probe).statusCode == 204)
      try await isWell()
    }

    @Test(
      "An upload whose stream is reset after the head of a response has failed",
      arguments: ["CANCEL", "INTERNAL_ERROR", "NO_ERROR"],
      [0, 1, 100])
    func resetAfterTheHead(code: String, pieces: Int) async throws {
      for end in ["", "/held"] {
        let (body, input) = unending(pieces)
        defer { input.finish() }
        var probe = Probe<StatusCodeResponse>(path: "/early-head/200/\(code)\(end)", method: .post)
        probe.body = body
        let error = await #expect(throws: URLError.self, "\(end)") {
          let stream = try await manager.stream(probe).chunks
          if !end.isEmpty { _ = try await manager.send(Probe<StatusCodeResponse>(path: "/release")) }
          // More of the body, for a server that no longer wants it.
          input.yield(Data(count: 1_000))
          for try await _ in stream {}
        }
        #expect(error?.code == .networkConnectionLost, "\(end)")
      }
      try await isWell()
    }

    /// Larger than the window, so that the rest of the body waits. If libcurl only begins to send after the reset, it
    /// counts as sent what it discards.
    @Test(
      "An upload that is being sent when its stream is reset has failed",
      arguments: ["CANCEL", "INTERNAL_ERROR", "NO_ERROR"],
      [100_000, 200_000, 10_000_000])
    func resetDuringTheUpload(code: String, size: Int) async throws {
      let end = size > 1_000_000 ? "" : "/full"
      var probe = Probe<StatusCodeResponse>(path: "/early-head/200/\(code)\(end)", method: .post)
      probe.body = RequestBody(data: Data(count: size), contentType: "a/b")
      let error = await #expect(throws: URLError.self) { try await manager.send(probe) }
      #expect(error?.code == .networkConnectionLost)
      try await isWell()
    }
  }
#endif
