import Foundation

/// An in-memory cache of responses, each with a time to live of its own. When it is full, expired responses are evicted
/// first, then the least recently used.
///
/// The cost of `get` and `set` does not depend on the size. Expiry is measured by a clock that cannot be set, not by
/// the system's date.
public actor PrismResponseCache {
  /// The maximum number of entries.
  public nonisolated let maxSize: Int

  nonisolated let revalidations = RevalidationsInProgress()
  private let time: ElapsedTime
  private var entries: ExpiringLRU<String, PrismCacheEntry>
  private var removals = InvalidationLog()

  /// Creates a cache of at most `maxSize` entries, 100 by default. With zero or less, nothing is ever stored.
  public init(maxSize: Int = 100) { self.init(maxSize: maxSize, clock: ContinuousClock()) }

  /// Creates a cache that measures time by `clock`.
  public init<C: Clock>(maxSize: Int = 100, clock: C) where C.Duration == Duration {
    self.maxSize = max(maxSize, 0)
    time = clock.stopwatch()
    entries = ExpiringLRU(capacity: maxSize)
  }

  /// The number of entries. An expired one counts until it is looked up or evicted.
  public var count: Int { entries.count }

  /// Returns the entry if it is fresh. An expired one is removed.
  public func get(_ key: String) -> PrismCacheEntry? { get(key, policy: .cacheFirst) }

  /// Returns the entry that the policy allows to be used at once: none for `.networkOnly`; for `.cacheFirst` the entry
  /// if it is fresh; for the others, which use the network next, the entry however old, which stays.
  public func get(_ key: String, policy: PrismCachePolicy) -> PrismCacheEntry? {
    guard policy != .networkOnly, let (entry, isExpired) = entries.value(for: key, now: time.nanoseconds) else {
      return nil
    }
    guard isExpired, policy == .cacheFirst else { return entry }
    entries.remove(key)
    return nil
  }

  /// Stores an entry. The remainder of its time to live counts from now: an entry that was stored elsewhere some time
  /// ago is fresh for correspondingly less.
  public func set(_ key: String, entry: PrismCacheEntry) {
    // An entry dated in the future, because the clock was set back since, is treated as new.
    let age = max(Date().timeIntervalSince(entry.cachedAt), 0)
    let rest = Duration(timeInterval: entry.ttl.timeInterval - age) ?? .zero
    let now = time.nanoseconds
    entries.store(entry, for: key, deadline: now.addingClamped(rest.clampedNanoseconds), now: now)
  }

  /// Removes an entry. The response to a request that is under way is not stored afterwards.
  public func invalidate(key: String) {
    removals.note(key)
    entries.remove(key)
  }

  /// Removes all entries. The responses to requests that are under way are not stored afterwards.
  public func clear() {
    removals.noteAll()
    entries = ExpiringLRU(capacity: maxSize)
  }

  /// Returns the same as ``get(_:)``.
  public func get(for key: String) -> PrismCacheEntry? { get(key) }

  /// Returns the same as ``get(_:policy:)``.
  public func get(for key: String, policy: PrismCachePolicy) -> PrismCacheEntry? { get(key, policy: policy) }

  /// Does the same as ``set(_:entry:)``.
  public func set(_ entry: PrismCacheEntry, for key: String) { set(key, entry: entry) }
}

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

/// A stored response: its body and head, when it was stored, and how long it is fresh.
public struct PrismCacheEntry: Sendable, Equatable {
  /// The default time to live of a response: five minutes.
  public static let defaultTTL = Duration.seconds(300)

  /// The body.
  public let data: Data
  /// The status code.
  public let statusCode: Int
  /// The header fields.
  public let headers: [String: String]
  /// The time at which the response was received.
  public let cachedAt: Date
  /// The time to live, counted from ``cachedAt``. Zero or less means that the entry is never fresh.
  public let ttl: Duration

  /// Creates an entry.
  ///
  /// - Parameters:
  ///   - data: The body.
  ///   - statusCode: The status code. Defaults to 200.
  ///   - headers: The header fields. Defaults to none.
  ///   - cachedAt: The time at which the response was received. Defaults to now.
  ///   - ttl: The time to live. Defaults to ``defaultTTL``.
  public init(
    data: Data, statusCode: Int = 200, headers: [String: String] = [:], cachedAt: Date = Date(),
    ttl: Duration = PrismCacheEntry.defaultTTL
  ) {
    self.data = data
    self.statusCode = statusCode
    self.headers = headers
    self.cachedAt = cachedAt
    self.ttl = ttl
  }

  /// The time at which the entry stops being fresh.
  public var expiresAt: Date { cachedAt.addingTimeInterval(ttl.timeInterval) }

  /// Whether `cachedAt + ttl` has passed, by the system's clock. A ``PrismResponseCache`` uses a clock of its own,
  /// which cannot be set.
  public var isExpired: Bool { expiresAt <= Date() }
}

extension PrismCacheEntry: Redacted {
  var redacted: String {
    FailedExchange(
      status: statusCode, contentType: headers.field("Content-Type"), data: data, quotesBody: false
    ).text
  }
}

/// The storage of a ``CachedLoad``.
protocol ResponseStore: Sendable {
  /// Returns the response, however old, and whether it is fresh.
  func entry(for key: CacheKey) async -> (entry: PrismCacheEntry, isFresh: Bool)?
  /// The number of removals so far, for ``store(_:for:since:)``.
  var removalCount: Int { get async }
  /// Stores a response, unless its key was removed since there were this many removals, when it was requested: it may be
  /// older than the reason for the removal, or belong to a user who has signed out.
  func store(_ entry: PrismCacheEntry, for key: CacheKey, since removalCount: Int) async
  /// Removes the response for a key, if there is one, because it is of no use, or the server does not allow its current
  /// response to be stored. If there is none, this is no removal: a server may allow none of its responses to be stored,
  /// and the number of removals remembered is bounded.
  func discard(_ key: CacheKey) async
}

extension PrismResponseCache: ResponseStore {
  func entry(for key: CacheKey) -> (entry: PrismCacheEntry, isFresh: Bool)? {
    entries.value(for: key.text, now: time.nanoseconds).map { ($0.value, !$0.isExpired) }
  }
  var removalCount: Int { removals.count }
  func store(_ entry: PrismCacheEntry, for key: CacheKey, since removalCount: Int) {
    if removals.epoch(of: key.text) <= removalCount { set(key.text, entry: entry) }
  }
  func discard(_ key: CacheKey) {
    if entries.remove(key.text) != nil { removals.note(key.text) }
  }
}

extension PrismCacheEntry {
  init(_ response: CollectedResponse, ttl: Duration, at date: Date = Date()) {
    self.init(
      data: response.data, statusCode: response.head.statusCode ?? 0,
      headers: (response.head.urlResponse as? HTTPURLResponse)?.headerDictionary ?? [:], cachedAt: date, ttl: ttl)
  }

  /// Whether the server allows the response to be stored at all (RFC 9111 §5.2.2.5, §4.1). A partial response is never
  /// stored.
  var mayBeStored: Bool {
    statusCode != 206 && !CacheDirectives.forbidStorage(headers.field("Cache-Control"), vary: headers.field("Vary"))
  }

  func urlResponse(for url: URL?) -> HTTPURLResponse? {
    url.flatMap { HTTPURLResponse(url: $0, statusCode: statusCode, httpVersion: "HTTP/1.1", headerFields: headers) }
  }
}
