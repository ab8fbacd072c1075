import Foundation

/// Responses in memory, each fresh for a time of its own. Where it is full, what has expired goes first, then what was not
/// used for the longest time.
///
/// `get` and `set` cost the same whatever the size. Expiry is measured by a clock that cannot be set,
/// not by the system's date.
public actor PrismResponseCache {
  /// How many entries there may be.
  public nonisolated let maxSize: Int

  nonisolated let revalidations = RevalidationsInProgress()
  private let time: ElapsedTime
  private var entries: ExpiringLRU<String, PrismCacheEntry>

  /// A cache of at most `maxSize` entries, 100 by default. Zero or less: nothing is ever stored.
  public init(maxSize: Int = 100) {
    self.init(maxSize: maxSize, clock: ContinuousClock())
  }

  /// A cache that measures time by `clock`.
  public init<C: Clock>(maxSize: Int = 100, clock: C) where C.Duration == Duration {
    self.maxSize = max(maxSize, 0)
    time = ElapsedTime(of: clock)
    entries = ExpiringLRU(capacity: maxSize)
  }

  /// How many entries there are. One that has expired counts until it is asked for, or its place is needed.
  public var count: Int { entries.count }

  /// The entry, as long as it is fresh. One that has expired is removed.
  public func get(_ key: String) -> PrismCacheEntry? { get(key, policy: .cacheFirst) }

  /// What the policy lets a caller have at once: nothing with `.networkOnly`; with `.cacheFirst` the entry as long as it
  /// is fresh; with the others, which ask the network next, the entry however old, which stays.
  public func get(_ key: String, policy: PrismCachePolicy) -> PrismCacheEntry? {
    guard policy != .networkOnly, let (entry, isExpired) = entries.value(for: key, now: time.nanoseconds) else {
      return nil
    }
    guard isExpired, policy == .cacheFirst else { return entry }
    entries.remove(key)
    return nil
  }

  /// Stores an entry. What is left of its time to live counts from now: what was stored elsewhere a while ago is fresh
  /// for as much less.
  public func set(_ key: String, entry: PrismCacheEntry) {
    // An entry from the future, by a clock that was set back since, is as good as new.
    let age = max(Date().timeIntervalSince(entry.cachedAt), 0)
    let rest = Duration(timeInterval: entry.ttl.timeInterval - age) ?? .zero
    let now = time.nanoseconds
    entries.store(entry, for: key, deadline: now.addingClamped(rest.clampedNanoseconds), now: now)
  }

  /// Removes an entry.
  public func invalidate(key: String) { entries.remove(key) }

  /// Removes all entries.
  public func clear() { entries = ExpiringLRU(capacity: maxSize) }

  /// The entry, however old, and whether it still is fresh. It stays.
  func stored(_ key: String) -> (entry: PrismCacheEntry, isFresh: Bool)? {
    entries.value(for: key, now: time.nanoseconds).map { ($0.value, !$0.isExpired) }
  }

  /// What keeping the orders has cost so far: see ``ExpiringLRU/revisits``.
  var revisits: Int { entries.revisits }
}

/// Other spellings of the same.
extension PrismResponseCache {
  /// What ``get(_:)`` returns.
  public func get(for key: String) -> PrismCacheEntry? { get(key) }

  /// What ``get(_:policy:)`` returns.
  public func get(for key: String, policy: PrismCachePolicy) -> PrismCacheEntry? { get(key, policy: policy) }

  /// Does what ``set(_:entry:)`` does.
  public func set(_ entry: PrismCacheEntry, for key: String) { set(key, entry: entry) }
}
