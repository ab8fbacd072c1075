/// A dictionary of limited size whose values expire. The amortised cost of every operation is the same at any size.
///
/// An expired entry stays until it is removed or its place is needed: it is evicted before any entry that is still
/// fresh. Time never goes backwards: what has expired at one time stays expired.
struct ExpiringLRU<Key: Hashable, Value> {
  /// The maximum number of entries.
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
    var old: Value?
    var slot = slots[key]
    if let slot {
      old = values[slot]
    } else if count >= capacity {
      old = (expiry.expired(at: now) ?? uses.leastRecent()).flatMap { free($0) }
    }
    if slot == nil {
      let new = freeSlots.popLast() ?? newSlot()
      slots[key] = new
      keys[new] = key
      slot = new
    }
    guard let slot else { return old }
    values[slot] = value
    // The greatest deadline is reserved for none.
    expiry.set(min(deadline, ExpiryQueue.none - 1), for: slot)
    uses.use(slot)
    return old
  }

  /// Removes a value and returns it.
  @discardableResult
  mutating func remove(_ key: Key) -> Value? {
    slots[key].flatMap { free($0) }
  }

  private mutating func newSlot() -> Int {
    keys.append(nil)
    values.append(nil)
    uses.grow()
    expiry.grow()
    return keys.count - 1
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
