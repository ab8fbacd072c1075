/// Decides what a request does about its 401: send again, wait for the refresh in flight, or start one.
///
/// A request notes ``generation`` before it reads its token. The token may then be newer than the note, never older,
/// so that a note from before the last successful refresh tells that the refused token was the one from before it.
struct TokenRefreshState: Equatable, Sendable {
  enum Action: Equatable, Sendable {
    /// The token was renewed since the request was sent: send it again.
    case retryNow
    /// Wait for the refresh in flight.
    case join
    /// Start a refresh, and wait for it.
    case start
  }

  /// How many refreshes have succeeded.
  private(set) var generation: UInt64 = 0
  private(set) var isRefreshing = false

  /// A request that noted `generation` got a 401.
  mutating func unauthorized(generation: UInt64) -> Action {
    // First, even for an older note: a refresh in flight means that the token of today was refused as well, and the
    // request has only one more attempt.
    if isRefreshing { return .join }
    if generation < self.generation { return .retryNow }
    isRefreshing = true
    return .start
  }

  /// The refresh in flight has ended. After a failed one the generation stands, and the next 401 starts another.
  mutating func finished(_ result: Result<Void, any Error>) {
    guard isRefreshing else { return }
    isRefreshing = false
    if case .success = result { generation += 1 }
  }
}
