/// A provider that renews the access token when the server no longer accepts it.
///
/// ``NetworkManager`` calls it when a response is 401 (RFC 9110 §15.5.2), once for any number of simultaneous ones, and
/// sends each of their requests again when ``refreshTokenIfNeeded()`` has returned.
///
/// A class or an actor can be one; a plain class is sufficient, and need not be `Sendable`. A manager never runs two
/// calls at a time, and each call sees what the previous one has written. The calls are made in a task of the manager,
/// however, not on the actor of the sender: what the provider shares with other code, for example its token store, must
/// be safe to use from any thread, or belong to an actor.
public protocol TokenRefreshProvider: AnyObject {
  /// Obtains a new access token and stores it where the `accessToken` closures read it.
  ///
  /// It may send requests with the same manager. If one of those gets a 401 itself, it fails with
  /// ``NetworkError/unauthorized`` instead of waiting for the refresh that it is part of; so does one that the refresh
  /// waits for through a ``PrismRequestDeduplicator`` or a ``PrismOfflineQueue``. A request sent from
  /// `Task.detached` is not recognised as part of the refresh, and would wait for ever: do not send the refresh request
  /// from there. Nor may the refreshers of two managers wait for each other.
  ///
  /// The call is not cancelled when the requests that wait for it are: each of those stops waiting by itself.
  ///
  /// - Throws: Any error; all requests that wait for the token throw it. The next 401 starts another refresh.
  func refreshTokenIfNeeded() async throws

  /// Obtains a new access token, given the response that rejected the last one: its `WWW-Authenticate` (RFC 9110 §11.6.1)
  /// may name the scope that is missing. This is what the manager calls. Defaults to ``refreshTokenIfNeeded()``.
  ///
  /// - Parameter response: The 401 that began the refresh, of however many. Its body is empty if the request accepts a 401.
  func refreshToken(after response: NetworkResponse) async throws
}

extension TokenRefreshProvider {
  // The requirement documents the default.
  // swift-format-ignore: AllPublicDeclarationsHaveDocumentation
  public func refreshToken(after response: NetworkResponse) async throws { try await refreshTokenIfNeeded() }
}
