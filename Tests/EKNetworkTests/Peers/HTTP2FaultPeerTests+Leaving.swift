#if os(Linux)
  import Foundation
  import Testing

  @testable import EKNetwork

  /// Servers that leave a connection while many requests use it.
  extension HTTP2FaultPeerTests {
    /// With the last path each connection takes eight requests: what is refused twice gets a connection for itself.
    @Test(
      "Requests that are sent again share the next connection",
      arguments: [("/leave/goaway/20", 1), ("/leave/abort/20", 1), ("/turns/8", 5)])
    func left(path: String, connections: Int) async throws {
      let timings = Locked<[NetworkTimings]>([])
      let manager = try Self.makeManager(peer)
      _ = try await manager.send(Probe<Size>(path: "/ok"))
      manager.eventHandler = { event in
        guard case .finished(_, _, let measured) = event.kind else { return }
        timings.withLock { $0.append(measured) }
      }
      try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<20 { group.addTask { try await manager.send(Probe<Size>(path: path)).size } }
        for try await size in group { #expect(size == 0) }
      }
      let measured = timings.withLock { $0 }
      #expect(measured.count == 20)
      #expect((1...connections).contains(measured.count { $0.isConnectionReused == false }))
    }
  }
#endif
