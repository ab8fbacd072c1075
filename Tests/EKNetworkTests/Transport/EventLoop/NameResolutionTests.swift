#if os(Linux)
  import Foundation
  import LoopbackServer
  import Testing

  @testable import EKNetwork

  /// Runs in a process whose lookups hang: see `HangingResolver`.
  @Suite("Hanging lookups", .serialized, .timeLimit(.minutes(10)), .enabled(if: HangingResolver.isThere))
  struct HangingLookupTests {
    init() { HangingResolver.reset() }

    private func hanging(_ name: String) throws -> URL {
      try #require(URL(string: "http://\(name).\(HangingResolver.host)/"))
    }

    private func fetch(_ transport: HTTPTransport, _ url: URL, timeout: TimeInterval = 600) async throws -> Data {
      try await transport.fetch(TransportRequest(URLRequest(url: url, timeoutInterval: timeout))).data
    }

    @Test func cancelledLookupDoesNotBlockOthers() async throws {
      let server = try LoopbackServer()
      defer { server.stop() }
      server.route("/") { _ in .text("ok") }
      let transport = try #require(HTTPTransport(configuration: .ephemeral))
      let url = try hanging("cancelled")
      let task = Task { try await fetch(transport, url) }
      await HangingResolver.waitForLookup()
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      for _ in 0..<3 { #expect(try await fetch(transport, server.url("/")) == Data("ok".utf8)) }
      HangingResolver.release()
      #expect(try await fetch(transport, server.url("/")) == Data("ok".utf8))
    }

    @Test func timedOutLookupDoesNotBlockOthers() async throws {
      let server = try LoopbackServer()
      defer { server.stop() }
      server.route("/") { _ in .text("ok") }
      let transport = try #require(HTTPTransport(configuration: .ephemeral))
      let url = try hanging("timed-out")
      let error = await #expect(throws: URLError.self) { try await fetch(transport, url, timeout: 0.2) }
      #expect(error?.code == .timedOut)
      await HangingResolver.waitForLookup()
      #expect(try await fetch(transport, server.url("/")) == Data("ok".utf8))
      HangingResolver.release()
      #expect(try await fetch(transport, server.url("/")) == Data("ok".utf8))
    }

    /// Without a connection an upload cannot make progress.
    @Test func uploadWaitsForItsLookupUntilTheTimeout() async throws {
      let transport = try #require(HTTPTransport(configuration: .ephemeral))
      var request = URLRequest(url: try hanging("upload"), timeoutInterval: 1)
      request.httpMethod = "PUT"
      request.httpBody = Data(count: 1_000)
      let start = ContinuousClock.now
      let error = await #expect(throws: URLError.self) { try await transport.fetch(TransportRequest(request)) }
      #expect(error?.code == .timedOut)
      #expect(ContinuousClock.now - start >= .milliseconds(990))
      HangingResolver.release()
      await HangingResolver.waitForLookup()
    }

    @Test func unresolvedNameIsCannotFindHost() async throws {
      let transport = try #require(HTTPTransport(configuration: .ephemeral))
      let url = try hanging("missing")
      HangingResolver.release()
      let error = await #expect(throws: URLError.self) { try await fetch(transport, url) }
      #expect(error?.code == .cannotFindHost)
      await HangingResolver.waitForLookup()
    }

    @Test func cancelledWebSocketLookupDoesNotBlockOthers() async throws {
      let server = try LoopbackServer()
      defer { server.stop() }
      server.route("/") { _ in .text("ok") }
      let cancelled = try ByteTransports.make(
        ByteTransportEndpoint(host: HangingResolver.host, port: 80, isSecure: false))
      let task = Task { try await cancelled.open() }
      await HangingResolver.waitForLookup()
      cancelled.cancel()
      await #expect(throws: (any Error).self) { try await task.value }
      let other = try ByteTransports.make(
        ByteTransportEndpoint(host: "127.0.0.1", port: try #require(server.url("/").port), isSecure: false))
      try await other.open()
      other.cancel()
      HangingResolver.release()
    }
  }

  @Suite(.timeLimit(.minutes(10)), .enabled(if: !HangingResolver.isThere && HangingResolver.canBeBuilt))
  struct HangingLookupProcessTests {
    @Test("With hanging lookups, a cancelled or timed-out request does not block others")
    func hangingLookups() async throws {
      let output = try await withCheckedThrowingContinuation { continuation in
        // Waiting for the process would block a thread of the cooperative pool.
        Thread.detachNewThread {
          continuation.resume(with: Result { try HangingResolver.run(filter: "HangingLookupTests") })
        }
      }
      #expect(output.contains("Test run with 5 tests in 1 suite passed"), "\(output)")
    }
  }
#endif
