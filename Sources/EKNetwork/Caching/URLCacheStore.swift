import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Keeps responses in a `URLCache`, each under the request that it is a response to, together with its expiry.
///
/// A `URLCache` does not know requests apart that differ in their header fields, nor, on Linux, in their query or
/// method. So each entry says what it is a response to. One that is in the place of a newer one moves to a place of its
/// own, a path that no request goes to.
struct URLCacheStore: ResponseStore {
  /// When an entry expires, in seconds since 1970.
  static let expirationField = "prism.network.cache.expiration"
  private static let storedField = "prism.network.cache.stored"
  private static let keyField = "prism.network.cache.key"

  /// On Linux a `URLCache` crashes some time after an entry was stored over another. Two adapters may share one: what
  /// looks and then stores does so alone. Foundation calls no code of ours meanwhile.
  ///
  /// The state counts the changes, and is not read: a state without a size would have the address of something else, and
  /// the thread sanitizer would take one for the other.
  private static let lock = Locked(0)

  private let cache: SharedURLCache
  let now: @Sendable () -> Date

  init(_ cache: URLCache?, now: @escaping @Sendable () -> Date) {
    self.cache = SharedURLCache(cache)
    self.now = now
  }

  func entry(for key: CacheKey) -> (entry: PrismCacheEntry, isFresh: Bool)? {
    let cache = cache.value
    return Self.lock.withLock { _ in
      for request in [key.request, Self.spareRequest(key.request, key.text)] {
        if let found = cache.cachedResponse(for: request), Self.matches(found, key), let entry = entry(found) {
          // One from the future was stored before the clock was set back: its age is unknown. A second is for
          // what conversions between epochs round away.
          let now = now()
          return (entry, entry.expiresAt > now && entry.cachedAt.timeIntervalSince(now) < 1)
        }
      }
      return nil
    }
  }

  func store(_ entry: PrismCacheEntry, for key: CacheKey) {
    guard let response = entry.urlResponse(for: key.request.url) else { return }
    let cache = cache.value
    let new = CachedURLResponse(
      response: response, data: entry.data,
      userInfo: [
        Self.expirationField: entry.expiresAt.timeIntervalSince1970,
        Self.storedField: entry.cachedAt.timeIntervalSince1970, Self.keyField: key.text,
      ], storagePolicy: .allowed)
    Self.lock.withLock { changes in
      changes &+= 1
      let displaced = cache.cachedResponse(for: key.request)
      cache.removeCachedResponse(for: key.request)
      cache.removeCachedResponse(for: Self.spareRequest(key.request, key.text))
      if let displaced, let other = displaced.userInfo?[Self.keyField] as? String, other != key.text {
        let spare = Self.spareRequest(key.request, other)
        cache.removeCachedResponse(for: spare)
        cache.storeCachedResponse(displaced, for: spare)
      }
      cache.storeCachedResponse(new, for: key.request)
    }
  }

  func remove(_ key: CacheKey) {
    let cache = cache.value
    Self.lock.withLock { changes in
      changes &+= 1
      for request in [key.request, Self.spareRequest(key.request, key.text)] {
        if let found = cache.cachedResponse(for: request), Self.matches(found, key) {
          cache.removeCachedResponse(for: request)
        }
      }
    }
  }

  /// An entry that other code has put there, with an expiry but without a key, is a response to its own URL, unless
  /// it may depend on who asks.
  private static func matches(_ found: CachedURLResponse, _ key: CacheKey) -> Bool {
    if let text = found.userInfo?[keyField] as? String { return text == key.text }
    return found.response.url?.absoluteString == key.request.url?.absoluteString
      && (key.request.httpMethod ?? "GET") == "GET"
      && !key.namesUser
  }

  private func entry(_ found: CachedURLResponse) -> PrismCacheEntry? {
    guard let expiration = Self.seconds(found.userInfo?[Self.expirationField]) else { return nil }
    let stored = Self.seconds(found.userInfo?[Self.storedField]) ?? now().timeIntervalSince1970
    let response = found.response as? HTTPURLResponse
    return PrismCacheEntry(
      data: found.data, statusCode: response?.statusCode ?? 200, headers: response?.headerDictionary ?? [:],
      cachedAt: Date(timeIntervalSince1970: stored), ttl: Duration(timeInterval: expiration - stored) ?? .zero)
  }

  private static func seconds(_ value: Any?) -> Double? {
    switch value {
    case let date as Date: date.timeIntervalSince1970
    case let number as Double: number
    case let number as NSNumber: number.doubleValue
    default: nil
    }
  }

  /// The request whose place in the cache a key has to itself.
  private static func spareRequest(_ request: URLRequest, _ key: String) -> URLRequest {
    guard let url = request.url, var components = URLComponents(url: url, resolvingAgainstBaseURL: true) else {
      return request
    }
    components.percentEncodedQuery = nil
    // A double slash and a length that no sensible path has. File names on Linux are made of it: it has to be short.
    components.percentEncodedPath = "//prism-cache/" + SHA256.hexadecimal(Array(key.utf8))
    return components.url.map { URLRequest(url: $0) } ?? request
  }
}
