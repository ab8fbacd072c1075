#if os(Linux)
  import Foundation
  import FoundationNetworking
  import Testing

  @testable import EKNetwork

  /// Servers that leave some of the requests on a connection without a response.
  extension HTTP2FaultPeerTests {
    @Test("A request that gets no response times out, whatever else is sent over its connection")
    func silentStream() async throws {
      let manager = try Self.makeManager(peer)
      _ = try await manager.send(Probe<Size>(path: "/ok"))
      var probe = Probe<StatusCodeResponse>(path: "/never", method: .post, timeout: .milliseconds(500))
      probe.body = RequestBody(data: Data(count: 100), contentType: "a/b")
      let failure = Locked<(any Error)?>(nil)
      let silent = Task { [probe] in
        do {
          _ = try await manager.send(probe)
        } catch {
          failure.withLock { $0 = error }
        }
      }
      // Each takes 50 ms.
      var count = 0
      while failure.withLock({ $0 == nil }), count < 100 {
        _ = try await manager.send(Probe<StatusCodeResponse>(path: "/later"))
        count += 1
      }
      #expect((failure.withLock { $0 } as? URLError)?.code == .timedOut, "after \(count) other requests")
      silent.cancel()
      await silent.value
    }

    /// The limit comes with the end of the handshake, and each response when the other request has arrived as well.
    @Test("A request beyond the streams that a server allows from the beginning gets another connection")
    func fewStreamsFromTheBeginning() async throws {
      let manager = try Self.makeManager(peer, port: "limited", connections: 2)
      try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<2 {
          group.addTask {
            try await manager.send(Probe<StatusCodeResponse>(path: "/", timeout: .seconds(20))).statusCode
          }
        }
        for try await status in group { #expect(status == 200) }
      }
    }
  }
#endif
