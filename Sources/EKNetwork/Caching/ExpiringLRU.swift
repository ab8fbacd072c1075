/// A dictionary of limited size whose values expire. The amortised cost of every operation is the same at any size.
///
/// An expired entry stays until it is removed or its place is needed: it is evicted before any entry that is still
/// fresh. Time never goes backwards: what has expired at one time stays expired.
struct ExpiringLRU<Key: Hashable, Value> {
  private struct Node {
    var value: Value
    var deadline: UInt64
    /// The ``Deadline/number`` of its deadline.
    var number: Int
    /// The key of its last use in the order of all uses.
    var use: Int
  }

  private struct Deadline {
    let time: UInt64
    let key: Key
    let number: Int
  }

  let capacity: Int

  private var nodes: [Key: Node] = [:]
  private var uses = KeyedQueue<Int, Key>()
  private var lastNumber = 0
  private var now: UInt64 = 0

  /// A radix heap. A deadline is in bucket *n* if *n* is the highest bit, from 1, in which it differs from the time of the
  /// heap, and in bucket 0 once it has passed. As time only advances, it only ever moves to a lower bucket, at most 64
  /// times in total: the cost does not depend on the number of deadlines, as it would in a binary heap. One that is
  /// outdated, because its value was removed or has another, stays until it is visited.
  private var buckets = [[Deadline]](repeating: [], count: UInt64.bitWidth + 1)
  private var heapTime: UInt64 = 0
  private var deadlineCount = 0
  /// The number of deadlines that were visited again after insertion: the cost of their order so far.
  private(set) var revisits = 0

  init(capacity: Int) { self.capacity = max(capacity, 0) }

  /// The number of entries, including expired ones.
  var count: Int { nodes.count }

  /// Returns the value, and whether it has expired. This counts as a use.
  mutating func value(for key: Key, now time: UInt64) -> (value: Value, isExpired: Bool)? {
    now = max(now, time)
    guard let node = nodes[key] else { return nil }
    let use = use(key, after: node.use)
    nodes[key]?.use = use
    return (node.value, node.deadline <= now)
  }

  /// Stores a value. It replaces the value of the same key; if the dictionary is full, it evicts an expired entry, or
  /// else the least recently used one. Returns the value that was replaced or evicted.
  @discardableResult
  mutating func store(_ value: Value, for key: Key, deadline: UInt64, now time: UInt64) -> Value? {
    guard capacity > 0 else { return value }
    now = max(now, time)
    let known = nodes[key]
    var old = known?.value
    if known == nil, count >= capacity { old = (firstExpired() ?? uses.first).flatMap { remove($0) } }
    let number = known?.deadline == deadline ? known?.number : nil
    nodes[key] = Node(
      value: value, deadline: deadline, number: number ?? add(deadline, of: key), use: use(key, after: known?.use))
    return old
  }

  @discardableResult
  mutating func remove(_ key: Key) -> Value? {
    guard let node = nodes.removeValue(forKey: key) else { return nil }
    uses.remove(node.use)
    return node.value
  }

  private mutating func use(_ key: Key, after former: Int?) -> Int {
    if let former { uses.remove(former) }
    let use = lastNumber.increment()
    uses.append(key, id: use)
    return use
  }

  private mutating func add(_ time: UInt64, of key: Key) -> Int {
    if deadlineCount > 2 * count + 64 { removeOutdated() }
    deadlineCount += 1
    let deadline = Deadline(time: time, key: key, number: lastNumber.increment())
    insert(deadline)
    return deadline.number
  }

  /// Returns a key whose value has expired.
  private mutating func firstExpired() -> Key? {
    advance()
    while let deadline = buckets[0].last {
      if isCurrent(deadline) { return deadline.key }
      buckets[0].removeLast()
      deadlineCount -= 1
      revisits += 1
    }
    return nil
  }

  private func isCurrent(_ deadline: Deadline) -> Bool { nodes[deadline.key]?.number == deadline.number }

  private mutating func insert(_ deadline: Deadline) {
    let isPast = deadline.time <= heapTime
    buckets[isPast ? 0 : UInt64.bitWidth - (deadline.time ^ heapTime).leadingZeroBitCount].append(deadline)
  }

  /// Advances the time of the heap. Deadlines that share all bits above the highest changed one may be closer now, or have
  /// passed; the buckets above are unaffected.
  private mutating func advance() {
    guard now > heapTime else { return }
    let highest = UInt64.bitWidth - (now ^ heapTime).leadingZeroBitCount
    heapTime = now
    for bucket in 1...highest where !buckets[bucket].isEmpty {
      let deadlines = exchange(&buckets[bucket], with: [])
      revisits += deadlines.count
      for deadline in deadlines {
        if isCurrent(deadline) { insert(deadline) } else { deadlineCount -= 1 }
      }
    }
  }

  private mutating func removeOutdated() {
    revisits += deadlineCount
    for bucket in buckets.indices { buckets[bucket] = buckets[bucket].filter(isCurrent) }
    deadlineCount = buckets.reduce(0) { $0 + $1.count }
  }
}
