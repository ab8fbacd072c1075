import Foundation
import Testing

@testable import EKNetwork

/// Values that a thread has during a call.
struct ThreadSlotTests {
  private final class Value: Sendable {}

  /// With a key, and without one: a process has only so many.
  @Test(arguments: [true, false]) func aValueIsThatOfTheCall(hasKey: Bool) async throws {
    let slot = ThreadSlot<Value>(key: { hasKey ? ThreadSlot<Value>.newKey() : nil })
    let (first, second) = (Value(), Value())
    #expect(slot.value == nil)
    slot.withValue(first) {
      #expect(slot.value === first)
      slot.withValue(second) { #expect(slot.value === second) }
      slot.withValue(nil) { #expect(slot.value == nil) }
      #expect(slot.value === first)
      #expect(throws: CancellationError.self) { try slot.withValue(second) { throw CancellationError() } }
      #expect(slot.value === first)
    }
    #expect(slot.value == nil)
    let (inherited, elsewhere) = slot.withValue(first) {
      (Task { slot.value == nil }, Task.detached { slot.withValue(second) { slot.value === second } })
    }
    #expect(await inherited.value)
    #expect(await elsewhere.value)
  }

  @Test func aValueLivesAsLongAsTheCall() {
    let slot = ThreadSlot<Value>()
    weak var value: Value?
    slot.withValue(
      {
        let made = Value()
        value = made
        return made
      }()
    ) { #expect(slot.value != nil && value != nil) }
    #expect(value == nil && slot.value == nil)
  }
}
