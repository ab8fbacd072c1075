/// A dictionary of limited size whose values expire. The amortised cost of every operation is the same at any size.
///
/// An expired entry stays until it is removed or its place is needed: it is evicted before any entry that is still
/// fresh. Time never goes backwards: what has expired at one time stays expired.
struct ExpiringLRU<Key: Hashable, Value> {
  let capacity: Int

  private var slots: [Key: Int] = [:]
  private var freeSlots: [Int] = []
  // One array for each part of an entry, so that an operation touches only the parts that it reads.
  private var keys: ContiguousArray<Key?> = []
  private var values: ContiguousArray<Value?> = []
  private var uses = AccessOrder()
  private var expiry = ExpiryQueue()
  private var now: UInt64 = 0

  init(capacity: Int) { self.capacity = min(max(capacity, 0), 1 << 29) }

  /// The number of entries, including expired ones.
  var count: Int { slots.count }

  /// The number of elements that were visited again to maintain the orders: their cost so far.
  var revisits: Int { uses.revisits + expiry.revisits }

  /// Returns the value, and whether it has expired. This counts as a use.
  mutating func value(for key: Key, now time: UInt64) -> (value: Value, isExpired: Bool)? {
    now = max(now, time)
    guard let slot = slots[key], let value = values[slot] else { return nil }
    uses.use(slot)
    return (value, expiry.deadline(of: slot) <= now)
  }

  /// Stores a value. It replaces the value of the same key; if the dictionary is full, it evicts an expired entry, or
  /// else the least recently used one. Returns the value that was replaced or evicted.
  @discardableResult
  mutating func store(_ value: Value, for key: Key, deadline: UInt64, now time: UInt64) -> Value? {
    guard capacity > 0 else { return value }
    now = max(now, time)
    let known = slots[key]
    var old: Value?
    if let known {
      old = values[known]
    } else if count >= capacity {
      old = (expiry.expired(at: now) ?? uses.leastRecent()).flatMap { free($0) }
    }
    let slot = known ?? newSlot(for: key)
    values[slot] = value
    // The greatest deadline is reserved for none.
    expiry.set(min(deadline, ExpiryQueue.none - 1), for: slot)
    uses.use(slot)
    return old
  }

  @discardableResult
  mutating func remove(_ key: Key) -> Value? { slots[key].flatMap { free($0) } }

  private mutating func newSlot(for key: Key) -> Int {
    let slot = freeSlots.popLast() ?? keys.count
    if slot == keys.count {
      keys.append(nil)
      values.append(nil)
      uses.grow()
      expiry.grow()
    }
    (keys[slot], slots[key]) = (key, slot)
    return slot
  }

  private mutating func free(_ slot: Int) -> Value? {
    guard let key = keys[slot] else { return nil }
    let value = values[slot]
    keys[slot] = nil
    values[slot] = nil
    uses.remove(slot)
    expiry.set(ExpiryQueue.none, for: slot)
    slots[key] = nil
    freeSlots.append(slot)
    return value
  }
}

/// The order in which slots were last used.
///
/// Every use is appended to a log, in which only the last mention of a slot counts. When more than half of the log is
/// outdated, the outdated mentions are removed. A use therefore writes to the end of an array instead of to three nodes
/// of a linked list, which at 100,000 slots would be three cache misses; its amortised cost is the same at any size.
struct AccessOrder {
  private static var unused: Int32 { -1 }

  private var log: ContiguousArray<Int32> = []
  private var lastUses: ContiguousArray<Int32> = []
  /// The index before which the log holds no last use.
  private var start = 0
  private(set) var revisits = 0

  /// Adds a slot, numbered after the existing ones.
  mutating func grow() { lastUses.append(Self.unused) }

  mutating func use(_ slot: Int) {
    if log.count > 2 * lastUses.count + 64 { compact() }
    lastUses[slot] = Int32(log.count)
    log.append(Int32(slot))
  }

