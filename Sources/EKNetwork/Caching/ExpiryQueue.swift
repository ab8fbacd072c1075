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
    /// The version of the slot's deadline.
    let version: UInt32
  }

  /// The deadline of a slot that has none.
  static let none = UInt64.max

  /// Bucket 0 holds the expired entries; all others differ from the current time in one of the bits 1 to 64.
  private var buckets = [ContiguousArray<Entry>](repeating: [], count: UInt64.bitWidth + 1)
  private var deadlines: ContiguousArray<UInt64> = []
  private var versions: ContiguousArray<UInt32> = []
  private var entryCount = 0
  private var now: UInt64 = 0
  /// The number of entries that were visited again after insertion: the cost of the order so far.
  private(set) var revisits = 0

  /// Adds a slot, numbered after the existing ones.
  mutating func grow() {
    deadlines.append(Self.none)
    versions.append(0)
  }

  /// Returns the deadline of a slot; ``none`` if it has none.
  func deadline(of slot: Int) -> UInt64 { deadlines[slot] }

  /// Sets the deadline of a slot, replacing the previous one.
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
