import Testing

@testable import EKNetwork

struct PrismResponseCacheTests {
  private let clock = ManualClock()

  private func entry(_ text: String = "a", ttl: Duration = .seconds(100), cachedAt: Date = Date()) -> PrismCacheEntry {
    PrismCacheEntry(data: Data(text.utf8), cachedAt: cachedAt, ttl: ttl)
  }

  @Test func bothSpellingsOfMethodsWork() async {
    let cache = PrismResponseCache()
    await cache.set("a", entry: entry("1"))
    await cache.set(entry("2"), for: "b")
    #expect(await cache.get("b")?.data == Data("2".utf8))
    #expect(await cache.get(for: "a")?.data == Data("1".utf8))
    #expect(await cache.get(for: "a", policy: .cacheFirst)?.data == Data("1".utf8))
    #expect(await cache.count == 2)
    await cache.invalidate(key: "a")
    #expect(await cache.get("a") == nil)
    await cache.clear()
    #expect(await cache.count == 0)
    #expect(cache.maxSize == 100)
  }

  /// What was requested before a removal is not stored after it.
  @Test(arguments: [false, true]) func removalIsNotUndoneByEarlierRequest(clears: Bool) async throws {
    let url = try #require(URL(string: "https://api.example.com/users"))
    let key = CacheKey(HopRequest(URLRequest(url: url)))
    let cache = PrismResponseCache()
    let before = await cache.removalCount
    await cache.invalidate(key: "another")
    await cache.store(entry("1"), for: key, since: before)
    #expect(await cache.get(key.text)?.data == Data("1".utf8))
    if clears { await cache.clear() } else { await cache.invalidate(key: key.text) }
    await cache.store(entry("1"), for: key, since: before)
    #expect(await cache.get(key.text) == nil)
    let after = await cache.removalCount
    await cache.store(entry("2"), for: key, since: after)
    #expect(await cache.get(key.text)?.data == Data("2".utf8))
  }

  /// Responses that may not be stored are no removals if nothing is stored, however many there are.
  @Test func unstorableResponsesDoNotKeepOthersOut() async throws {
    func key(_ path: String) throws -> CacheKey {
      CacheKey(HopRequest(URLRequest(url: try #require(URL(string: "https://api.example.com/unstorable/\(path)")))))
    }
    let (own, others) = (try key("own"), try (0..<1100).map { try key("\($0)") })
    let stores: [any ResponseStore] = [PrismResponseCache(), URLCacheStore(nil, now: { Date() })]
    for store in stores {
      let before = await store.removalCount
      for other in others { await store.discard(other) }
      await store.store(entry("1"), for: own, since: before)
      #expect(await store.entry(for: own)?.entry.data == Data("1".utf8))
      // What is removed does not return with the response to an earlier request.
      await store.discard(own)
      await store.store(entry("1"), for: own, since: before)
      #expect(await store.entry(for: own)?.entry == nil)
    }
  }

  @Test func entryDefaults() {
    let entry = PrismCacheEntry(data: Data(), ttl: .seconds(300))
    #expect(entry.statusCode == 200 && entry.headers.isEmpty && !entry.isExpired)
    #expect(PrismCacheEntry(data: Data(), cachedAt: Date(timeIntervalSinceNow: -10), ttl: .seconds(9)).isExpired)
    #expect(!PrismCacheEntry(data: Data(), ttl: .seconds(Int64.max)).isExpired)
    #expect(PrismCacheEntry(data: Data(), ttl: .zero).isExpired)
    #expect(PrismCacheEntry(data: Data(), ttl: .seconds(Int64.min)).isExpired)
  }

  @Test func entryExpiresByCacheClock() async {
    let cache = PrismResponseCache(maxSize: 10, clock: clock)
    await cache.set("a", entry: entry(ttl: .seconds(3_600)))
    clock.advance(by: .seconds(3_000))
    #expect(await cache.get("a") != nil)
    clock.advance(by: .seconds(600))
    #expect(await cache.count == 1)
    #expect(await cache.get("a") == nil)
    #expect(await cache.count == 0, "an expired entry is removed when it is asked for")
  }

  @Test func policies() async {
    let cache = PrismResponseCache(maxSize: 10, clock: clock)
    await cache.set("a", entry: entry())
    for policy in PrismCachePolicy.allCases {
      #expect(await (cache.get("a", policy: policy) != nil) == (policy != .networkOnly))
    }
    clock.advance(by: .seconds(200))
    for _ in 1...2 {
      #expect(await cache.get("a", policy: .staleWhileRevalidate) != nil)
      #expect(await cache.get("a", policy: .cacheThenNetwork) != nil)
    }
    #expect(await cache.get("a", policy: .networkOnly) == nil)
    #expect(await cache.count == 1)
    #expect(await cache.get("a", policy: .cacheFirst) == nil)
    #expect(await cache.get("a", policy: .cacheThenNetwork) == nil)
    #expect(await cache.get("a", policy: .staleWhileRevalidate) == nil)
  }

  @Test func expiredEntriesAreEvictedFirst() async {
    let cache = PrismResponseCache(maxSize: 3, clock: clock)
    await cache.set("live", entry: entry())
    await cache.set("brief", entry: entry(ttl: .seconds(1)))
    await cache.set("also", entry: entry())
    clock.advance(by: .seconds(2))
    await cache.set("new", entry: entry())
    #expect(await cache.get("brief", policy: .staleWhileRevalidate) == nil)
    for key in ["live", "also", "new"] { #expect(await cache.get(key) != nil) }
    await cache.set("newest", entry: entry())
    #expect(await cache.get("live") == nil)
  }

  @Test func earlierCachedAtShortensLifetime() async {
    let cache = PrismResponseCache(maxSize: 3, clock: clock)
    await cache.set("old", entry: entry(ttl: .seconds(100), cachedAt: Date(timeIntervalSinceNow: -1_000)))
    await cache.set("half", entry: entry(ttl: .seconds(2_000), cachedAt: Date(timeIntervalSinceNow: -1_000)))
    #expect(await cache.get("old") == nil)
    #expect(await cache.get("half") != nil)
    clock.advance(by: .seconds(1_000))
    #expect(await cache.get("half") == nil)
  }

  @Test func extremeTimeToLiveDoesNotTrap() async {
    let cache = PrismResponseCache(maxSize: 9, clock: clock)
    clock.advance(by: .seconds(1_000_000))
    for (index, ttl) in [Duration.seconds(Int64.max), .seconds(Int64.min), .zero, .nanoseconds(-1)].enumerated() {
      await cache.set("\(index)", entry: entry(ttl: ttl))
      await cache.set("\(index) distant", entry: entry(ttl: ttl, cachedAt: .distantFuture))
    }
    #expect(await cache.get("0") != nil)
    for key in ["1", "2", "3"] { #expect(await cache.get(key) == nil) }
  }

  @Test(arguments: [0, -1, Int.min]) func cacheWithoutCapacityStoresNothing(_ size: Int) async {
    let cache = PrismResponseCache(maxSize: size)
    await cache.set("a", entry: entry())
    #expect(await cache.get("a") == nil)
  }

  @Test func concurrentAccessRespectsMaximumSize() async {
    let cache = PrismResponseCache(maxSize: 50)
    await withTaskGroup { group in
      for task in 0..<8 {
        group.addTask {
          for index in 0..<200 {
            await cache.set("\(index % 70)", entry: PrismCacheEntry(data: Data([UInt8(task)])))
            _ = await cache.get("\(index % 61)")
          }
        }
      }
    }
    #expect(await cache.count == 50)
  }
}
