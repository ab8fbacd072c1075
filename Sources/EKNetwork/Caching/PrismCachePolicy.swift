/// How a request makes use of a cache.
public enum PrismCachePolicy: String, CaseIterable, Sendable {
  /// The network alone: nothing stored is read. What comes is stored.
  case networkOnly
  /// The stored response as long as it is fresh, else the network.
  case cacheFirst
  /// The stored response, however old, at once; then, in any case, the network's.
  case cacheThenNetwork
  /// The stored response, however old. One that is no longer fresh is renewed in the background, by one request however
  /// many ask (RFC 5861 §3). Without one, the network.
  case staleWhileRevalidate
}
