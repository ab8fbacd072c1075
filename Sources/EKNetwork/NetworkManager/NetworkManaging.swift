/// The requirements of a client that sends typed requests, which ``NetworkManager`` meets, so that tests can inject a
/// mock.
public protocol NetworkManaging {
  /// The provider that renews the access token when the server responds with 401.
  var tokenRefresher: TokenRefreshProvider? { get set }
  /// Sends a request and decodes its response.
  nonisolated(nonsending) func send<T: NetworkRequest>(_ request: T, accessToken: (() -> String?)?) async throws
    -> T.Response
}

extension NetworkManaging {
  /// Sends a request that needs no access token.
  @_disfavoredOverload
  public nonisolated(nonsending) func send<T: NetworkRequest>(_ request: T) async throws -> T.Response {
    try await send(request, accessToken: nil)
  }

  /// Sends a request that needs no access token, and whose response may be unused.
  @_disfavoredOverload @discardableResult
  public nonisolated(nonsending) func send<T: NetworkRequest>(
    _ request: T
  ) async throws -> T.Response where T.Response: DiscardableResponse {
    try await send(request, accessToken: nil)
  }
}
