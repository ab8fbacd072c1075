/// Renews the access token when the server no longer takes it.
public protocol TokenRefreshProvider {
  /// Called once for any number of simultaneous 401 answers.
  func refreshTokenIfNeeded() async throws
}
