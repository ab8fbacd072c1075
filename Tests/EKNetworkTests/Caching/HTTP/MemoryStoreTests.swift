import Foundation
import Testing

@testable import EKNetwork

struct MemoryStoreTests {
  private func entry(
    _ size: Int, vary value: String? = nil, at time: TimeInterval = 0, isEncoded: Bool? = nil
  ) -> CacheEntry {
    var fields = HeaderFieldList([(name: "Cache-Control", value: "max-age=60")])
    if isEncoded != nil { fields.append("Content-Encoding", "gzip") }
    if value != nil { fields.append("Vary", "A") }
    let request = HeaderFieldList(value.map { ["A": $0] })
    let now = Date(timeIntervalSince1970: time)
    return CacheEntry(
      response: StoredResponse(
        status: 200, reason: "", fields: fields, requestTime: now, responseTime: now,
        varying: VaryingFields(response: fields, request: request), identity: CachePlanTests.nobody,
        isEncoded: isEncoded ?? false),
      body: Data(repeating: 1, count: size))
  }

  private func place(_ url: String, _ partition: String = "") -> CacheLocation {
    CacheLocation(
      url: url,
      identity: partition.isEmpty ? .anonymous : .recorded(credentials: partition, cookies: nil, for: nil),
      directives: CacheDirectives(nil))
  }

  @Test func leastRecentlyUsedIsEvictedFirst() {
    var store = MemoryStore(capacity: 10_000)
    for name in ["a", "b", "c"] { _ = store.insert(entry(1800), at: place(name)) }
    #expect(store.count == 3)
    #expect(store.find(place("a")) { _ in true }.entry != nil)
    for name in ["d", "e"] { _ = store.insert(entry(1800), at: place(name)) }
    #expect(store.cost <= 10_000)
    #expect(store.find(place("b")) { _ in true }.entry == nil)
    #expect(store.find(place("a")) { _ in true }.entry != nil)
  }

  @Test func responseTakesQuarterOfCapacityAtMost() {
    var store = MemoryStore(capacity: 10_000)
    _ = store.insert(entry(100), at: place("a"))
    // The entry it replaces is outdated, and removed all the same.
    _ = store.insert(entry(2600), at: place("a"))
    #expect(store.count == 0 && store.cost == 0)
  }

  /// Those that a request may select instead of a more recent response, which is too large.
  @Test func variantsAreRemovedForOneThatIsTooLarge() {
    var store = MemoryStore(capacity: 10_000)
    _ = store.insert(entry(10), at: place("a"))
    for value in ["1", "2"] { _ = store.insert(entry(10, vary: value), at: place("a")) }
    #expect(store.insert(entry(2600, vary: "2"), at: place("a")).count == 2)
    #expect(store.find(place("a")) { $0.varying.selectors.first?.value == "1" }.entry != nil)
    #expect(store.count == 1)
    #expect(store.insert(entry(2600), at: place("a")).count == 1)
    #expect(store.count == 0 && store.cost == 0)
  }

  @Test func variantsReplaceOnlyThemselves() {
    var store = MemoryStore(capacity: 1_000_000)
    for value in ["1", "2", "1"] { _ = store.insert(entry(10, vary: value), at: place("a")) }
    #expect(store.count == 2)
    let found = store.find(place("a")) { $0.varying.match(HeaderFieldList(["A": "2"])) }
    #expect(found.entry != nil)
    #expect(store.find(place("a")) { _ in false }.hasOthers)
    for value in 0..<20 { _ = store.insert(entry(10, vary: "v\(value)"), at: place("a")) }
    #expect(store.count == MemoryStore.maximumVariants)
    #expect(store.removeAll(of: "a").count == MemoryStore.maximumVariants)
    #expect(store.count == 0 && store.cost == 0)
  }

