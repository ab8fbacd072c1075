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

  /// Creates a cache of at most `maxSize` entries, 100 by default. With zero or less, nothing is ever stored.
  public init(maxSize: Int = 100) {
    self.init(maxSize: maxSize, clock: ContinuousClock())
  }

  /// Creates a cache that measures time by `clock`.
  public init<C: Clock>(maxSize: Int = 100, clock: C) where C.Duration == Duration {
    self.maxSize = max(maxSize, 0)
    time = ElapsedTime(of: clock)
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

  /// Removes an entry.
  public func invalidate(key: String) { entries.remove(key) }

  /// Removes all entries.
  public func clear() { entries = ExpiringLRU(capacity: maxSize) }

  /// Returns the entry, however old, and whether it is fresh. It stays.
  func stored(_ key: String) -> (entry: PrismCacheEntry, isFresh: Bool)? {
    entries.value(for: key, now: time.nanoseconds).map { ($0.value, !$0.isExpired) }
  }

  /// The cost of maintaining the orders so far: see ``ExpiringLRU/revisits``.
  var revisits: Int { entries.revisits }
}

/// Alternative spellings.
extension PrismResponseCache {
  /// Returns the same as ``get(_:)``.
  public func get(for key: String) -> PrismCacheEntry? { get(key) }

  /// Returns the same as ``get(_:policy:)``.
  public func get(for key: String, policy: PrismCachePolicy) -> PrismCacheEntry? { get(key, policy: policy) }

  /// Does the same as ``set(_:entry:)``.
  public func set(_ entry: PrismCacheEntry, for key: String) { set(key, entry: entry) }
}