  mutating func remove(_ slot: Int) { lastUses[slot] = Self.unused }

  mutating func leastRecent() -> Int? {
    while start < log.count {
      if isLast(start) { return Int(log[start]) }
      start += 1
      revisits += 1
    }
    return nil
  }

  private func isLast(_ index: Int) -> Bool { lastUses[Int(log[index])] == Int32(index) }

  private mutating func compact() {
    revisits += log.count - start
    var end = 0
    for index in start..<log.count where isLast(index) {
      lastUses[Int(log[index])] = Int32(end)
      log[end] = log[index]
      end += 1
    }
    log.removeSubrange(end...)
    start = 0
  }
}

/// A queue of slots with deadlines, which yields the expired ones: a radix heap.
///
/// An entry is in bucket *n* if *n* is the highest bit in which its deadline differs from the current time. As time
/// only advances, an entry only ever moves to a lower bucket, at most 64 times in total: the cost does not depend on
/// the number of entries, as it would in a binary heap. An entry that a later deadline of its slot has superseded stays
/// in place until it is visited.
struct ExpiryQueue {
  private struct Entry {
    let deadline: UInt64
    let slot: Int32
    let version: UInt32
  }

  static let none = UInt64.max

  /// Bucket 0 holds the expired entries; all others differ from the current time in one of the bits 1 to 64.
  private var buckets = [ContiguousArray<Entry>](repeating: [], count: UInt64.bitWidth + 1)
  private var deadlines: ContiguousArray<UInt64> = []
  private var versions: ContiguousArray<UInt32> = []
  private var entryCount = 0
  private var now: UInt64 = 0
  private(set) var revisits = 0

  mutating func grow() {
    deadlines.append(Self.none)
    versions.append(0)
  }

  func deadline(of slot: Int) -> UInt64 { deadlines[slot] }

  mutating func set(_ deadline: UInt64, for slot: Int) {
    guard deadlines[slot] != deadline else { return }
    deadlines[slot] = deadline
    versions[slot] &+= 1
    guard deadline != Self.none else { return }
    if entryCount > 2 * deadlines.count + 64 { compact() }
    entryCount += 1
    insert(Entry(deadline: deadline, slot: Int32(slot), version: versions[slot]))
  }

  /// Returns a slot whose deadline is not after `time`, which must not be before that of the previous call. The slot
  /// keeps its deadline.
  mutating func expired(at time: UInt64) -> Int? {
    advance(to: time)
    while let entry = buckets[0].last {
      if isCurrent(entry) { return Int(entry.slot) }
      buckets[0].removeLast()
      entryCount -= 1
      revisits += 1
    }
    return nil
  }

  private func isCurrent(_ entry: Entry) -> Bool { versions[Int(entry.slot)] == entry.version }

  private mutating func insert(_ entry: Entry) {
    let bucket = entry.deadline <= now ? 0 : UInt64.bitWidth - (entry.deadline ^ now).leadingZeroBitCount
    buckets[bucket].append(entry)
  }

  /// Advances the current time. Entries that share all bits above the highest changed one may be closer now, or
  /// expired; the buckets above are unaffected.
  private mutating func advance(to time: UInt64) {
    guard time > now else { return }
    let highest = UInt64.bitWidth - (now ^ time).leadingZeroBitCount
    now = time
    for bucket in 1...highest where !buckets[bucket].isEmpty {
      let entries = buckets[bucket]
      buckets[bucket] = []
      revisits += entries.count
      for entry in entries {
        if isCurrent(entry) { insert(entry) } else { entryCount -= 1 }
      }
    }
  }

  private mutating func compact() {
    revisits += entryCount
    entryCount = 0
    let versions = versions
    for bucket in buckets.indices {
      buckets[bucket].removeAll { versions[Int($0.slot)] != $0.version }
      entryCount += buckets[bucket].count
    }
  }
}
