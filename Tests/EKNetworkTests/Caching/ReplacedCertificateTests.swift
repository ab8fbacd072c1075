#if os(Linux)
  import Foundation
  import FoundationNetworking
  import LoopbackServer
  import Testing

  @testable import EKNetwork

  /// The files of a client certificate are replaced while a response is pending, as when another user signs in.
  @Suite(.timeLimit(.minutes(10))) struct ReplacedCertificateTests {
    enum Cache: CaseIterable { case manager, adapter, http }

    private struct GetTeapot: NetworkRequest, Sendable {
      typealias Response = Teapot
      let path = "/item"
      let method = HTTPMethod.get
    }

    private let server: LoopbackServer
    private let folder: ScratchFolder
    private let gate = Gate()

    init() throws {
      server = try LoopbackServer()
      folder = try ScratchFolder()
      let number = Locked(0)
      server.route("/item") { [gate] _ in
        let number = number.withLock { number in
          number += 1
          return number
        }
        gate.waitBlocking()
        return .json(Teapot(id: number), headers: ["Cache-Control": "max-age=60"])
      }
    }

    private func write(_ user: String) throws {
      for name in ["pem", "key"] { try folder.file(name, Data(user.utf8)) }
    }

    /// Returns a function that sends the request, or takes its response from the cache.
    private func client(_ cache: Cache) -> @Sendable () async throws -> Int {
      let tls = TLSOptions(clientCertificate: .init(certificateFile: folder["pem"], keyFile: folder["key"]))
      let manager = NetworkManager(
        baseURL: server.baseURL, session: URLSession(configuration: .ephemeral), transport: .secured(by: tls))
      switch cache {
      case .manager:
        let store = PrismResponseCache()
        return { try await manager.send(GetTeapot(), policy: .cacheFirst, cache: store).id }
      case .adapter:
        let client = PrismNetworkAdapter.forTests(transport: .secured(by: tls))
        let request = server.teapot { $0.cacheInterval = 60 }
        return { try await client.request(on: request).id }
      case .http:
        manager.httpCache = HTTPCache()
        return { try await manager.send(GetTeapot()).id }
      }
    }

    @Test(arguments: Cache.allCases) func pendingResponseIsNotStoredForNextUser(_ cache: Cache) async throws {
      let load = client(cache)
      try write("first user")
      let pending = Task { try await load() }
      await server.expectRequests(1)
      try write("second user")
      gate.open()
      #expect(try await pending.value == 1)
      for _ in 0..<2 { #expect(try await load() == 2) }
      try write("third user")
      #expect(try await load() == 3)
    }
  }
#endif