  /// What one request expects is not what the other does. One without a coding is for both.
  @Test func encodedAndDecodedBodiesAreVariants() {
    var store = MemoryStore(capacity: 10_000)
    for isEncoded in [true, false, true] { _ = store.insert(entry(1, isEncoded: isEncoded), at: place("a")) }
    #expect(store.count == 2)
    #expect(store.remove(entry(1, isEncoded: true).response, at: place("a")).count == 1)
    #expect(store.variant(of: entry(1, isEncoded: false).response, at: place("a")) != nil)
    _ = store.insert(entry(1, isEncoded: true), at: place("a"))
    #expect(store.insert(entry(1), at: place("a")).count == 2)
    #expect(store.insert(entry(1, isEncoded: true), at: place("a")).count == 1)
    _ = store.insert(entry(1, isEncoded: false), at: place("a"))
    #expect(store.removeSuperseded(by: entry(1, isEncoded: true).response, at: place("a")).count == 1)
    #expect(store.insert(entry(2600), at: place("a")).count == 1)
    #expect(store.count == 0 && store.cost == 0)
  }

  /// RFC 9111 §4, whichever was used last.
  @Test func mostRecentVariantIsFound() {
    var store = MemoryStore(capacity: 1_000_000)
    _ = store.insert(entry(1, at: 1), at: place("a"))
    _ = store.insert(entry(2, vary: "fr", at: 2), at: place("a"))
    let variants = ["en", "fr", "en", "fr"].map { language in
      store.find(place("a")) { $0.varying.match(HeaderFieldList(["A": language])) }.entry?.length
    }
    #expect(variants == [1, 2, 1, 2])
  }

  @Test func urlIsRemovedFromAllPartitions() {
    var store = MemoryStore(capacity: 1_000_000)
    for who in ["x", "y", ""] { _ = store.insert(entry(10), at: place("a", who)) }
    _ = store.insert(entry(10), at: place("b"))
    _ = store.removeAll(of: "a")
    #expect(store.count == 1)
    #expect(store.find(place("b")) { _ in true }.entry != nil)
  }

  /// A server may have any number of long URLs with small responses.
  @Test func urlsCountTowardsCapacity() {
    var store = MemoryStore(capacity: 100_000)
    for number in 0..<100 { _ = store.insert(entry(1), at: place("\(number)" + String(repeating: "x", count: 9_000))) }
    #expect(store.count == 10)
    #expect(store.insert(entry(1), at: place(String(repeating: "x", count: 30_000))).isEmpty)
    #expect(store.count == 10 && store.cost <= 100_000)
    _ = store.insert(entry(1, vary: "a"), at: place("a"))
    _ = store.insert(entry(1, vary: "b"), at: place("a"))
    #expect(store.remove(entry(1, vary: "b").response, at: place("a")).count == 1)
    #expect(store.removeAll(of: "a").count == 1)
    for number in 0..<100 { _ = store.removeAll(of: "\(number)" + String(repeating: "x", count: 9_000)) }
    #expect(store.count == 0 && store.cost == 0 && store.locations.isEmpty)
  }

  @Test func agreesWithPlainList() {
    var store = MemoryStore(capacity: 40_000)
    var model: [String] = []
    var random = SystemRandomNumberGenerator()
    let cost = entry(1000).cost + 2
    for _ in 0..<5000 {
      let name = "\(Int.random(in: 10..<70, using: &random))"
      switch Int.random(in: 0..<10, using: &random) {
      case 0:
        _ = store.removeAll(of: name)
        model.removeAll { $0 == name }
      case 1...4:
        let isThere = store.find(place(name)) { _ in true }.entry != nil
        #expect(isThere == model.contains(name))
        if isThere {
          model.removeAll { $0 == name }
          model.append(name)
        }
      default:
        _ = store.insert(entry(1000), at: place(name))
        model.removeAll { $0 == name }
        model.append(name)
        while model.count * cost > 40_000 { model.removeFirst() }
      }
      #expect(store.count == model.count && store.cost == model.count * cost)
    }
  }
}
