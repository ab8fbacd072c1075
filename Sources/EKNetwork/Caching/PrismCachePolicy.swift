/// How a request makes use of a cache.
public enum PrismCachePolicy: String, CaseIterable, Sendable {
  /// The network alone: nothing stored is read. What comes is stored.
  case networkOnly
  /// The stored answer as long as it is good, else the network.
  case cacheFirst
  /// The stored answer, however old, at once; then, in any case, the network's.
  case cacheThenNetwork
  /// The stored answer, however old. One that is no longer good is renewed in the background, by one request however
  /// many ask (RFC 5861 §3). Without one, the network.
  case staleWhileRevalidate
}
