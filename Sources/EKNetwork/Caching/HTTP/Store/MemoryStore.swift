/// A store of responses in memory, bounded in bytes, which evicts the least recently used ones.
///
/// Not synchronised: its owner holds a lock.
struct MemoryStore: Sendable {
  /// The maximum number of variants (RFC 9111 §4.1) of one URL for one identity.
  static let maximumVariants = 8

  private struct Node {
    var location: CacheLocation
    /// The most recently used one comes first.
    var variants: [CacheEntry]
    var cost = 0
  }

  let capacity: Int
  private(set) var cost = 0
  private(set) var count = 0
  private var places: [String: [String: Int]] = [:]
  private var nodes: [Node?] = []
  private var free: [Int] = []
  private var uses = AccessOrder()

  init(capacity: Int) { self.capacity = max(0, capacity) }

  /// The largest response that is stored: a quarter of the capacity, so that it does not evict everything else.
  var greatestCost: Int { capacity / 4 }

  /// Returns the most recent variant at a location that a request selects (RFC 9111 §4), or, if there is none, whether there
  /// are others.
  mutating func find(
    _ location: CacheLocation, where selects: (StoredResponse) -> Bool
  ) -> (entry: CacheEntry?, hasOthers: Bool) {
    guard let index = places[location.url]?[location.partition], let variants = nodes[index]?.variants else {
      return (nil, false)
    }
    var selected: Int?
    for (position, variant) in variants.enumerated() where selects(variant.response) {
      if let latest = selected, variants[latest].response.responseTime >= variant.response.responseTime { continue }
      selected = position
    }
    guard let position = selected else { return (nil, true) }
    if position > 0, let entry = nodes[index]?.variants.remove(at: position) {
      nodes[index]?.variants.insert(entry, at: 0)
    }
    uses.use(index)
    return (variants[position], false)
  }

  /// Returns the response with these selecting fields, which does not count as a use.
  func response(_ varying: VaryingFields, at location: CacheLocation) -> StoredResponse? {
    guard let index = places[location.url]?[location.partition] else { return nil }
    return nodes[index]?.variants.first { $0.response.varying.selectors == varying.selectors }?.response
  }

  /// The locations of all responses, the least recently used first.
  var locations: [CacheLocation] { uses.slots.compactMap { nodes[$0]?.location } }

  /// Inserts a response, replacing the variant with the same selecting fields. Returns the entries to release.
  mutating func insert(_ entry: CacheEntry, at location: CacheLocation) -> [CacheEntry] {
    guard entry.cost <= greatestCost else { return removeSuperseded(by: entry.response.varying, at: location) }
    var released = remove(entry.response.varying, at: location)
    let index = places[location.url]?[location.partition] ?? addNode(at: location)
    nodes[index]?.variants.insert(entry, at: 0)
    nodes[index]?.cost += entry.cost
    cost += entry.cost
    count += 1
    if let variants = nodes[index]?.variants, variants.count > Self.maximumVariants, let last = variants.last {
      nodes[index]?.variants.removeLast()
      forget(last, of: index)
      released.append(last)
    }
    uses.use(index)
    while cost > capacity, let oldest = uses.leastRecent() { released += removeNode(oldest) }
    return released
  }

  mutating func remove(_ varying: VaryingFields, at location: CacheLocation) -> [CacheEntry] {
    guard let index = places[location.url]?[location.partition],
      let position = nodes[index]?.variants.firstIndex(where: { $0.response.varying.selectors == varying.selectors }),
      let entry = nodes[index]?.variants.remove(at: position)
    else { return [] }
    forget(entry, of: index)
    if nodes[index]?.variants.isEmpty == true { _ = removeNode(index) }
    return [entry]
  }

  /// Removes what would be found here instead of a more recent response with these selecting fields, which is stored
  /// elsewhere: the variant with the same fields, and those whose `Vary` names others, so that a request may select both.
  mutating func removeSuperseded(by varying: VaryingFields, at location: CacheLocation) -> [CacheEntry] {
    guard let index = places[location.url]?[location.partition], let variants = nodes[index]?.variants else {
      return []
    }
    let names = varying.selectors.map(\.name)
    return variants.map(\.response.varying)
      .filter { $0.selectors == varying.selectors || $0.selectors.map(\.name) != names }
      .flatMap { remove($0, at: location) }
  }

  mutating func removeAll(of url: String) -> [CacheEntry] {
    (places[url]?.values).map(Array.init)?.flatMap { removeNode($0) } ?? []
  }

  private mutating func addNode(at location: CacheLocation) -> Int {
    let index = free.popLast() ?? nodes.count
    if index == nodes.count {
      nodes.append(nil)
      uses.grow()
    }
    nodes[index] = Node(location: location, variants: [])
    places[location.url, default: [:]][location.partition] = index
    return index
  }

  private mutating func removeNode(_ index: Int) -> [CacheEntry] {
    guard let node = nodes[index] else { return [] }
    uses.remove(index)
    nodes[index] = nil
    free.append(index)
    places[node.location.url]?[node.location.partition] = nil
    if places[node.location.url]?.isEmpty == true { places[node.location.url] = nil }
    cost -= node.cost
    count -= node.variants.count
    return node.variants
  }

  private mutating func forget(_ entry: CacheEntry, of index: Int) {
    nodes[index]?.cost -= entry.cost
    cost -= entry.cost
    count -= 1
  }
}
