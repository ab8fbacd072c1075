/// The deadlines of the transfers of one event loop: a binary heap whose elements know their index, so that in the
/// usual case (a transfer that ends long before its deadline) the entry is removed at once and leaves nothing behind.
struct DeadlineHeap<Element: DeadlineHeapElement> {
  private var entries: [(deadline: UInt64, element: Element)] = []

  var first: UInt64? { entries.first?.deadline }

  mutating func insert(_ element: Element, at deadline: UInt64) {
    entries.append((deadline, element))
    element.deadlineIndex = entries.count - 1
    siftUp(entries.count - 1)
  }

  mutating func remove(_ element: Element) {
    let index = element.deadlineIndex
    guard index >= 0 else { return }
    element.deadlineIndex = -1
    let last = entries.count - 1
    if index != last {
      entries[index] = entries[last]
      entries[index].element.deadlineIndex = index
    }
    entries.removeLast()
    if index < entries.count {
      siftDown(index)
      siftUp(index)
    }
  }

  /// Removes and returns the element with the earliest deadline, if that is not after `now`.
  mutating func popFirst(notAfter now: UInt64) -> Element? {
    guard let first = entries.first, first.deadline <= now else { return nil }
    remove(first.element)
    return first.element
  }

  private mutating func siftUp(_ start: Int) {
    var index = start
    while index > 0 {
      let parent = (index - 1) / 2
      guard entries[index].deadline < entries[parent].deadline else { return }
      swap(index, parent)
      index = parent
    }
  }

  private mutating func siftDown(_ start: Int) {
    var index = start
    while true {
      var smallest = index
      for child in [2 * index + 1, 2 * index + 2]
      where child < entries.count && entries[child].deadline < entries[smallest].deadline {
        smallest = child
      }
      guard smallest != index else { return }
      swap(index, smallest)
      index = smallest
    }
  }

  private mutating func swap(_ first: Int, _ second: Int) {
    entries.swapAt(first, second)
    entries[first].element.deadlineIndex = first
    entries[second].element.deadlineIndex = second
  }
}

protocol DeadlineHeapElement: AnyObject {
  /// The element's index in the heap; -1 if it is in none.
  var deadlineIndex: Int { get set }
}
