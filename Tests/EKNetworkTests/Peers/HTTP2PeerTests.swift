#if os(Linux)
  import Foundation
  import FoundationNetworking
  import Testing

  @testable import EKNetwork

  /// HTTP/2 with a third-party server (nginx), which sends GOAWAY every 200 requests.
  @Suite("HTTP/2 peers", .serialized, .timeLimit(.minutes(10)), .enabled(if: PeerProcess.python != nil))
  struct HTTP2PeerTests {
    private struct Get: NetworkRequest {
      typealias Response = Item
      var path = "/item.json"
      var method = HTTPMethod.get
    }

    /// The protocol with a server that offers HTTP/2, which is not used on libcurl versions that lose stream errors.
    static let protocolName = TransportDescription.current.capabilities.contains("http2") ? "HTTP/2" : "HTTP/1.1"

    private let peer: PeerProcess
    private let manager: NetworkManager
    private let timings = Locked<[NetworkTimings]>([])

    init() throws {
      peer = try PeerProcess("http2.py")
      let configuration = URLSessionConfiguration.ephemeral
      configuration.timeoutIntervalForRequest = 60
      manager = NetworkManager(
        baseURL: try peer.url("good"), session: URLSession(configuration: configuration),
        transport: .secured(by: TLSOptions(certificateAuthorityFile: peer.file("ca.pem"))))
      manager.eventHandler = { [timings] event in
        guard case .finished(_, _, let measured) = event.kind else { return }
        timings.withLock { $0.append(measured) }
      }
    }

    @Test("Concurrent requests share connections, and a GOAWAY loses none of them")
    func many() async throws {
      try await withThrowingTaskGroup(of: Item.self) { group in
        for _ in 0..<1_000 { group.addTask { try await manager.send(Get()) } }
        for try await item in group { #expect(item == Item(id: 1)) }
      }
      let timings = timings.withLock { $0 }
      #expect(timings.count == 1_000)
      #expect(timings.allSatisfy { $0.protocolName == Self.protocolName })
      // One for each 200 requests, and a few that were opened while one was closing.
      #expect(timings.count { $0.isConnectionReused == false } < 300)
    }

    @Test("An unread stream blocks neither other streams nor its own completion")
    func slowStream() async throws {
      let stream = try await manager.stream(Get(path: "/large"), accessToken: nil)
      for _ in 0..<50 { #expect(try await manager.send(Get()) == Item(id: 1)) }
      var count = 0
      for try await chunk in stream.chunks { count += chunk.count }
      #expect(count == 64 << 20)
    }

    @Test("An abandoned stream closes, and the connection stays usable")
    func leftStream() async throws {
      for _ in 0..<20 {
        for try await _ in try await manager.stream(Get(path: "/large"), accessToken: nil).chunks { break }
        #expect(try await manager.send(Get()) == Item(id: 1))
      }
    }

    @Test("The status and header fields are the same as over HTTP/1.1")
    func errors() async throws {
      let error = await #expect(throws: HTTPError.self) { try await manager.send(Get(path: "/missing")) }
      #expect(error?.statusCode == 404)
      #expect(error?.value(forHTTPHeaderField: "Server")?.hasPrefix("nginx") == true)
    }
  }
#endif
