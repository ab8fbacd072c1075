import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

struct ConnectionStateTests {
  private func isKept(_ delivery: ConnectionState.Delivery) -> Bool {
    if case .kept = delivery { true } else { false }
  }

  private func isFull(_ delivery: ConnectionState.Delivery) -> Bool {
    if case .keptAndFull = delivery { true } else { false }
  }

  /// Delivers four messages, the last of which fills the queue, and counts those taken until the reader continues.
  private func takenUntilTheReaderGoesOn(capacity: Int, byteCapacity: Int) async -> Int {
    var state = ConnectionState(capacity: capacity, byteCapacity: byteCapacity)
    // Each counts as 100 bytes.
    let message = WebSocketMessage.binary(Data(count: 36))
    for _ in 1...3 {
      let delivery = state.deliver(message)
      #expect(isKept(delivery))
    }
    let last = state.deliver(message)
    #expect(isFull(last))
    var taken = 0
    await withCheckedContinuation { reader in
      guard state.awaitRoom(reader, unscanned: nil) != nil else { return reader.resume() }
      while let (_, freed) = state.takeMessage() {
        taken += 1
        if let freed { return freed.resume() }
      }
      reader.resume()
    }
    return taken
  }

  @Test func readerContinuesWhenHalfOfBothLimitsIsFree() async {
    #expect(await takenUntilTheReaderGoesOn(capacity: 4, byteCapacity: 100_000) == 2)
    #expect(await takenUntilTheReaderGoesOn(capacity: 100, byteCapacity: 400) == 2)
    #expect(await takenUntilTheReaderGoesOn(capacity: 4, byteCapacity: 400) == 2)
    #expect(await takenUntilTheReaderGoesOn(capacity: 4, byteCapacity: 401) == 2)
    #expect(await takenUntilTheReaderGoesOn(capacity: 5, byteCapacity: 399) == 3)
  }

  @Test func peerIsNotReadWhileReadAheadIsFull() async {
    var state = ConnectionState(capacity: 1, byteCapacity: 1_000)
    _ = state.deliver(.binary(Data()))
    #expect(!state.isReadingStopped, "the reader goes on")
    await withCheckedContinuation { reader in
      #expect(state.awaitRoom(reader, unscanned: nil)?.beginsToRead == true)
      #expect(!state.isReadingStopped, "it reads ahead")
      let bytes = [UInt8](repeating: 0, count: ReadAheadState.limit)
      let goesOn = state.ahead.received(.success(bytes), isHeld: state.isReaderHeld).goesOn
      #expect(!goesOn)
      #expect(state.isReadingStopped)
      state.takeMessage()?.reader?.resume()
      #expect(!state.isReadingStopped)
    }
  }

  @Test func turnPassesToNextSender() async throws {
    var state = ConnectionState(capacity: 1, byteCapacity: 1)
    try await withCheckedThrowingContinuation { turn in
      let waits = state.takeTurn(id: 1, turn).resume(turn)
      #expect(!waits)
    }
    let isTaken = !state.takeFreeTurn()
    #expect(isTaken)
    try await withCheckedThrowingContinuation { turn in
      let waits = state.takeTurn(id: 2, turn).resume(turn)
      #expect(waits)
      let next = state.endTurn().next
      #expect(next != nil)
      next?.resume()
    }
    let isPassedOn = !state.takeFreeTurn()
    #expect(isPassedOn)
    let last = state.endTurn().next
    let isFree = state.takeFreeTurn()
    #expect(last == nil && isFree)
  }

  @Test func pingIsRefusedOnceNoPongCanArrive() async throws {
    var open = ConnectionState(capacity: 1, byteCapacity: 1)
    var closing = open
    var finished = open
    _ = closing.close([1], code: .normalClosure)
    _ = finished.end(ConnectionState.Outcome(code: .normalClosure, reason: ""))
    try await withCheckedThrowingContinuation { (ping: CheckedContinuation<Void, any Error>) in
      let isRefused = closing.addPing(Data([1]), ping) == nil && finished.addPing(Data([1]), ping) == nil
      let isAdded = open.addPing(Data([1]), ping)
      #expect(isRefused && isAdded == true)
      ping.resume()
    }
  }

  @Test func firstCloseFrameWins() {
    var state = ConnectionState(capacity: 1, byteCapacity: 1)
    let first = state.close([1], code: .normalClosure)
    #expect(first.isFirst && first.frame == [1])
    let second = state.closeAtOnce([2], .init(code: .normalClosure, reason: ""))
    #expect(!second.isFirst && second.frame == nil)
  }

