/// A store of responses in memory, bounded in bytes, which evicts the least recently used ones.
///
/// Not synchronised: its owner holds a lock.
struct MemoryStore: Sendable {
  /// The maximum number of variants (RFC 9111 §4.1) of one URL for one identity.
  static let maximumVariants = 8

  private struct Node {
    /// The most recently used one comes first.
    var variants: [CacheEntry] = []
    var cost = 0
    /// The key of its last use in the order of all uses.
    var use = 0
  }

  let capacity: Int
  private(set) var cost = 0
  private(set) var count = 0
  /// By URL and partition.
  private var nodes: [String: [String: Node]] = [:]
  private var uses = KeyedQueue<Int, CacheLocation>()
  private var lastUse = 0

  init(capacity: Int) { self.capacity = max(0, capacity) }

  /// The largest response that is stored: a quarter of the capacity, so that it does not evict everything else.
  var greatestCost: Int { capacity / 4 }

  /// Returns the most recent variant at a location that a request selects (RFC 9111 §4), or, if there is none, whether there
  /// are others.
  mutating func find(
    _ location: CacheLocation, where selects: (StoredResponse) -> Bool
  ) -> (entry: CacheEntry?, hasOthers: Bool) {
    guard let variants = nodes[location.url]?[location.partition]?.variants else { return (nil, false) }
    var selected: Int?
    for (position, variant) in variants.enumerated() where selects(variant.response) {
      if let latest = selected, variants[latest].response.responseTime >= variant.response.responseTime { continue }
      selected = position
    }
    guard let position = selected else { return (nil, true) }
    if position > 0 {
      nodes[location.url]?[location.partition]?.variants.remove(at: position)
      nodes[location.url]?[location.partition]?.variants.insert(variants[position], at: 0)
    }
    use(location)
    return (variants[position], false)
  }

  /// Returns the latest response of the same variant as another, which does not count as a use.
  func variant(of response: StoredResponse, at location: CacheLocation) -> StoredResponse? {
    nodes[location.url]?[location.partition]?.variants.lazy.map(\.response)
      .filter { $0.isSameVariant(as: response) }.max { $0.requestTime < $1.requestTime }
  }

  /// The locations of all responses, the least recently used first.
  var locations: [CacheLocation] { uses.all }

  /// Inserts a response, replacing the same variant. Returns the entries to release.
  mutating func insert(_ entry: CacheEntry, at location: CacheLocation) -> [CacheEntry] {
    guard Self.cost(of: entry, at: location) <= greatestCost else {
      return removeSuperseded(by: entry.response, at: location)
    }
    var released = remove(entry.response, at: location)
    nodes[location.url, default: [:]][location.partition, default: Node()].variants.insert(entry, at: 0)
    add(1, entry, at: location)
    if let variants = nodes[location.url]?[location.partition]?.variants, variants.count > Self.maximumVariants,
      let last = variants.last
    {
      nodes[location.url]?[location.partition]?.variants.removeLast()
      add(-1, last, at: location)
      released.append(last)
    }
    use(location)
    while cost > capacity, let oldest = uses.first { released += remove(oldest) }
    return released
  }

  /// Removes the same variant as a response.
  mutating func remove(_ response: StoredResponse, at location: CacheLocation) -> [CacheEntry] {
    remove(at: location) { $0.isSameVariant(as: response) }
  }

  /// Removes what would be found here instead of a more recent response, which is stored elsewhere: the same variant, and
  /// those whose `Vary` names other fields, so that a request may select both.
  mutating func removeSuperseded(by response: StoredResponse, at location: CacheLocation) -> [CacheEntry] {
    let names = response.varying.selectors.map(\.name)
    return remove(at: location) {
      $0.isSameVariant(as: response) || $0.varying.selectors.map(\.name) != names
    }
  }

  private mutating func remove(
    at location: CacheLocation, where isMeant: (StoredResponse) -> Bool
  ) -> [CacheEntry] {
    let variants = nodes[location.url]?[location.partition]?.variants ?? []
    let removed = variants.filter { isMeant($0.response) }
    guard removed.count < variants.count else { return remove(location) }
    nodes[location.url]?[location.partition]?.variants.removeAll { isMeant($0.response) }
    for entry in removed { add(-1, entry, at: location) }
    return removed
  }

  mutating func removeAll(of url: String) -> [CacheEntry] {
    (nodes.removeValue(forKey: url) ?? [:]).values.flatMap { forget($0) }
  }

  private mutating func remove(_ location: CacheLocation) -> [CacheEntry] {
    let node = nodes[location.url]?.removeValue(forKey: location.partition)
    if nodes[location.url]?.isEmpty == true { nodes[location.url] = nil }
    return node.map { forget($0) } ?? []
  }

  private mutating func forget(_ node: Node) -> [CacheEntry] {
    uses.remove(node.use)
    cost -= node.cost
    count -= node.variants.count
    return node.variants
  }

  private mutating func use(_ location: CacheLocation) {
    if let former = nodes[location.url]?[location.partition]?.use { uses.remove(former) }
    uses.append(location, id: lastUse.increment())
    nodes[location.url]?[location.partition]?.use = lastUse
  }

  /// The URL counts as well: it may take more than the response.
  private static func cost(of entry: CacheEntry, at location: CacheLocation) -> Int {
    entry.cost + location.url.utf8.count
  }

  private mutating func add(_ number: Int, _ entry: CacheEntry, at location: CacheLocation) {
    let cost = number * Self.cost(of: entry, at: location)
    nodes[location.url]?[location.partition]?.cost += cost
    self.cost += cost
    count += number
  }
}
