/// Slots with deadlines, of which those come out whose time has come: a radix heap.
///
/// An entry whose deadline differs from the present in bit *n* at most is in bucket *n*. As time only goes on, an entry
/// only ever moves to a lower bucket, at most 64 times in its life: the cost does not depend on how many there are, as
/// it would in a binary heap. An entry that has been overtaken by another deadline of its slot stays where it is until
/// it is met.
struct ExpiryQueue {
  private struct Entry {
    let deadline: UInt64
    let slot: Int32
    /// Which of the slot's deadlines this is.
    let version: UInt32
  }

  /// The deadline of a slot that has none.
  static let none = UInt64.max

  /// Bucket 0 holds what has expired: a deadline that differs from the present does so in bit 1 to 64.
  private var buckets = [ContiguousArray<Entry>](repeating: [], count: UInt64.bitWidth + 1)
  private var deadlines: ContiguousArray<UInt64> = []
  private var versions: ContiguousArray<UInt32> = []
  private var entryCount = 0
  private var now: UInt64 = 0
  /// How often an entry was looked at after it was put in: what the order has cost so far.
  private(set) var revisits = 0

  /// Makes room for one more slot, whose number is that of those before.
  mutating func grow() {
    deadlines.append(Self.none)
    versions.append(0)
  }

  /// When the slot expires; ``none`` if it does not.
  func deadline(of slot: Int) -> UInt64 { deadlines[slot] }

  /// Gives a slot a deadline, in the place of the one that it has.
  mutating func set(_ deadline: UInt64, for slot: Int) {
    guard deadlines[slot] != deadline else { return }
    deadlines[slot] = deadline
    versions[slot] &+= 1
    guard deadline != Self.none else { return }
    if entryCount > 2 * deadlines.count + 64 { compact() }
    entryCount += 1
    insert(Entry(deadline: deadline, slot: Int32(slot), version: versions[slot]))
  }

  /// A slot whose deadline is not after `time`, which is not before that of the call before. It keeps its deadline.
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

  /// Time goes on. What shares all bits above the highest that has changed may be near now, or past; above that,
  /// nothing has changed.
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
