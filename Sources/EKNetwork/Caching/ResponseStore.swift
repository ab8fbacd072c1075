import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The storage of a ``CachedLoad``.
protocol ResponseStore: Sendable {
  /// Returns the response, however old, and whether it is fresh.
  func entry(for key: CacheKey) async -> (entry: PrismCacheEntry, isFresh: Bool)?
  func store(_ entry: PrismCacheEntry, for key: CacheKey) async
  func remove(_ key: CacheKey) async
}

extension PrismResponseCache: ResponseStore {
  func entry(for key: CacheKey) -> (entry: PrismCacheEntry, isFresh: Bool)? { stored(key.text) }
  func store(_ entry: PrismCacheEntry, for key: CacheKey) { set(key.text, entry: entry) }
  func remove(_ key: CacheKey) { invalidate(key: key.text) }
}

extension PrismCacheEntry {
  /// - Parameters:
  ///   - ttl: How long the response is fresh.
  ///   - date: The time at which the response was received.
  init(_ response: CollectedResponse, ttl: Duration, at date: Date = Date()) {
    self.init(
      data: response.data, statusCode: response.head.statusCode ?? 0,
      headers: (response.head.urlResponse as? HTTPURLResponse)?.headerDictionary ?? [:],
      cachedAt: date, ttl: ttl)
  }

  /// Whether the server allows the response to be stored at all (RFC 9111 §5.2.2.5, §4.1). A partial response is never
  /// stored.
  var mayBeStored: Bool {
    statusCode != 206 && !lists("no-store", in: "Cache-Control") && !lists("*", in: "Vary")
  }

  private func lists(_ member: String, in field: String) -> Bool {
    (headers.field(field) ?? "").split(separator: ",").contains {
      $0.trimmingCharacters(in: .whitespaces).lowercased() == member
    }
  }

  /// Returns the response's head as Foundation's type.
  func urlResponse(for url: URL?) -> HTTPURLResponse? {
    url.flatMap { HTTPURLResponse(url: $0, statusCode: statusCode, httpVersion: "HTTP/1.1", headerFields: headers) }
  }
}
