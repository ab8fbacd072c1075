import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Whether responses may be read from, and stored in, the cache of a session.
///
/// `URLSession.shared`, and every session that is created without configuring a cache, use the process's shared cache,
/// which follows the rules of HTTP (RFC 9111). A caller expects the server's response, on every platform alike, and can
/// choose one of the library's own caches. A session with a cache, or a cache policy, of its own uses it. An ephemeral
/// session has a small in-memory cache by default, which does not count.
struct SessionCaching: Sendable, Equatable {
  private static let ephemeral = URLSessionConfiguration.ephemeral.urlCache.map(capacities)

  let isWanted: Bool

  init(_ configuration: URLSessionConfiguration) {
    guard configuration.requestCachePolicy == .useProtocolCachePolicy else {
      isWanted = true
      return
    }
    guard let cache = configuration.urlCache, cache !== URLCache.shared else {
      isWanted = false
      return
    }
    isWanted = Self.capacities(cache) != Self.ephemeral ?? [0, 0]
  }

  private static func capacities(_ cache: URLCache) -> [Int] { [cache.memoryCapacity, cache.diskCapacity] }

  /// Makes a request bypass a cache that is not wanted, unless the request has a cache policy of its own.
  func apply(to request: inout URLRequest) {
    guard !isWanted, request.cachePolicy == .useProtocolCachePolicy else { return }
    request.cachePolicy = .reloadIgnoringLocalCacheData
  }
}
