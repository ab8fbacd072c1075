import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension NetworkManager {
  /// The command line that sends a request with curl, as `send` would build it. Nothing is sent. What a session adds,
  /// such as cookies and its `httpAdditionalHeaders`, is not in it.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - accessToken: Gives the token for `Authorization: Bearer …`. Defaults to `nil`.
  ///   - revealingSecrets: Whether credentials, the values of query items and the body are shown. Defaults to `false`.
  /// - Throws: What building the request throws, as `send` does.
  public nonisolated func curlCommand<T: NetworkRequest>(
    for request: T, accessToken: (() -> String?)? = nil, revealingSecrets: Bool = false
  ) throws -> String {
    try RequestBuilder.build(
      request, baseURL: baseURL(), accessToken: accessToken?(),
      userAgent: userAgentConfiguration?.generateUserAgentString()
    ).curlCommand(revealingSecrets: revealingSecrets)
  }
}
