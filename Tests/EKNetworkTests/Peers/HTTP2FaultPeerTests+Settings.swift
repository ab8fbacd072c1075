#if os(Linux)
  import Foundation
  import FoundationNetworking
  import Testing

  @testable import EKNetwork

  /// Settings that a server changes while the connection is in use.
  extension HTTP2FaultPeerTests {
    /// The settings of RFC 9113 §6.5.2, by number.
    private enum Setting: Int {
      case headerTableSize = 1
      case maximumStreams = 3
      case initialWindow = 4
      case maximumFrame = 5
    }

    /// Changes a setting of the connection of `manager`, over another one.
    private func set(_ setting: Setting, _ value: Int, _ name: String, by other: NetworkManager) async throws {
      _ = try await other.send(Probe<StatusCodeResponse>(path: "/set/\(name)/\(setting.rawValue)/\(value)"))
    }

    /// A manager that has one connection, which the server knows by a name.
    private func named(_ name: String, connections: Int = 1) async throws -> NetworkManager {
      let manager = try Self.makeManager(peer, connections: connections)
      _ = try await manager.send(Probe<StatusCodeResponse>(path: "/name/\(name)"))
      return manager
    }

    @Test("A server that allows fewer streams than there are gets no more before they have ended")
    func fewerStreams() async throws {
      let (manager, other) = (try await named("fewer"), try Self.makeManager(peer))
      var feeds: [AsyncThrowingStream<Data, any Error>.Iterator] = []
      for _ in 0..<5 {
        var feed = try await manager.stream(Probe<StatusCodeResponse>(path: "/hold")).chunks.makeAsyncIterator()
        #expect(try await feed.next()?.count == 1_000)
        feeds.append(feed)
      }
      try await set(.maximumStreams, 2, "fewer", by: other)
      // This one is answered after the change has arrived, or waits like the others.
      let sends = (0..<20).map { _ in Task { try await manager.send(Probe<Size>(path: "/ok")).size } }
      _ = try await other.send(Probe<Size>(path: "/peak/fewer"))
      _ = try await other.send(Probe<StatusCodeResponse>(path: "/release"))
      for index in feeds.indices {
        #expect(try await feeds[index].next()?.count == 1_000)
        #expect(try await feeds[index].next() == nil)
      }
      for send in sends { #expect(try await send.value == 0) }
      _ = try await other.send(Probe<Size>(path: "/peak/fewer"))
      try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<20 { group.addTask { try await manager.send(Probe<Size>(path: "/ok")).size } }
        for try await size in group { #expect(size == 0) }
      }
      #expect((1...2).contains(try await other.send(Probe<Size>(path: "/peak/fewer")).size))
    }

    /// Whether the system keeps less than ``unsentRequests()`` sends.
    private static var keepsFew: Bool {
      let sizes = try? String(contentsOfFile: "/proc/sys/net/ipv4/tcp_wmem", encoding: .utf8)
      return (sizes?.split(whereSeparator: \.isWhitespace).last.flatMap { Int($0) } ?? .max) <= 4 << 20
    }

    @Test(
      "Requests that were not sent before a server allowed fewer streams go elsewhere",
      .enabled(if: HTTP2FaultPeerTests.keepsFew))
    func unsentRequests() async throws {
      let (manager, other) = (try Self.makeManager(peer, port: "slow"), try Self.makeManager(peer))
      _ = try await manager.send(Probe<StatusCodeResponse>(path: "/name/unsent"))
      var pause = try await manager.stream(Probe<StatusCodeResponse>(path: "/pause")).chunks.makeAsyncIterator()
      #expect(try await pause.next()?.count == 1_000)
      // Nothing is read on the connection any more.
      let sends = (0..<95).map { _ in
        Task {
          var probe = Probe<Size>(path: "/ok")
          probe.headers = ["X-Large": String(repeating: "~", count: 62_000)]
          return try await manager.send(probe).size
        }
      }
      try await set(.maximumStreams, 1, "unsent", by: other)
      let first = try await withThrowingTaskGroup(of: Int.self) { group in
        for send in sends { group.addTask { try await send.value } }
        defer { for send in sends { send.cancel() } }
        return try await group.next()
      }
      #expect(first == 0)
    }

    @Test("A connection that may have no streams any more does not hold requests up")
    func noStreams() async throws {
      let (manager, other) = (try await named("none"), try Self.makeManager(peer))
      try await set(.maximumStreams, 0, "none", by: other)
      let sends = (0..<20).map { _ in Task { try await manager.send(Probe<Size>(path: "/ok")).size } }
      try await set(.maximumStreams, 3, "none", by: other)
      for send in sends { #expect(try await send.value == 0) }
    }

    /// Returns the number of bytes that the server has read.
    private static func upload(_ count: Int, to path: String, with manager: NetworkManager) async throws -> Int {
      var probe = Probe<Size>(path: path, method: .post)
      probe.body = RequestBody(data: Data(count: count), contentType: "a/b")
      return try await manager.send(probe).size
    }

    /// RFC 9113 §6.9.2: a window may become negative.
    @Test("A body is sent whole, however small the windows are that a server allows")
    func smallWindows() async throws {
      let (manager, other) = (try await named("small"), try Self.makeManager(peer))
      async let upload = Self.upload(300_000, to: "/refill", with: manager)
      try await set(.initialWindow, 0, "small", by: other)
      try await set(.initialWindow, 1_000, "small", by: other)
      #expect(try await upload == 300_000)
      try await set(.initialWindow, 0, "small", by: other)
      #expect(try await Self.upload(2_000, to: "/drip", with: manager) == 2_000)
    }

    @Test("Heads and bodies are as large as a server allows", arguments: [0, 4_096, 1 << 20], [16_384, 16_777_215])
    func largeFrames(table: Int, frame: Int) async throws {
      let name = "large-\(table)-\(frame)"
      let (manager, other) = (try await named(name), try Self.makeManager(peer))
      try await set(.headerTableSize, table, name, by: other)
      try await set(.maximumFrame, frame, name, by: other)
      try await set(.initialWindow, 1 << 20, name, by: other)
      for _ in 0..<3 {
        var probe = Probe<Size>(path: "/ok", method: .post)
        probe.headers = ["X-Large": String(repeating: "x", count: 30_000)]
        probe.body = RequestBody(data: Data(count: 200_000), contentType: "a/b")
        #expect(try await manager.send(probe).size == 200_000)
      }
    }

    /// The connection over HTTP/2 stays open, and has room.
    @Test("Connections to a server that wants HTTP/1.1 are limited", arguments: ["reset", "misdirected"])
    func connectionsWithoutHTTP2(kind: String) async throws {
      let manager = try Self.makeManager(peer, connections: 2)
      let path = "/only-1.1/\(kind)/limit"
      _ = try? await manager.send(Probe<Size>(path: path))
      let reused = Locked<[Bool?]>([])
      manager.eventHandler = { event in
        guard case .finished(_, _, let timings) = event.kind else { return }
        reused.withLock { $0.append(timings.isConnectionReused) }
      }
      try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<50 { group.addTask { try await manager.send(Probe<Size>(path: path)).size } }
        for try await size in group { #expect(size == 0) }
      }
      let measured = reused.withLock { $0 }
      #expect(measured.count == 50 && !measured.contains(nil))
      // One may have been opened before, for the first request.
      #expect(measured.count { $0 == false } <= 2)
    }

    @Test(
      "A feed over HTTP/2 does not block requests that the server wants over HTTP/1.1",
      arguments: ["reset", "misdirected"])
    func feedBesideHTTP1(kind: String) async throws {
      let manager = try Self.makeManager(peer, connections: 1)
      var feed = try await manager.stream(Probe<StatusCodeResponse>(path: "/hold")).chunks.makeAsyncIterator()
      #expect(try await feed.next()?.count == 1_000)
      let path = "/only-1.1/\(kind)/feed"
      _ = try? await manager.send(Probe<Size>(path: path))
      for _ in 0..<3 { #expect(try await manager.send(Probe<Size>(path: path)).size == 0) }
      _ = try await Self.makeManager(peer).send(Probe<StatusCodeResponse>(path: "/release"))
      #expect(try await feed.next()?.count == 1_000)
      #expect(try await feed.next() == nil)
    }

    /// Begins as many streams as the server allows on each connection, and reads none.
    private func leaveUnread(_ count: Int) async throws {
      let (manager, other) = (try Self.makeManager(peer, connections: count / 100), try Self.makeManager(peer))
      let path = "/endless/unread"
      var streams: [StreamingResponse] = []
      var size = 0
      let peak = try await PeakMemory.during {
        for _ in 0..<count { streams.append(try await manager.stream(Probe<StatusCodeResponse>(path: path))) }
        var last = 0
        repeat {
          (last, size) = (size, try await other.send(Probe<Size>(path: "/pumped\(path)")).size)
        } while size < count / 100 * ReceiveWindow.connection / 2 || size > last
      }
      print("\(peak >> 10) KiB of \(size >> 10), in \(streams.count) unread streams")
      #expect(size <= count / 100 * ReceiveWindow.connection)
      #expect(peak < 320 << 20)
    }

    /// The address sanitizer keeps memory that was freed.
    @Test(
      "A thousand unread streams take up little more memory than the windows of their connections",
      .enabled(if: dlsym(nil, "__asan_init") == nil))
    func thousandUnread() async throws {
      let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
        try await HTTP2FaultPeerTests().leaveUnread(1_000)
      }
      PeakMemory.report("HTTP/2", result?.standardOutputContent)
    }
  }
#endif
