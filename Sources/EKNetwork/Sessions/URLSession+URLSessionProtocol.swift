import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension URLSession: URLSessionProtocol {
  /// Loads a request as ``NetworkManager`` does, following redirects.
  ///
  /// This implements `data(for:)` of ``URLSessionProtocol`` for `URLSession`. It has a name of its own, so that
  /// `URLSession.shared.data(for:)` in your code is still Foundation's.
  ///
  /// Throws `URLError`, also if the body of an error response breaks off, or `CancellationError` when the task is
  /// cancelled.
  @_implements(URLSessionProtocol,data(for:))
  public func loadThroughEKNetwork(_ request: URLRequest) async throws -> (Data, URLResponse) {
    try await Exchange(transport: TransportSelection.transport(for: self)).data(for: request)
  }
}
