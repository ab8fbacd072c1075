/// A first-in, first-out queue whose elements can be removed by their keys, each in constant time on average. No key is
/// used twice.
struct KeyedQueue<Key: Hashable, Element> {
  /// The keys in the order of arrival. Those of removed elements stay until they are half of all: moving all that follow
  /// for each one would be quadratic.
  private var order: [Key] = []
  /// The keys before it have been removed.
  private var start = 0
  private var elements: [Key: Element] = [:]

  var count: Int { elements.count }
  var isEmpty: Bool { elements.isEmpty }
  var first: Element? { start < order.count ? elements[order[start]] : nil }

  mutating func append(_ element: Element, id: Key) {
    order.append(id)
    elements[id] = element
  }

  @discardableResult mutating func popFirst() -> Element? {
    start < order.count ? remove(order[start]) : nil
  }

  /// Removes an element and returns it; `nil` if it is not in the queue.
  @discardableResult mutating func remove(_ id: Key) -> Element? {
    guard let element = elements.removeValue(forKey: id) else { return nil }
    while start < order.count, elements[order[start]] == nil { start += 1 }
    if order.count > 32, elements.count * 2 < order.count {
      order = order[start...].filter { elements[$0] != nil }
      start = 0
    }
    return element
  }

  mutating func removeAll() -> [Element] {
    defer { self = KeyedQueue() }
    return order[start...].compactMap { elements[$0] }
  }
}

extension KeyedQueue: Sendable where Key: Sendable, Element: Sendable {}

/// The callers that wait for something. Its owner resumes what it returns, outside of its lock.
typealias WaiterQueue<Value: Sendable> = KeyedQueue<UInt64, CheckedContinuation<Value, any Error>>
