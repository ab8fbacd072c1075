import LoopbackServer
import Testing

@testable import EKNetwork

@Suite(.timeLimit(.minutes(10))) struct WatchedSocketsTests {
  @Test func pollerIsCalledOnlyForChanges() {
    var sockets = WatchedSockets()
    let first = [sockets.watch(7, 2, tag: 1), sockets.watch(7, 1, tag: 1), sockets.watch(7, 1, tag: 1)]
    #expect(first == [true, true, false])
    // Another connection's, or other events, or another socket.
    let other = [sockets.watch(7, 1, tag: 2), sockets.watch(7, 3, tag: 2), sockets.watch(3, 1, tag: 2)]
    #expect(other == [true, true, true])
    #expect(sockets.count == 2)
  }

  @Test func removedSocketIsWatchedFromScratch() {
    var sockets = WatchedSockets()
    #expect(sockets.events(of: 7) == nil)
    _ = sockets.watch(7, 1, tag: 1)
    #expect(sockets.events(of: 7) == 1 && sockets.events(of: 6) == nil)
    sockets.remove(7)
    #expect(sockets.count == 0 && sockets.events(of: 7) == nil)
    let mustCall = sockets.watch(7, 1, tag: 1)
    #expect(mustCall)
  }

  @Test func unknownDescriptorsAreHarmless() {
    var sockets = WatchedSockets()
    sockets.remove(100)
    sockets.remove(-1)
    let mustCall = sockets.watch(-1, 1, tag: 1)
    #expect(mustCall && sockets.events(of: -1) == nil)
  }

  #if os(Linux)
    /// Loops of these tests alone. Like every loop they live as long as the process.
    private static let (kept, ended, idle) = (
      EventLoops(count: 1), EventLoops(count: 1), EventLoops(count: 1)
    )

    private let server: LoopbackServer
    private let request: TransportRequest

    init() throws {
      server = try LoopbackServer()
      request = TransportRequest(URLRequest(url: server.url("/ok"), timeoutInterval: 600))
    }

    private func transport(_ loops: EventLoops) throws -> HTTPTransport {
      try #require(HTTPTransport(configuration: .ephemeral, eventLoops: loops))
    }

    @Test func keptConnectionIsReusedAndWatchedOnce() async throws {
      defer { server.stop() }
      server.route("/ok") { _ in .text("ok") }
      let transport = try transport(Self.kept)
      for _ in 0..<10 {
        #expect(try await transport.fetch(request).data.count == 2)
        #expect(Self.kept.watchedCount <= 1)
      }
      #expect(server.acceptedConnections == 1)
    }

    /// The system reuses the descriptor of a closed socket.
    @Test(arguments: [LoopbackServer.Response.Ending.close, .closeSilently, .reset])
    func connectionAfterAClosedOneIsWatched(ending: LoopbackServer.Response.Ending) async throws {
      defer { server.stop() }
      server.route("/ok") { _ in
        var response = LoopbackServer.Response.text("ok")
        response.ending = ending
        return response
      }
      let transport = try transport(Self.ended)
      for _ in 0..<20 { #expect(try await transport.fetch(request).data.count == 2) }
      #expect(server.acceptedConnections == 20)
      while Self.ended.watchedCount > 0 { await Task.yield() }
    }

    @Test func closedIdleConnectionsAreNoLongerWatched() async throws {
      defer { server.stop() }
      server.route("/ok") { _ in .text("ok") }
      let (transport, request) = (try transport(Self.idle), request)
      for _ in 0..<3 {
        try await withThrowingTaskGroup(of: Int.self) { group in
          for _ in 0..<50 { group.addTask { try await transport.fetch(request).data.count } }
          for try await count in group { #expect(count == 2) }
        }
        // None, if the loop has found nothing on a socket that a direct start has read in the meantime.
        #expect(Self.idle.watchedCount <= 6)
        server.closeConnections()
        while Self.idle.watchedCount > 0 { await Task.yield() }
      }
    }
  #endif
}
