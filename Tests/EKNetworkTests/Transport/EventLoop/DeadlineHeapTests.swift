import Testing

@testable import EKNetwork

struct DeadlineHeapTests {
  private final class Entry: DeadlineHeapElement {
    var deadlineIndex = -1
    let deadline: UInt64
    init(_ deadline: UInt64) { self.deadline = deadline }
  }

  @Test func elementsArePoppedByDeadline() {
    var heap = DeadlineHeap<Entry>()
    for deadline: UInt64 in [5, 3, 9, 1, 7, 3] { heap.insert(Entry(deadline), at: deadline) }
    var seen: [UInt64] = []
    while let entry = heap.popFirst(notAfter: .max) { seen.append(entry.deadline) }
    #expect(seen == [1, 3, 3, 5, 7, 9])
    #expect(heap.first == nil)
  }

  @Test func nothingIsPoppedBeforeItsDeadline() {
    var heap = DeadlineHeap<Entry>()
    heap.insert(Entry(10), at: 10)
    #expect(heap.popFirst(notAfter: 9) == nil)
    #expect(heap.popFirst(notAfter: 10) != nil)
  }

  @Test func randomOperationsMatchASortedList() {
    var generator = SystemRandomNumberGenerator()
    var heap = DeadlineHeap<Entry>()
    var reference: [Entry] = []
    for _ in 0..<20_000 {
      switch Int.random(in: 0..<3, using: &generator) {
      case 0, 1:
        let entry = Entry(UInt64.random(in: 0..<1_000, using: &generator))
        heap.insert(entry, at: entry.deadline)
        reference.append(entry)
      default:
        guard let index = reference.indices.randomElement(using: &generator) else { continue }
        let entry = reference.remove(at: index)
        heap.remove(entry)
        #expect(entry.deadlineIndex == -1)
        heap.remove(entry)
      }
    }
    #expect(heap.first == reference.map(\.deadline).min())
    var seen: [UInt64] = []
    while let entry = heap.popFirst(notAfter: .max) { seen.append(entry.deadline) }
    #expect(seen == reference.map(\.deadline).sorted())
  }
}
