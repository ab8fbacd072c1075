import Dispatch
import Testing

@testable import EKNetwork

struct LockedTests {
  private final class Counter {
    var value = 0
    let onDeinit: () -> Void
    init(onDeinit: @escaping () -> Void) { self.onDeinit = onDeinit }
    deinit { onDeinit() }
  }

  private struct Oops: Error, Equatable {}

  @Test func concurrentIncrementsAreNotLost() {
    let locked = Locked(0)
    DispatchQueue.concurrentPerform(iterations: 64) { _ in
      for _ in 0..<500 { locked.withLock { $0 += 1 } }
    }
    #expect(locked.withLock { $0 } == 32_000)
  }

  @Test func copiesShareTheStateAndItIsReleasedOnce() {
    let released = Locked(0)
    do {
      let locked = Locked(Counter { released.withLock { $0 += 1 } })
      let copy = locked
      DispatchQueue.concurrentPerform(iterations: 8) { _ in
        copy.withLock { $0.value += 1 }
      }
      #expect(locked.withLock { $0.value } == 8)
      #expect(released.withLock { $0 } == 0)
    }
    #expect(released.withLock { $0 } == 1)
  }

  @Test func withLockIfFreeReturnsNilWhileLocked() {
    let locked = Locked(1)
    #expect(locked.withLock { _ in locked.withLockIfFree { $0 } } == nil)
    #expect(locked.withLockIfFree { $0 += 1 } != nil)
    #expect(locked.withLockIfFree { $0 } == 2)
  }

  @Test func anErrorUnlocks() {
    let locked = Locked(1)
    #expect(throws: Oops()) {
      try locked.withLock { state throws(Oops) in
        state = 2
        throw Oops()
      }
    }
    #expect(locked.withLock { $0 } == 2)
  }
}
