/// The action that a policy takes for a cached response: the table of ``PrismCachePolicy``.
enum CacheDecision: Equatable {
  /// The state of the cached response for a request.
  enum Stored {
    case nothing
    case fresh
    case stale
  }

  /// Send the request.
  case fetch
  /// Return the stored response.
  case serve
  /// Return the stored response, and revalidate it in the background.
  case serveAndRevalidate
  /// Return the stored response first, then the network's.
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
