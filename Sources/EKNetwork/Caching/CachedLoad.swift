import Foundation

/// A GET request that goes through a cache according to a policy, for both client interfaces and any store.
struct CachedLoad<Value: Sendable>: Sendable {
  let policy: PrismCachePolicy
  /// The key of the request; `nil` skips the lookup.
  let key: CacheKey?
  let store: any ResponseStore
  let revalidations: RevalidationsInProgress
  /// Fetches a response from the network, with the key of the request as it was last sent, which differs after a token
  /// refresh. A `nil` key stores nothing.
  let fetch: @Sendable () async throws -> (entry: PrismCacheEntry, key: CacheKey?)
  let decode: @Sendable (PrismCacheEntry) throws -> Value

  /// Returns the first available value. If the policy requires another one, it is fetched in the background.
  func value() async throws -> Value {
    let (value, isFollowed) = try await first()
    if isFollowed { revalidateInBackground(unlessFresh: false) }
    return value
  }

  /// Returns the first available value, and whether the policy requires ``fetched()`` to follow it.
  func first() async throws -> (value: Value, isFollowed: Bool) {
    let (decision, stored) = await lookUp()
    guard let stored else { return (try await fetched(), false) }
    if decision == .serveAndRevalidate { revalidateInBackground(unlessFresh: true) }
    return (stored, decision == .serveThenFetch)
  }

  /// Returns the policy's decision for the stored response, and its value if it is used. A response that cannot be
  /// decoded is removed.
  private func lookUp() async -> (CacheDecision, Value?) {
    guard let key, policy != .networkOnly, let (entry, isFresh) = await store.entry(for: key) else {
      return (.fetch, nil)
    }
    let decision = CacheDecision(policy, isFresh ? .fresh : .stale)
    guard decision != .fetch else { return (.fetch, nil) }
    guard let value = try? decode(entry) else {
      await store.remove(key)
      return (.fetch, nil)
    }
    return (decision, value)
  }

  /// Fetches the response from the network, and stores it if it can be decoded.
  func fetched() async throws -> Value {
    let (entry, key) = try await fetch()
    let value = try decode(entry)
    guard let key else { return value }
    if entry.mayBeStored { await store.store(entry, for: key) } else { await store.remove(key) }
    return value
  }

  /// Revalidates the stored response, unless that is already under way. The task is not a child task: the caller has
  /// its response and may have finished. A failure leaves the stored response as it is, and the next request tries
  /// again.
  private func revalidateInBackground(unlessFresh: Bool) {
    guard let key, revalidations.begin(key.text) else { return }
    Task {
      defer { revalidations.end(key.text) }
      if unlessFresh, await store.entry(for: key)?.isFresh == true { return }
      _ = try? await fetched()
    }
  }
}
