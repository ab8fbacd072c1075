import Testing

@testable import EKNetwork

struct ExpiringLRUTests {
  @Test func leastRecentlyUsedIsEvicted() {
    var cache = ExpiringLRU<String, Int>(capacity: 2)
    cache.store(1, for: "a", deadline: 100, now: 0)
    cache.store(2, for: "b", deadline: 100, now: 0)
    #expect(cache.value(for: "a", now: 0)?.value == 1)
    #expect(cache.store(3, for: "c", deadline: 100, now: 0) == 2)
    #expect(cache.value(for: "b", now: 0) == nil)
    #expect(cache.value(for: "a", now: 0)?.value == 1)
    #expect(cache.count == 2)
  }

  @Test func expiredEntriesAreEvictedFirst() {
    var cache = ExpiringLRU<String, Int>(capacity: 3)
    cache.store(1, for: "old", deadline: 1_000, now: 0)
    cache.store(2, for: "brief", deadline: 10, now: 0)
    cache.store(3, for: "new", deadline: 1_000, now: 0)
    #expect(cache.value(for: "brief", now: 9)?.isExpired == false)
    #expect(cache.value(for: "brief", now: 10)?.isExpired == true)
    #expect(cache.store(4, for: "next", deadline: 1_000, now: 11) == 2)
    #expect(cache.value(for: "old", now: 11)?.isExpired == false)
  }

  @Test func storingReplacesValueAndDeadline() {
    var cache = ExpiringLRU<String, Int>(capacity: 2)
    cache.store(1, for: "a", deadline: 10, now: 0)
    #expect(cache.store(2, for: "a", deadline: 30, now: 20) == 1)
    #expect(cache.value(for: "a", now: 29).map { $0.value == 2 && !$0.isExpired } == true)
    #expect(cache.value(for: "a", now: 30)?.isExpired == true)
    #expect(cache.count == 1)
  }

  @Test func expiredEntryStaysExpired() {
    var cache = ExpiringLRU<String, Int>(capacity: 2)
    cache.store(1, for: "a", deadline: 10, now: 0)
    #expect(cache.value(for: "a", now: 10)?.isExpired == true)
    #expect(cache.value(for: "a", now: 5)?.isExpired == true)
  }

  @Test func maximumDeadlineNeverExpires() {
    var cache = ExpiringLRU<String, Int>(capacity: 2)
    cache.store(1, for: "a", deadline: .max, now: 0)
    cache.store(2, for: "b", deadline: .max, now: 1 << 63)
    #expect(cache.value(for: "a", now: .max - 2)?.isExpired == false)
    #expect(cache.store(3, for: "c", deadline: .max, now: .max - 2) == 2)
  }

  @Test(arguments: [0, -1]) func nonPositiveCapacityStoresNothing(_ capacity: Int) {
    var cache = ExpiringLRU<String, Int>(capacity: capacity)
    cache.store(1, for: "a", deadline: 10, now: 0)
    #expect(cache.value(for: "a", now: 0) == nil)
  }

  /// The model is a plain list in order of use.
  @Test(arguments: 1...20) func agreesWithReferenceModel(_ seed: UInt64) {
    var random = SplitMix(state: seed)
    let capacity = Int(random.next() % 6) + 1
    var cache = ExpiringLRU<Int, Int>(capacity: capacity)
    var model: [(key: Int, value: Int, deadline: UInt64)] = []  // most recently used last
    var now: UInt64 = 0
    for step in 0..<3_000 {
      now += random.next() % 4 == 0 ? random.next() >> (random.next() % 40 + 24) : random.next() % 3
      let key = Int(random.next() % 12)
      switch random.next() % 5 {
      case 0, 1:
        let deadline = now + random.next() >> (random.next() % 40 + 24)
        let expired = model.filter { $0.deadline <= now }.map(\.key)
        let evicted = cache.store(step, for: key, deadline: deadline, now: now)
        if let index = model.firstIndex(where: { $0.key == key }) {
          #expect(evicted == model.remove(at: index).value)
        } else if model.count == capacity {
          // Any expired entry may be evicted; the model follows the cache's choice.
          let index = expired.isEmpty ? 0 : model.firstIndex { $0.value == evicted } ?? 0
          #expect(expired.isEmpty || expired.contains(model[index].key))
          #expect(evicted == model.remove(at: index).value)
        } else {
          #expect(evicted == nil)
        }
        model.append((key, step, deadline))
      case 2:
        let removed = cache.remove(key)
        #expect(removed == model.first { $0.key == key }?.value)
        model.removeAll { $0.key == key }
      default:
        let found = cache.value(for: key, now: now)
        let index = model.firstIndex { $0.key == key }
        #expect(found?.value == index.map { model[$0].value })
        if let index {
          #expect(found?.isExpired == (model[index].deadline <= now))
          model.append(model.remove(at: index))
        }
      }
      #expect(cache.count == model.count)
    }
  }

  /// A benchmark without a clock: the work per operation does not grow with the size.
  @Test func costIsIndependentOfSize() {
    let costs = [1_000, 10_000, 100_000].map { size in
      var cache = ExpiringLRU<Int, Int>(capacity: size)
      var random = SplitMix(state: 1)
      let operations = 4 * size
      for step in 0..<operations {
        let now = UInt64(step) * 1_000_000
        // Half of the stored keys are new; lookups are spread over all keys.
        let key = step % 2 == 0 ? step : Int(random.next() % UInt64(step + 1))
        cache.store(step, for: key, deadline: now + random.next() % 3_600_000_000_000, now: now)
        _ = cache.value(for: Int(random.next() % UInt64(step + 1)), now: now + 500_000)
      }
      #expect(cache.count == size)
      return Double(cache.revisits) / Double(operations)
    }
    for cost in costs { #expect(cost < 8, "\(costs)") }
    #expect(abs(costs[2] / costs[0] - 1) < 0.2 && abs(costs[2] / costs[1] - 1) < 0.2, "\(costs)")
  }

  /// Superseded records must not accumulate.
  @Test func repeatedStoresDoNotAccumulate() {
    var cache = ExpiringLRU<Int, Int>(capacity: 10)
    for step in 0..<100_000 {
      cache.store(step, for: 0, deadline: UInt64(1_000 + step % 2), now: 0)
      _ = cache.value(for: 0, now: 0)
    }
    #expect(cache.count == 1)
    #expect(cache.revisits < 500_000)
  }
}