  @Test func closeFrameWaitsForCurrentMessage() {
    var state = ConnectionState(capacity: 1, byteCapacity: 1)
    let isFree = state.takeFreeTurn()
    #expect(isFree)
    let first = state.close([1], code: .normalClosure)
    #expect(first.isFirst && first.frame == nil)
    // A second reason does not change the frame, but sends it without waiting.
    let second = state.closeAtOnce([2], .init(code: .normalClosure, reason: ""))
    #expect(!second.isFirst && second.frame == [1])
  }

  /// Their messages would be encoded for nothing, as the close frame precedes them.
  @Test func closingFailsWaitingSenders() async {
    var state = ConnectionState(capacity: 1, byteCapacity: 1)
    let isFree = state.takeFreeTurn()
    #expect(isFree)
    let error = WebSocketError.closed(code: WebSocketCloseCode(rawValue: 4000), reason: "over")
    await #expect(throws: error) {
      try await withCheckedThrowingContinuation { turn in
        let waits = state.takeTurn(id: 1, turn).resume(turn)
        #expect(waits)
        state.close([1], code: WebSocketCloseCode(rawValue: 4000), reason: "over").waiting.resume()
      }
    }
    // Only the first close frame is sent.
    _ = state.close([2], code: .goingAway)
    #expect(state.sendError == error)
    let (closeFrame, next) = state.endTurn()
    #expect(closeFrame == [1] && next == nil)
  }

  @Test func closeTimerIsCancelledAtTheEnd() {
    var state = ConnectionState(capacity: 1, byteCapacity: 1)
    let timer = Task<Void, Never> { await Gate().wait() }
    let isKept = state.keep(closeTimer: timer)
    state.finish().0.resume()
    #expect(timer.isCancelled)
    let isKeptAfterTheEnd = state.keep(closeTimer: timer)
    #expect(isKept && !isKeptAfterTheEnd)
  }

  @Test func senderAfterCloseFrameFindsItsCode() {
    let code = WebSocketCloseCode(rawValue: 4401)
    let error = WebSocketError.closed(code: code, reason: "expired")
    let outcome = ConnectionState.Outcome(code: code, reason: "expired", error: error)
    var state = ConnectionState(capacity: 1, byteCapacity: 1)
    let closing = state.closeAtOnce([1], outcome)
    #expect(closing.isFirst && closing.frame == [1])
    #expect(state.sendError == error)
    // As the response to a close frame of this side it is no error for a reader; a sender gets it nevertheless.
    var ours = ConnectionState(capacity: 1, byteCapacity: 1)
    _ = ours.close([1], code: .goingAway)
    let response = ours.closeAtOnce([2], outcome)
    #expect(!response.isFirst && response.frame == nil && ours.outcome?.error == nil)
    #expect(ours.sendError == error)
  }

  @Test func violationAfterOwnCloseFrameIsNoErrorForReader() {
    let error = WebSocketError.protocolViolation(code: .messageTooBig, reason: "")
    let outcome = ConnectionState.Outcome(code: .messageTooBig, reason: "", error: error)
    var open = ConnectionState(capacity: 1, byteCapacity: 1)
    _ = open.closeAtOnce([1], outcome)
    #expect(open.outcome?.error == error)
    var closing = ConnectionState(capacity: 1, byteCapacity: 1)
    _ = closing.close([1], code: .normalClosure)
    _ = closing.closeAtOnce([2], outcome)
    #expect(closing.outcome?.error == nil && closing.outcome?.code == .messageTooBig)
  }

  @Test func discardingEndsMessagesBeforeConnection() async throws {
    var state = ConnectionState(capacity: 4, byteCapacity: 1_000)
    _ = state.deliver(.text("read by nobody"))
    let closing = state.discard([1], code: .goingAway)
    #expect(closing.isFirst && closing.frame == [1])
    #expect(state.takeMessage() == nil && !state.isOver)
    guard case .dropped = state.deliver(.text("late")) else {
      Issue.record("a message was kept")
      return
    }
  }

  @Test func endOfFinishedConnectionIsNotAwaited() async {
    var state = ConnectionState(capacity: 1, byteCapacity: 1)
    await withCheckedContinuation { closer in
      let waits = state.awaitEnd(closer)
      #expect(waits)
      let (waiting, reader) = state.finish()
      #expect(waiting.closers.count == 1 && reader == nil)
      waiting.resume()
    }
    await withCheckedContinuation { closer in
      let waits = state.awaitEnd(closer)
      #expect(!waits)
      if !waits { closer.resume() }
    }
  }
}
