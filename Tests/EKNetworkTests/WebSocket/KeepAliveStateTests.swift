import Testing

@testable import EKNetwork

struct KeepAliveStateTests {
  @Test func silenceLeadsToPingThenToTheEnd() {
    var state = KeepAliveState()
    #expect(
      state.tick(received: 0, sent: 0, unsent: 0, isSending: false, isHeld: false) == .wait,
      "it has only just been opened")
    #expect(state.tick(received: 0, sent: 0, unsent: 0, isSending: false, isHeld: false) == .ping)
    #expect(state.tick(received: 0, sent: 0, unsent: 0, isSending: false, isHeld: false) == .end)
  }

  @Test func anyProgressKeepsConnectionAlive() {
    var state = KeepAliveState()
    _ = state.tick(received: 0, sent: 0, unsent: 9, isSending: false, isHeld: false)
    #expect(state.tick(received: 0, sent: 0, unsent: 9, isSending: false, isHeld: false) == .ping)
    #expect(state.tick(received: 1, sent: 0, unsent: 9, isSending: false, isHeld: false) == .wait, "something came")
    #expect(state.tick(received: 1, sent: 0, unsent: 9, isSending: false, isHeld: false) == .ping)
    #expect(
      state.tick(received: 1, sent: 1, unsent: 9, isSending: false, isHeld: false) == .wait, "it takes what waits")
    #expect(state.tick(received: 1, sent: 1, unsent: 9, isSending: false, isHeld: false) == .ping)
    #expect(
      state.tick(received: 1, sent: 1, unsent: 8, isSending: false, isHeld: false) == .wait,
      "the peer has taken something")
    #expect(state.tick(received: 1, sent: 1, unsent: 8, isSending: false, isHeld: false) == .ping)
    #expect(
      state.tick(received: 1, sent: 1, unsent: 14, isSending: false, isHeld: false) == .end,
      "what is added proves nothing")
  }

  @Test("What the system accepts keeps a connection alive only while it waits for the peer to take it")
  func acceptedBytes() {
    func actions(unsent: [Int], isSending: Bool) -> [KeepAliveState.Action] {
      var state = KeepAliveState()
      return unsent.enumerated().map { index, unsent in
        state.tick(received: 0, sent: 10 * index, unsent: unsent, isSending: isSending, isHeld: false)
      }
    }
    #expect(actions(unsent: [0, 10, 20], isSending: false) == [.wait, .ping, .end], "nothing is taken")
    #expect(actions(unsent: [0, 0, 0], isSending: false) == [.wait, .ping, .end], "only the system is alive")
    #expect(actions(unsent: [100, 105, 110], isSending: false) == [.wait, .wait, .wait], "half of it is taken")
    #expect(actions(unsent: [0, 0, 0], isSending: true) == [.wait, .wait, .wait], "the message waits for it")
    #expect(actions(unsent: [100, 110, 120], isSending: true) == [.wait, .ping, .end], "only the buffer grows")
  }

  /// TLS adds more to small messages than a slow peer takes of them.
  @Test func confirmedBytesKeepConnectionAlive() {
    func actions(confirmed: [UInt64], unsent: Int) -> [KeepAliveState.Action] {
      var state = KeepAliveState()
      return confirmed.enumerated().map { index, confirmed in
        state.tick(
          received: 0, sent: 20 * index, unsent: unsent * index, confirmed: confirmed, isSending: false, isHeld: false)
      }
    }
    #expect(actions(confirmed: [1, 2, 3, 4], unsent: 40) == [.wait, .wait, .wait, .wait])
    #expect(actions(confirmed: [1, 1, 1], unsent: 10) == [.wait, .ping, .end], "the difference says nothing then")
    #expect(actions(confirmed: [1, 2, 3], unsent: 0) == [.wait, .ping, .end], "only the system is alive")
  }

  @Test func silenceWhileNothingIsReadProvesNothing() {
    var state = KeepAliveState()
    for _ in 0..<5 { #expect(state.tick(received: 0, sent: 0, unsent: 0, isSending: false, isHeld: true) == .wait) }
    // An earlier ping is no reason to give it up, either.
    #expect(state.tick(received: 0, sent: 0, unsent: 0, isSending: false, isHeld: false) == .ping)
    #expect(state.tick(received: 0, sent: 0, unsent: 0, isSending: false, isHeld: true) == .wait)
    #expect(state.tick(received: 0, sent: 0, unsent: 0, isSending: false, isHeld: false) == .ping)
  }
}
