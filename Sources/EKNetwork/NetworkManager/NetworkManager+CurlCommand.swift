import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension NetworkManager {
  /// Returns the curl command line for a request, as `send` would build it, without sending anything. What a session
  /// adds, such as cookies and its `httpAdditionalHeaders`, is not included.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - accessToken: Returns the token for `Authorization: Bearer …`. Defaults to `nil`.
  ///   - revealingSecrets: Whether credentials, the values of query items and the body are included. Defaults to
  ///     `false`.
  /// - Throws: The errors of building the request, as `send` does.
  public nonisolated func curlCommand<T: NetworkRequest>(
    for request: T, accessToken: (() -> String?)? = nil, revealingSecrets: Bool = false
  ) throws -> String {
    try RequestBuilder.build(
      request, baseURL: baseURL(), accessToken: accessToken?(),
      userAgent: userAgentConfiguration?.generateUserAgentString()
    ).curlCommand(revealingSecrets: revealingSecrets)
  }
}
