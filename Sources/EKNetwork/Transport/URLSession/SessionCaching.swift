import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Whether responses may come from, and go to, the cache of a session.
///
/// `URLSession.shared` and every session that is made without a word about caching have the process's shared cache, which
/// follows the rules of HTTP (RFC 9111). A caller wants the server's response, on every platform alike,
/// and has caches of the library's own to choose. A session with a cache, or a policy, of its own says otherwise. An
/// ephemeral session has a small one in memory without having asked for it.
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

  /// A request with a policy of its own keeps it.
  func apply(to request: inout URLRequest) {
    guard !isWanted, request.cachePolicy == .useProtocolCachePolicy else { return }
    request.cachePolicy = .reloadIgnoringLocalCacheData
  }
}
