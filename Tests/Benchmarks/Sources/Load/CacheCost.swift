import EKNetwork

/// The cost of calls of the response cache in nanoseconds, with a given number of entries.
struct CacheCost: Encodable {
  var entries: Int
  var sequentialGet = 0.0
  var randomGet = 0.0
  var insertAndEvict = 0.0

  static func measure(entries: Int, calls: Int = 400_000) async -> CacheCost {
    let cache = PrismResponseCache(maxSize: entries)
    let entry = PrismCacheEntry(data: Data(count: 32), ttl: .seconds(3_600))
    let keys = (0..<entries).map { "https://api.example.com/items/\($0)" }
    let fresh = (0..<calls).map { "https://api.example.com/other/\($0)" }
    let random = (0..<calls).map { _ in keys[Int.random(in: 0..<entries)] }
    for key in keys { await cache.set(key, entry: entry) }
    var cost = CacheCost(entries: entries)
    cost.sequentialGet = await nanoseconds(calls) { _ = await cache.get(keys[$0 % entries]) }
    cost.randomGet = await nanoseconds(calls) { _ = await cache.get(random[$0]) }
    cost.insertAndEvict = await nanoseconds(calls) { await cache.set(fresh[$0], entry: entry) }
    return cost
  }

  private static func nanoseconds(_ calls: Int, _ call: (Int) async -> Void) async -> Double {
    let start = ContinuousClock.now
    for index in 0..<calls { await call(index) }
    return (ContinuousClock.now - start) / .nanoseconds(calls)
  }
}
