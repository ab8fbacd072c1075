import Dispatch
import Testing

@testable import EKNetwork

@Suite(.timeLimit(.minutes(10))) struct ObservedValueTests {
  private func reached(_ condition: () -> Bool) async {
    while !condition() { await Task.yield() }
  }

  @Test func slowReaderGetsNewestValueOnly() async {
    let value = ObservedValue(0)
    let first = await value.next(after: nil, isolation: nil)
    for number in 1...1000 { value.update { $0 = number } }
    let second = await value.next(after: first?.version, isolation: nil)
    #expect(first?.value == 0)
    #expect(second?.value == 1000)
  }

  @Test func settingTheSameValueIsNoChange() async {
    let value = ObservedValue(0)
    let reader = Task { await value.next(after: 0, isolation: nil)?.value }
    await reached { value.waiterCount == 1 }
    value.update { $0 = 0 }
    #expect(value.waiterCount == 1)
    value.update { $0 = 1 }
    #expect(await reader.value == 1)
  }

  @Test func everyReaderSeesFinalValue() async {
    let value = ObservedValue(0)
    let readers = (0..<100).map { _ in
      Task {
        var last = -1
        var version: UInt64?
        while let next = await value.next(after: version, isolation: nil) {
          #expect(next.value > last)
          last = next.value
          version = next.version
        }
        return last
      }
    }
    await Task.detached {
      DispatchQueue.concurrentPerform(iterations: 4) { _ in
        for _ in 0..<250 { value.update { $0 += 1 } }
      }
      value.finish()
    }.value
    for reader in readers { #expect(await reader.value == 1000) }
    #expect(value.waiterCount == 0)
  }

  @Test func cancelledReaderIsRemovedAtOnce() async {
    let value = ObservedValue(0)
    let readers = (0..<100).map { _ in Task { await value.next(after: 0, isolation: nil) == nil } }
    await reached { value.waiterCount == 100 }
    for reader in readers.prefix(99) { reader.cancel() }
    #expect(value.waiterCount == 1)
    for reader in readers.prefix(99) { #expect(await reader.value) }
    value.finish()
    #expect(await readers[99].value)
  }

  @Test func racingCancellationLeavesNoWaiters() async {
    for round in 0..<200 {
      let value = ObservedValue(0)
      let readers = (0..<8).map { _ in
        Task {
          var version: UInt64?
          while let next = await value.next(after: version, isolation: nil) { version = next.version }
        }
      }
      await withTaskGroup { group in
        group.addTask { for _ in 0..<10 { value.update { $0 += 1 } } }
        group.addTask {
          if round.isMultiple(of: 2) { await Task.yield() }
          for reader in readers { reader.cancel() }
        }
      }
      for reader in readers { await reader.value }
      #expect(value.waiterCount == 0)
    }
  }
}
