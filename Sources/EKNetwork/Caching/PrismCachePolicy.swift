/// How a request uses a cache.
public enum PrismCachePolicy: String, CaseIterable, Sendable {
  /// Uses the network only: stored responses are ignored. The network's response is stored.
  case networkOnly
  /// Returns the stored response if it is fresh, otherwise the network's.
  case cacheFirst
  /// Returns the stored response at once, however old, and then always the network's.
  case cacheThenNetwork
  /// Returns the stored response, however old. A stale one is revalidated in the background, by a single request
  /// however many callers there are (RFC 5861 §3). If nothing is stored, uses the network.
  case staleWhileRevalidate
}
