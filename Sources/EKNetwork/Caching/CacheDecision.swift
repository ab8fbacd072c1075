/// What a policy makes of what is stored: the table of ``PrismCachePolicy``.
enum CacheDecision: Equatable {
  /// What the cache has for a request.
  enum Stored {
    case nothing
    case fresh
    case stale
  }

  /// Ask the network.
  case fetch
  /// The stored response is the result.
  case serve
  /// The stored response is the result; renew it in the background.
  case serveAndRevalidate
  /// The stored response is the first of two.
  case serveThenFetch

  init(_ policy: PrismCachePolicy, _ stored: Stored) {
    self =
      switch (policy, stored) {
      case (.networkOnly, _), (_, .nothing), (.cacheFirst, .stale): .fetch
      case (.cacheFirst, .fresh), (.staleWhileRevalidate, .fresh): .serve
      case (.staleWhileRevalidate, .stale): .serveAndRevalidate
      case (.cacheThenNetwork, _): .serveThenFetch
      }
  }
}
