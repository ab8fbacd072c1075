#if os(Linux)
  import Foundation
  import Testing

  @testable import EKNetwork

  /// Trailers of requests over HTTP/2, with Python's `h2`.
  @Suite(
    "HTTP/2 trailers", .timeLimit(.minutes(5)), .enabled(if: PeerProcess.python != nil),
    .enabled(if: TransportDescription.current.capabilities.contains("http2")))
  struct HTTP2TrailersPeerTests {
    private struct Size: Decodable { var size: Int }
    private struct Counts: Decodable { var complete: Int }

    private let manager: NetworkManager
    private let peer: PeerProcess

    init() throws {
      peer = try PeerProcess.shared("http2_faults.py")
      manager = try HTTP2FaultPeerTests.makeManager(peer)
    }

    /// The next stream is served.
    private func isWell() async throws { #expect(try await manager.send(Probe<Size>(path: "/ok")).size == 0) }

    @Test("Trailers follow the body of a request", arguments: [0, 3, 200_000])
    func trailersOfRequest(size: Int) async throws {
      struct Received: Decodable, Equatable {
        var size: Int
        var trailers: [[String]]?
      }
      var probe = Probe<Received>(path: "/sent-trailers", method: .post)
      let fields: [HeaderFieldList] = [["X-Sum": "1", "x-sum": "2", "Empty": ""], [:]]
      for fields in fields {
        probe.body = RequestBody(contentType: "a/b", trailers: { fields }) { Pieces([Data(count: size)]) }
        let trailers = fields.isEmpty ? nil : fields.map { [$0.name.lowercased(), $0.value] }
        #expect(try await manager.send(probe) == Received(size: size, trailers: trailers))
      }
      try await isWell()
    }

    @Test("Trailers that cannot be made reset the stream, and nothing else")
    func trailersThatFail() async throws {
      var probe = Probe<StatusCodeResponse>(path: "/sent-trailers", method: .post)
      probe.body = RequestBody(sequence: Pieces([Data(count: 3)]), contentType: "a/b") { ["Host": "a"] }
      await #expect(throws: InvalidHeaderError.self) { try await manager.send(probe) }
      #expect(try await manager.send(Probe<Counts>(path: "/counts/sent-trailers")).complete == 0)
      try await isWell()
    }
  }
#endif
