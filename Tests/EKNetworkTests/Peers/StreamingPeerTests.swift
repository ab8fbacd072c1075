#if os(Linux)
  import Foundation
  import FoundationNetworking
  import Testing

  @testable import EKNetwork

  /// Streams of third-party servers: aiohttp; Starlette and sse-starlette under Hypercorn.
  @Suite("Streaming peers", .serialized, .timeLimit(.minutes(10)), .enabled(if: PeerProcess.python != nil))
  struct StreamingPeerTests {
    private let peer: PeerProcess

    init() throws { peer = try PeerProcess.shared("streaming.py") }

    private func manager(_ name: String, of own: PeerProcess? = nil) throws -> NetworkManager {
      let peer = own ?? peer
      let configuration = URLSessionConfiguration.ephemeral
      configuration.timeoutIntervalForRequest = 60
      return NetworkManager(
        baseURL: try peer.url(name, scheme: name.hasSuffix("tls") ? "https" : "http", path: ""),
        session: URLSession(configuration: configuration),
        transport: .secured(by: TLSOptions(certificateAuthorityFile: peer.authority)))
    }

    private func get(_ path: String, _ query: [String: String] = [:]) -> Probe<StatusCodeResponse> {
      Probe(path: path, queryParameters: query)
    }

    @Test("Records sent byte by byte are decoded")
    func dribble() async throws {
      var items: [Item] = []
      for try await item in try await manager("aiohttp").stream(get("/dribble")).ndjson(as: Item.self) {
        items.append(item)
      }
      let names = ["teapot", "чайник", "急須", "🫖", "a\u{2028}b\u{85}c"]
      #expect(items == names.enumerated().map { Item(id: $0.offset, name: $0.element) })
    }

    @Test("A connection lost in mid-record is an error after the complete records", arguments: ["close", "reset"])
    func abrupt(how: String) async throws {
      let manager = try manager("aiohttp")
      var items: [Item] = []
      let error = await #expect(throws: URLError.self) {
        for try await item in try await manager.stream(get("/abrupt", ["how": how])).ndjson(as: Item.self) {
          items.append(item)
          // A reset may overtake what was sent before it.
          if items.count == 4 { _ = try await manager.send(get("/release")) }
        }
      }
      #expect(error?.code == .networkConnectionLost)
      #expect(items.map(\.id) == [0, 1, 2, 3])
    }

    @Test(
      "Each record arrives before the next is sent",
      arguments: ["hypercorn", "hypercorn-tls"], ["/ndjson", "/gzip"])
    func live(name: String, path: String) async throws {
      let manager = try manager(name)
      let protocols = Locked<Set<String?>>([])
      manager.eventHandler = { event in
        guard case .finished(_, _, let timings) = event.kind else { return }
        protocols.withLock { _ = $0.insert(timings.protocolName) }
      }
      let run = UUID().uuidString
      var count = 0
      let response = try await manager.stream(get(path, ["run": run, "count": "50"]))
      for try await item in response.ndjson(as: Item.self) {
        #expect(item == Item(id: count, name: "чай 🫖"))
        // Without it the server sends nothing more.
        _ = try await manager.send(Probe<StatusCodeResponse>(path: "/ack/\(run)/\(count)", method: .post))
        count += 1
      }
      #expect(count == 50)
      let mayUseHTTP2 = TransportDescription.current.capabilities.contains("http2")
      #expect(protocols.withLock { $0 } == [name != "hypercorn" && mayUseHTTP2 ? "HTTP/2" : "HTTP/1.1"])
    }

    @Test("A truncated compressed stream is an error after its records", arguments: ["hypercorn", "hypercorn-tls"])
    func cutCompression(name: String) async throws {
      let manager = try manager(name)
      let run = UUID().uuidString
      var count = 0
      let error = await #expect(throws: URLError.self) {
        let response = try await manager.stream(get("/gzip", ["run": run, "count": "5", "cut": ""]))
        for try await _ in response.ndjson(as: Item.self) {
          _ = try await manager.send(Probe<StatusCodeResponse>(path: "/ack/\(run)/\(count)", method: .post))
          count += 1
        }
      }
      #expect(error?.code == .cannotDecodeContentData)
      #expect(count == 5)
    }

    @Test("Events between pings arrive with all their fields", arguments: ["hypercorn", "hypercorn-tls"])
    func events(name: String) async throws {
      var events: [ServerSentEvent] = []
      for try await event in try await manager(name).stream(get("/events")).events() {
        events.append(event)
        if events.count == 20 { break }
      }
      #expect(
        events
          == (0..<20).map {
            ServerSentEvent(event: "tick", data: "line \($0)\nanother", id: "\($0)", retry: .milliseconds(20))
          })
    }

    @Test("A subscription survives server restarts without lost or duplicate events")
    func restarts() async throws {
      let own = try PeerProcess("streaming.py")
      defer { withExtendedLifetime(own) {} }
      let control = try manager("aiohttp", of: own)
      var numbers: [Int] = []
      for try await event in try manager("hypercorn", of: own).events(get("/events")) {
        numbers.append(try #require(Int(event.id)))
        if numbers.count % 25 == 10 {
          _ = try await control.send(Probe<StatusCodeResponse>(path: "/restart", method: .post))
        }
        if numbers.count == 80 { break }
      }
      #expect(numbers == Array(0..<80))
    }
  }
#endif
