import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Stores responses in a `URLCache`, each under the request that it is a response to, together with its expiry.
///
/// A `URLCache` does not distinguish requests that differ in their header fields, nor, on Linux, in their query or
/// method. Each entry therefore records the key of its request. An entry that occupies the place of a newer one is
/// moved to a place of its own, under a path that no request uses.
struct URLCacheStore: ResponseStore {
  /// The key of an entry's expiry date, in seconds since 1970.
  static let expirationField = "prism.network.cache.expiration"
  private static let storedField = "prism.network.cache.stored"
  private static let keyField = "prism.network.cache.key"

  /// On Linux a `URLCache` crashes some time after an entry was overwritten. Two adapters may share a cache, so looking
  /// up and then storing is done under a lock. Foundation calls none of our code meanwhile.
  ///
  /// The state counts the changes and is never read: a state of size zero would share its address with another object,
  /// and the thread sanitizer would confuse the two.
  private static let lock = Locked(0)

  private let cache: AdapterURLCache
  let now: @Sendable () -> Date

  init(_ cache: URLCache?, now: @escaping @Sendable () -> Date) {
    self.cache = AdapterURLCache(cache)
    self.now = now
  }

  func entry(for key: CacheKey) -> (entry: PrismCacheEntry, isFresh: Bool)? {
    let cache = cache.value
    return Self.lock.withLock { _ in
      for request in [key.request, Self.spareRequest(key.request, key.text)] {
        if let found = cache.cachedResponse(for: request), Self.matches(found, key), let entry = entry(found) {
          // An entry dated in the future was stored before the clock was set back: its age is unknown. One second
          // allows for rounding in conversions between epochs.
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

  func removeAll() {
    let cache = cache.value
    Self.lock.withLock { changes in
      changes &+= 1
      cache.removeAllCachedResponses()
    }
  }

  /// Returns whether an entry is a response to the key's request: one that other code stored, with an expiry but
  /// without a key, is a response to its own URL, unless it may depend on the user.
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

  /// The request under which only the responses of one key are stored.
  private static func spareRequest(_ request: URLRequest, _ key: String) -> URLRequest {
    guard let url = request.url, var components = URLComponents(url: url, resolvingAgainstBaseURL: true) else {
      return request
    }
    components.percentEncodedQuery = nil
    // A double slash and a length that no sensible path has. On Linux file names are derived from it, so it has to be
    // short.
    components.percentEncodedPath = "//prism-cache/" + SHA256.hexadecimal(Array(key.utf8))
    return components.url.map { URLRequest(url: $0) } ?? request
  }
}
