import Foundation

/// A GET request that goes through a cache according to a policy, for both client interfaces and any store.
struct CachedLoad<Value: Sendable>: Sendable {
  let policy: PrismCachePolicy
  /// The key of the request; `nil` skips the lookup.
  let key: CacheKey?
  let store: any ResponseStore
  let revalidations: RevalidationsInProgress
  /// Whether there is middleware, which may add what the key depends on: the lookup is then part of the fetch.
  let isBehindMiddleware: Bool
  /// Fetches a response from the network, or, with a lookup, one that it finds; and what to store of it, with the key of
  /// the request as it was last sent, which differs after a token refresh. `nil` stores nothing.
  ///
  /// Unless `isFirst`, time has passed since the key was made, and the request has to be built again.
  let fetch: @Sendable (PolicyLookup?, _ isFirst: Bool) async throws -> Fetched
  /// Decodes the response to a request; `nil` for the one of the key.
  let decode: @Sendable (PrismCacheEntry, _ sent: HTTPRequest?) throws -> Value

  struct Fetched: Sendable {
    let entry: PrismCacheEntry
    let kept: (entry: PrismCacheEntry, key: CacheKey)?
    let sent: HTTPRequest
    var found: PolicyLookup.Found?
    /// Whether a redirect has led to it that must not be stored.
    var isBehindUnstorableRedirect = false
  }

  /// Returns the first available value. If the policy requires another one, it is fetched in the background.
  func value() async throws -> Value {
    let (value, key) = try await first()
    if let key { revalidateInBackground(key, unlessFresh: false) }
    return value
  }

  /// Returns the first available value, and its key if the policy requires ``fetched()`` to follow it.
  func first() async throws -> (value: Value, followed: CacheKey?) {
    guard let found = isBehindMiddleware ? try await lookUpBehindMiddleware() : await lookUp() else {
      return (try await fetched(isFirst: !isBehindMiddleware || key == nil), nil)
    }
    guard let key = found.key else { return (found.value, nil) }
    if policy == .staleWhileRevalidate, !found.isFresh { revalidateInBackground(key, unlessFresh: true) }
    return (found.value, policy == .cacheThenNetwork ? key : nil)
  }

  /// A value of the store, or one of the network, which has no key.
  private typealias Found = (value: Value, key: CacheKey?, isFresh: Bool)

  /// Sends the request unless a stored response is found behind the middleware. A stored response that cannot be
  /// decoded is removed.
  private func lookUpBehindMiddleware() async throws -> Found? {
    guard key != nil else { return nil }
    let removals = await store.removalCount
    let fetched = try await fetch(PolicyLookup(policy, in: store), true)
    guard let found = fetched.found else { return (try await keep(fetched, since: removals), nil, true) }
    guard let value = try? decode(fetched.entry, fetched.sent) else {
      await store.discard(found.key)
      return nil
    }
    return (value, found.key, found.isFresh)
  }

  /// Returns the stored response, if the policy uses it. One that cannot be decoded is removed.
  private func lookUp() async -> Found? {
    guard let key, policy != .networkOnly, let (entry, isFresh) = await store.entry(for: key),
      policy.uses(isFresh: isFresh)
    else { return nil }
    guard let value = try? decode(entry, nil) else {
      await store.discard(key)
      return nil
    }
    return (value, key, isFresh)
  }

  /// Fetches the response from the network, and stores it if it can be decoded.
  func fetched(isFirst: Bool = false) async throws -> Value {
    let lookup = isBehindMiddleware && key != nil ? PolicyLookup(.networkOnly, in: store) : nil
    // Without a key nothing is stored.
    let removals = key == nil ? 0 : await store.removalCount
    return try await keep(try await fetch(lookup, isFirst), since: removals)
  }

  /// - Parameter removals: The number of removals from the store before the request was sent.
  private func keep(_ fetched: Fetched, since removals: Int) async throws -> Value {
    let value = try decode(fetched.entry, fetched.sent)
    // Of other statuses that a request accepts nothing is kept: another request may not accept them.
    guard let (entry, key) = fetched.kept, StatusCodes.successful.contains(entry.statusCode) else { return value }
    if entry.mayBeStored, !fetched.isBehindUnstorableRedirect {
      await store.store(entry, for: key, since: removals)
    } else {
      await store.discard(key)
    }
    return value
  }

  /// Revalidates the stored response, unless that is already under way. The task is not a child task: the caller has
  /// its response and may have finished. A failure leaves the stored response as it is, and the next request tries
  /// again.
  private func revalidateInBackground(_ key: CacheKey, unlessFresh: Bool) {
    guard revalidations.begin(key.text) else { return }
    Task {
      defer { revalidations.end(key.text) }
      if unlessFresh, await store.entry(for: key)?.isFresh == true { return }
      _ = try? await fetched()
    }
  }
}

extension PrismCachePolicy {
  func uses(isFresh: Bool) -> Bool {
    switch self {
    case .networkOnly: false
    case .cacheFirst: isFresh
    case .cacheThenNetwork, .staleWhileRevalidate: true
    }
  }
}

/// The keys whose stored responses are being revalidated, each by one task at a time.
struct RevalidationsInProgress: Sendable {
  private let underWay = Locked<Set<String>>([])

  /// Returns whether the caller is to revalidate, and to call ``end(_:)`` afterwards.
  ///
  /// The caller must look the response up again: a previous revalidation may have stored a new one after the caller's
  /// lookup.
  func begin(_ key: String) -> Bool { underWay.withLock { $0.insert(key).inserted } }

  func end(_ key: String) { underWay.withLock { _ = $0.remove(key) } }
}
