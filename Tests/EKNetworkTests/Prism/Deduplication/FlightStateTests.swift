import Testing

@testable import EKNetwork

struct FlightStateTests {
  @Test func lastWaiterToLeaveClosesFlight() {
    var state = FlightState<String>()
    #expect(state.join("a", id: 1) == true)
    #expect(state.join("b", id: 2) == true)
    guard case ("a", false)? = state.leave(1) else {
      Issue.record("The first one was not the last")
      return
    }
    #expect(state.isOpen)
    guard case ("b", true)? = state.leave(2) else {
      Issue.record("The last one was not the last")
      return
    }
    #expect(!state.isOpen)
    #expect(state.join("c", id: 3) == false)
    #expect(state.finish().isEmpty == true)
  }

  @Test func everyWaiterIsServedOnce() {
    var state = FlightState<String>()
    _ = state.join("a", id: 1)
    _ = state.join("b", id: 2)
    #expect(state.finish().sorted() == ["a", "b"])
    #expect(state.finish().isEmpty == true)
    #expect(state.join("c", id: 3) == false)
    guard case nil = state.leave(1) else {
      Issue.record("Who was served has nothing to leave")
      return
    }
  }
}
