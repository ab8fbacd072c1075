/// The state that decides how a request handles its 401: send again, wait for the refresh in flight, or start one.
///
/// A request records ``generation`` before it reads its token. The token may then be newer than the recorded
/// generation, never older; so a generation from before the last successful refresh means that the rejected token was
/// the previous one.
struct TokenRefreshState: Equatable, Sendable {
  enum Action: Equatable, Sendable {
    /// The token was renewed since the request was sent: send it again.
    case retryNow
    /// Wait for the refresh in flight.
    case join
    /// Start a refresh and wait for it.
    case start
  }

  /// The number of refreshes that have succeeded.
  private(set) var generation: UInt64 = 0
  private(set) var isRefreshing = false

  /// Decides about the 401 of a request that recorded `generation`.
  mutating func unauthorized(generation: UInt64) -> Action {
    // Checked first, even for an older generation: a refresh in flight means that the current token was rejected as
    // well, and the request has only one more attempt.
    if isRefreshing { return .join }
    if generation < self.generation { return .retryNow }
    isRefreshing = true
    return .start
  }

  /// Ends the refresh in flight. After a failed one the generation stays the same, and the next 401 starts another.
  mutating func finished(_ result: Result<Void, any Error>) {
    guard isRefreshing else { return }
    isRefreshing = false
    if case .success = result { generation += 1 }
  }
}
