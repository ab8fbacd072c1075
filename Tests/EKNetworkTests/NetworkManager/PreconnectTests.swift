import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(5))) struct PreconnectTests {
  @Test func sessionsThatOnlySendRequestsOpenNothing() async throws {
    let server = try LoopbackServer()
    let session = URLSession(configuration: .ephemeral)
    for manager in [
      NetworkManager(baseURL: server.baseURL, session: StubSession()),
      NetworkManager(baseURL: server.baseURL, session: session, transport: .urlSession),
    ] {
      #expect(try await manager.preconnect() == false)
    }
    #expect(server.acceptedConnections == 0)
  }

  #if os(Linux)
    /// Returns a manager whose idle connections no other test's take the place of.
    private func manager(
      _ url: URL, _ options: ConnectionOptions = ConnectionOptions(), timings: Locked<[NetworkTimings]> = Locked([]),
      _ change: (URLSessionConfiguration) -> Void = { _ in }
    ) throws -> NetworkManager {
      let configuration = URLSessionConfiguration.ephemeral
      change(configuration)
      let transport = HTTPTransport(
        configuration: configuration, options: options, eventLoops: EventLoops(count: 1))
      let manager = NetworkManager(baseURL: { url }, transport: try #require(transport))
      manager.eventHandler = { event in
        guard case .finished(_, _, let measured) = event.kind else { return }
        timings.withLock { $0.append(measured) }
      }
      return manager
    }

    @Test func requestsUseTheConnection() async throws {
      let server = try LoopbackServer()
      server.route("/item", .json("{}"))
      let timings = Locked<[NetworkTimings]>([])
      let manager = try manager(server.baseURL, timings: timings)
      for _ in 0..<3 { #expect(try await manager.preconnect()) }
      #expect(await server.waitForOpenConnections(1))
      #expect(server.requests.isEmpty)
      for _ in 0..<3 {
        _ = try await manager.send(Probe<EmptyResponse>())
        #expect(try await manager.preconnect())
      }
      #expect(server.acceptedConnections == 1)
      #expect(timings.withLock { $0.map(\.isConnectionReused) } == [true, true, true])
    }

    @Test func hundredAtOnceAreNotMoreThanTheSessionMayOpen() async throws {
      let server = try LoopbackServer()
      let manager = try manager(server.baseURL) { $0.httpMaximumConnectionsPerHost = 4 }
      try await withThrowingTaskGroup(of: Bool.self) { group in
        for _ in 0..<100 { group.addTask { try await manager.preconnect() } }
        for try await isOpen in group { #expect(isOpen) }
      }
      #expect((1...4).contains(server.acceptedConnections))
    }

    /// It is one that was used before, so that the request may be repeated.
    @Test func connectionThatTheServerHasClosedIsReplaced() async throws {
      let server = try LoopbackServer()
      server.route("/item", .json("{}"))
      let manager = try manager(server.baseURL)
      #expect(try await manager.preconnect())
      #expect(await server.waitForOpenConnections(1))
      server.closeConnections()
      _ = try await manager.send(Probe<EmptyResponse>())
      #expect(server.requests.count == 1)
    }

    @Test func failureIsThatOfConnecting() async throws {
      let unresponsive = try LoopbackServer.UnresponsivePort()
      let url = try #require(URL(string: "http://127.0.0.1:\(unresponsive.port)"))
      // The first, so that no connection but its own is being made.
      let cancelled = try manager(url) { $0.timeoutIntervalForRequest = 600 }
      let task = Task { try await cancelled.preconnect() }
      let patience = ContinuousClock.now + .seconds(120)
      while connectingSockets(to: unresponsive.port) == 0, ContinuousClock.now < patience { await Task.yield() }
      #expect(connectingSockets(to: unresponsive.port) > 0)
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      let slow = try manager(url, ConnectionOptions(connectTimeout: .milliseconds(100)))
      let error = await #expect(throws: URLError.self) { try await slow.preconnect() }
      #expect(error?.code == .cannotConnectToHost)
      let refused = try manager(try #require(URL(string: "http://127.0.0.1:1")))
      #expect(await #expect(throws: URLError.self) { try await refused.preconnect() }?.code == .cannotConnectToHost)
      let invalid = try manager(try #require(URL(string: "ftp://127.0.0.1")))
      #expect(await #expect(throws: URLError.self) { try await invalid.preconnect() }?.code == .unsupportedURL)
    }
  #endif
}
