/// A dictionary of limited size whose values expire. Every operation costs the same whatever the size, spread over many.
///
/// An expired entry stays until it is removed or its place is needed: it goes before any entry that is still fresh. Time
/// does not go back: what has expired at one time has expired at all others.
struct ExpiringLRU<Key: Hashable, Value> {
  /// How many entries there may be.
  let capacity: Int

  private var slots: [Key: Int] = [:]
  private var freeSlots: [Int] = []
  // One array for each part of an entry: an operation fetches only the parts that it looks at.
  private var keys: ContiguousArray<Key?> = []
  private var values: ContiguousArray<Value?> = []
  private var uses = AccessOrder()
  private var expiry = ExpiryQueue()
  private var now: UInt64 = 0

  init(capacity: Int) { self.capacity = min(max(capacity, 0), 1 << 29) }

  /// How many entries there are, expired ones included.
  var count: Int { slots.count }

  /// How often something was looked at once more to keep the orders: what they have cost so far.
  var revisits: Int { uses.revisits + expiry.revisits }

  /// The value, and whether its deadline has come. It counts as used.
  mutating func value(for key: Key, now time: UInt64) -> (value: Value, isExpired: Bool)? {
    now = max(now, time)
    guard let slot = slots[key], let value = values[slot] else { return nil }
    uses.use(slot)
    return (value, expiry.deadline(of: slot) <= now)
  }

  /// Stores a value. One that is there for the key goes; else, where it is full, an expired one, else the one whose
  /// last use is the longest ago. Returns what had to go.
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
    // The last deadline there is stands for none.
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
