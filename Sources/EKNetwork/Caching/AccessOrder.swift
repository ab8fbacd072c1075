/// Which of a number of slots was not used for the longest time.
///
/// Every use is appended to a log, in which the last mention of a slot counts. When the log is half full of mentions
/// that do not, they are dropped. So a use writes to the end of an array instead of to three places of a linked list,
/// which at 100,000 slots would be three waits for memory; its cost is the same at any size, spread over many uses.
struct AccessOrder {
  private static var unused: Int32 { -1 }

  private var log: ContiguousArray<Int32> = []
  /// Where in the log each slot's last use is.
  private var lastUses: ContiguousArray<Int32> = []
  /// No last use is before this.
  private var start = 0
  /// How many entries of the log were looked at a second time: what the order has cost so far.
  private(set) var revisits = 0

  /// Makes room for one more slot, whose number is that of those before.
  mutating func grow() { lastUses.append(Self.unused) }

  /// A slot is used.
  mutating func use(_ slot: Int) {
    if log.count > 2 * lastUses.count + 64 { compact() }
    lastUses[slot] = Int32(log.count)
    log.append(Int32(slot))
  }

  /// A slot is no longer one of those in use.
  mutating func remove(_ slot: Int) { lastUses[slot] = Self.unused }

  /// The slot in use whose last use is the longest ago.
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
