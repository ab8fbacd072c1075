/// The interface of ``NetworkManager`` for reading a response while it arrives, so that tests can inject a mock.
public protocol NetworkStreaming: AnyObject {
  /// Sends a request and returns as soon as the head of a successful response has arrived.
  nonisolated(nonsending) func stream<T: NetworkRequest>(
    _ request: T,
    accessToken: (() -> String?)?
  ) async throws -> StreamingResponse
}

extension NetworkStreaming {
  /// Streams the response of a request that needs no access token.
  @_disfavoredOverload
  public nonisolated(nonsending) func stream<T: NetworkRequest>(_ request: T) async throws -> StreamingResponse {
    try await stream(request, accessToken: nil)
  }
}
