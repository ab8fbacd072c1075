/// Renews the access token when the server no longer takes it.
///
/// ``NetworkManager`` asks when a response is 401 (RFC 9110 §15.5.2), once for any number of simultaneous ones, and
/// sends each of their requests again when ``refreshTokenIfNeeded()`` has returned.
///
/// A plain class will do; it need not be `Sendable`. One manager never calls it twice at a time, and each call sees
/// what the one before has written. The calls come from a task of the manager's own, though, not from the actor of
/// the sender: what the provider shares with other code, for example its token store, must be safe to
/// use from any thread, or belong to an actor.
public protocol TokenRefreshProvider {
  /// Gets a new access token and stores it where the `accessToken` closures find it.
  ///
  /// It may send requests with the same manager. One of those that itself gets a 401 fails with
  /// ``NetworkError/unauthorized`` instead of waiting for the refresh that it is part of. Only a request sent from
  /// `Task.detached` is not known to be part of it, and would wait for ever: do not send the refresh from there. Nor
  /// may the refreshers of two managers wait for each other.
  ///
  /// The call is not cancelled when the requests that wait for it are: each of those leaves by itself.
  ///
  /// - Throws: Whatever went wrong; all requests that wait for the token throw the same. The next 401 tries afresh.
  func refreshTokenIfNeeded() async throws
}
