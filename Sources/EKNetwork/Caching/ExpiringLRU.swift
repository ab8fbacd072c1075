/// A dictionary of limited size whose values expire. Every operation costs the same whatever the size.
///
/// Two orders run through the entries, each a doubly linked list of indices: by last use, and by deadline. Deadlines
/// are kept in a radix heap: the entry whose deadline differs from the present in bit *n* at most is in bucket *n*.
/// As time only goes on, an entry only ever moves to a lower bucket, at most 64 times in its life, so that the cost of
/// keeping the order does not depend on how many there are, as it would in a binary heap.
///
/// An expired entry stays until it is removed or its place is needed: it goes before any entry that is still good.
struct ExpiringLRU<Key: Hashable, Value> {
  private struct Links {
    var previous = -1
    var next = -1
  }

  private struct Node {
    /// `nil` while the node is free.
    var content: (key: Key, value: Value)?
    var deadline: UInt64
    var bucket = 0
    var byUse = Links()
    var byDeadline = Links()
  }

  /// The bucket of what has expired. No deadline is in it: one that differs from the present does so in bit 1 to 64.
  private static var expired: Int { 0 }

  /// How many entries there may be.
  let capacity: Int
  /// How often an entry changed its bucket: what the order by deadline has cost so far.
  private(set) var bucketMoves = 0

  private var indices: [Key: Int] = [:]
  private var nodes: ContiguousArray<Node> = []
  private var free: [Int] = []
  private var mostRecent = -1
  private var leastRecent = -1
  private var buckets = [Int](repeating: -1, count: 65)
  private var now: UInt64 = 0

  init(capacity: Int) { self.capacity = max(capacity, 0) }

  /// How many entries there are, expired ones included.
  var count: Int { indices.count }

  /// The value, and whether its deadline has come. It counts as used.
  mutating func value(for key: Key, now: UInt64) -> (value: Value, isExpired: Bool)? {
    advance(to: now)
    guard let index = indices[key], let content = nodes[index].content else { return nil }
    if index != mostRecent {
      unlinkByUse(index)
      linkMostRecent(index)
    }
    return (content.value, nodes[index].bucket == Self.expired)
  }

  /// Stores a value. One that is there for the key goes; else, where it is full, an expired one, else the one whose
  /// last use is the longest ago. Returns what had to go, so that it dies where the caller wants it to.
  @discardableResult
  mutating func store(_ value: Value, for key: Key, deadline: UInt64, now: UInt64) -> Value? {
    guard capacity > 0 else { return value }
    advance(to: now)
    if let index = indices[key] {
      let old = nodes[index].content?.value
      nodes[index].content = (key, value)
      nodes[index].deadline = deadline
      unlinkByDeadline(index)
      linkByDeadline(index)
      unlinkByUse(index)
      linkMostRecent(index)
      return old
    }
    let evicted = count >= capacity ? removeNode(buckets[Self.expired] >= 0 ? buckets[Self.expired] : leastRecent) : nil
    let index = newNode(Node(content: (key, value), deadline: deadline))
    indices[key] = index
    linkByDeadline(index)
    linkMostRecent(index)
    return evicted
  }

  /// Removes a value and returns it.
  @discardableResult
  mutating func remove(_ key: Key) -> Value? {
    indices[key].flatMap { removeNode($0) }
  }

  // MARK: - Nodes

  private mutating func newNode(_ node: Node) -> Int {
    if let index = free.popLast() {
      nodes[index] = node
      return index
    }
    nodes.append(node)
    return nodes.count - 1
  }

  private mutating func removeNode(_ index: Int) -> Value? {
    guard let content = nodes[index].content else { return nil }
    unlinkByUse(index)
    unlinkByDeadline(index)
    nodes[index].content = nil
    free.append(index)
    indices[content.key] = nil
    return content.value
  }

  // MARK: - By use

  private mutating func linkMostRecent(_ index: Int) {
    nodes[index].byUse = Links(previous: -1, next: mostRecent)
    if mostRecent >= 0 { nodes[mostRecent].byUse.previous = index } else { leastRecent = index }
    mostRecent = index
  }

  private mutating func unlinkByUse(_ index: Int) {
    let links = nodes[index].byUse
    if links.previous >= 0 { nodes[links.previous].byUse.next = links.next } else { mostRecent = links.next }
    if links.next >= 0 { nodes[links.next].byUse.previous = links.previous } else { leastRecent = links.previous }
  }

  // MARK: - By deadline

  private mutating func linkByDeadline(_ index: Int) {
    let deadline = nodes[index].deadline
    let bucket = deadline <= now ? Self.expired : UInt64.bitWidth - (deadline ^ now).leadingZeroBitCount
    let first = buckets[bucket]
    nodes[index].bucket = bucket
    nodes[index].byDeadline = Links(previous: -1, next: first)
    if first >= 0 { nodes[first].byDeadline.previous = index }
    buckets[bucket] = index
  }

  private mutating func unlinkByDeadline(_ index: Int) {
    let links = nodes[index].byDeadline
    if links.previous >= 0 {
      nodes[links.previous].byDeadline.next = links.next
    } else {
      buckets[nodes[index].bucket] = links.next
    }
    if links.next >= 0 { nodes[links.next].byDeadline.previous = links.previous }
  }

  /// Time goes on. What shares all bits above the highest that has changed may be near now, or past; above that,
  /// nothing has changed.
  private mutating func advance(to time: UInt64) {
    guard time > now else { return }
    let highest = UInt64.bitWidth - (now ^ time).leadingZeroBitCount
    now = time
    for bucket in 1...highest {
      var index = buckets[bucket]
      buckets[bucket] = -1
      while index >= 0 {
        let next = nodes[index].byDeadline.next
        linkByDeadline(index)
        bucketMoves += 1
        index = next
      }
    }
  }
}
