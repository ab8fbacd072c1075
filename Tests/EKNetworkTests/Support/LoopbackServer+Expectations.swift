import LoopbackServer
import Testing

extension LoopbackServer {
  /// Waits for that many requests, for a path or in all. The test fails if they do not come.
  func expectRequests(
    _ count: Int, path: String? = nil, sourceLocation: SourceLocation = #_sourceLocation
  ) async {
    let received = await waitForRequests(count: count, path: path).count
    #expect(received >= count, sourceLocation: sourceLocation)
  }
}
