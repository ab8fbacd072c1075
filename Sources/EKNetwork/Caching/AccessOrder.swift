/// The order in which slots were last used.
///
/// Every use is appended to a log, in which only the last mention of a slot counts. When more than half of the log is
/// outdated, the outdated mentions are removed. A use therefore writes to the end of an array instead of to three nodes
/// of a linked list, which at 100,000 slots would be three cache misses; its amortised cost is the same at any size.
struct AccessOrder {
  private static var unused: Int32 { -1 }

  private var log: ContiguousArray<Int32> = []
  /// The index of each slot's last use in the log.
  private var lastUses: ContiguousArray<Int32> = []
  /// The index before which the log holds no last use.
  private var start = 0
  /// The number of log entries that were visited again: the cost of maintaining the order so far.
  private(set) var revisits = 0

  /// Adds a slot, numbered after the existing ones.
  mutating func grow() { lastUses.append(Self.unused) }

  /// Records a use of a slot.
  mutating func use(_ slot: Int) {
    if log.count > 2 * lastUses.count + 64 { compact() }
    lastUses[slot] = Int32(log.count)
    log.append(Int32(slot))
  }

  /// Removes a slot from the order.
  mutating func remove(_ slot: Int) { lastUses[slot] = Self.unused }

  /// Returns the least recently used slot.
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
