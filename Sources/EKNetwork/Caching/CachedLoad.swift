import Foundation

/// One GET by way of a cache, as its policy says, for both interfaces and any store.
struct CachedLoad<Value: Sendable>: Sendable {
  let policy: PrismCachePolicy
  /// What is asked for; `nil`: do not look for it.
  let key: CacheKey?
  let store: any ResponseStore
  let revalidations: RevalidationsInProgress
  /// Gets a response from the network, and the key of the request that it is the response to: the request as it was sent
  /// last, which a refreshed token makes another. `nil` stores nothing.
  let fetch: @Sendable () async throws -> (entry: PrismCacheEntry, key: CacheKey?)
  let decode: @Sendable (PrismCacheEntry) throws -> Value

  /// The first value that there is. Where another follows, it is fetched in the background.
  func value() async throws -> Value {
    let (value, isFollowed) = try await first()
    if isFollowed { revalidateInBackground(unlessFresh: false) }
    return value
  }

  /// The first value that there is, and whether the policy has ``fetched()`` follow it.
  func first() async throws -> (value: Value, isFollowed: Bool) {
    let (decision, stored) = await lookUp()
    guard let stored else { return (try await fetched(), false) }
    if decision == .serveAndRevalidate { revalidateInBackground(unlessFresh: true) }
    return (stored, decision == .serveThenFetch)
  }

  /// What the policy makes of what is stored, and the value, where it is wanted. What cannot be decoded is removed.
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

  /// The network's response, which is stored if it can be decoded.
  func fetched() async throws -> Value {
    let (entry, key) = try await fetch()
    let value = try decode(entry)
    guard let key else { return value }
    if entry.mayBeStored { await store.store(entry, for: key) } else { await store.remove(key) }
    return value
  }

  /// Renews what is stored, unless that is being done already. The task is no child task: the caller has the
  /// response, and may be gone. A failure leaves things as they are, and the next one who asks tries again.
  private func revalidateInBackground(unlessFresh: Bool) {
    guard let key, revalidations.begin(key.text) else { return }
    Task {
      defer { revalidations.end(key.text) }
      if unlessFresh, await store.entry(for: key)?.isFresh == true { return }
      _ = try? await fetched()
    }
  }
}
