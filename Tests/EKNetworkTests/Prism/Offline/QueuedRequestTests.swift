import Foundation
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(10))) struct QueuedRequestTests {
  private struct Get: NetworkRequest {
    typealias Response = EmptyResponse
    let path = "/item"
    let method = HTTPMethod.get
  }

  /// The queue does not decode it, and those who ask for it later want it decoded.
  @Test func codedResponseIsNotForOthers() async throws {
    let session = StubSession()
    session.on(.get, "/item") { _ in
      .data(Data("a".utf8), headers: ["Content-Encoding": "gzip", "Cache-Control": "max-age=1000"])
    }
    let manager = ExtremeNumbersTests.manager(session)
    let cache = HTTPCache()
    manager.httpCache = cache
    let queue = try PrismOfflineQueue(directory: nil, delivery: .manager(manager), autoFlush: false)
    try await queue.enqueue(URLRequest(url: ExtremeNumbersTests.url))
    try await queue.flush()
    #expect(session.requests.count == 1 && cache.statistics.stores == 1)
    _ = try await manager.send(Get())
    #expect(session.requests.count == 2)
  }
}
