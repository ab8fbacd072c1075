import LoopbackServer
import Testing

@testable import EKNetwork

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

  #if os(Linux)
    /// As those of a request that is sent directly.
    @Test func fieldsAreSentInOrder() async throws {
      let server = try LoopbackServer()
      defer { server.stop() }
      server.route("/item") { _ in .status(204) }
      let manager = Wire.automatic.manager(server)
      let folder = try ScratchFolder()
      manager.offlineQueue = try PrismOfflineQueue(
        directory: folder["queue"], delivery: .manager(manager), autoFlush: false)
      defer { manager.offlineQueue = nil }
      var request = Probe<EmptyResponse>(path: "/item")
      request.headers = ["X-2": "a", "X-1": "b"]
      request.headerFields = ["X-9": "c", "X-0": "d", "X-5": "e", "x-9": "f"]
      try await manager.enqueue(request)
      try await manager.offlineQueue?.flush()
      let sent = try #require(server.requests.first).headers.filter { $0.name.hasPrefix("X-") }
      #expect(sent.map(\.name) == ["X-1", "X-2", "X-9", "X-0", "X-5"])
      #expect(sent.map(\.value) == ["b", "a", "c, f", "d", "e"])
    }
  #endif

  /// Files of an earlier version do not have it.
  @Test(arguments: [["X-9", "X-0"], []]) func orderOfFieldsIsStored(names: [String]) throws {
    let folder = try ScratchFolder()
    var urlRequest = URLRequest(url: ExtremeNumbersTests.url)
    urlRequest.allHTTPHeaderFields = ["X-9": "a", "X-0": "b"]
    var request = PrismQueuedRequest(urlRequest: urlRequest)
    request.fieldNames = names
    let head = try OfflineStore.head(of: StoredRequest(request, body: .none, storesCredentials: false))
    #expect((head.range(of: Data("fieldNames".utf8)) == nil) == names.isEmpty)
    let store = try OfflineStore(folder["queue"], synchronizes: false)
    try store.write(head, Data(), sequence: 1, retryCount: 0)
    let loaded = try #require(try OfflineStore.load(folder["queue"]).entries.first).request
    #expect(loaded.fieldNames == names && loaded.failedOnceMore.fieldNames == names)
    #expect(loaded.urlRequest.allHTTPHeaderFields == urlRequest.allHTTPHeaderFields)
  }
}
