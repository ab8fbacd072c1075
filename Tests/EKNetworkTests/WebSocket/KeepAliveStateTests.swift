import Testing

@testable import EKNetwork

@Suite struct KeepAliveStateTests {
  @Test func silentPeerIsPingedThenGivenUp() {
    var state = KeepAliveState()
    #expect(state.tick(received: 0, sent: 0, unsent: 0, isHeld: false) == .wait, "it has only just been opened")
    #expect(state.tick(received: 0, sent: 0, unsent: 0, isHeld: false) == .ping)
    #expect(state.tick(received: 0, sent: 0, unsent: 0, isHeld: false) == .end)
  }

  @Test func anyProgressKeepsConnectionAlive() {
    var state = KeepAliveState()
    _ = state.tick(received: 0, sent: 0, unsent: 9, isHeld: false)
    #expect(state.tick(received: 0, sent: 0, unsent: 9, isHeld: false) == .ping)
    #expect(state.tick(received: 1, sent: 0, unsent: 9, isHeld: false) == .wait, "something came")
    #expect(state.tick(received: 1, sent: 0, unsent: 9, isHeld: false) == .ping)
    #expect(state.tick(received: 1, sent: 1, unsent: 9, isHeld: false) == .wait, "a frame went out")
    #expect(state.tick(received: 1, sent: 1, unsent: 9, isHeld: false) == .ping)
    #expect(state.tick(received: 1, sent: 1, unsent: 8, isHeld: false) == .wait, "the peer has taken something")
    #expect(state.tick(received: 1, sent: 1, unsent: 8, isHeld: false) == .ping)
    #expect(state.tick(received: 1, sent: 1, unsent: 14, isHeld: false) == .end, "what is added proves nothing")
  }

  @Test func unreadPeerIsNotGivenUp() {
    var state = KeepAliveState()
    for _ in 0..<5 { #expect(state.tick(received: 0, sent: 0, unsent: 0, isHeld: true) == .wait) }
    // An earlier ping is no reason to give it up, either.
    #expect(state.tick(received: 0, sent: 0, unsent: 0, isHeld: false) == .ping)
    #expect(state.tick(received: 0, sent: 0, unsent: 0, isHeld: true) == .wait)
    #expect(state.tick(received: 0, sent: 0, unsent: 0, isHeld: false) == .ping)
  }
}
