import Testing

@testable import EKNetwork

struct LoopTurnTests {
  @Test func timersAreNeverEarly() {
    #expect(LoopTime.timer(milliseconds: -1, now: 7) == .max)
    #expect(LoopTime.timer(milliseconds: 0, now: 7) == 0)
    #expect(LoopTime.timer(milliseconds: 1, now: 7) == 2_000_007)
    #expect(LoopTime.timer(milliseconds: .max, now: 7) == .max)
    #expect(LoopTime.sleep(until: .max, now: 7) == -1)
    #expect(LoopTime.sleep(until: 7, now: 7) == 0)
    #expect(LoopTime.sleep(until: 8, now: 7) == 1)
    #expect(LoopTime.sleep(until: 6, now: 7) == 0)
    #expect(LoopTime.sleep(until: .max - 1, now: 0) == .max)
  }

  @Test func singleRequestsStartDirectly() {
    var turn = LoopTurn()
    #expect(turn.allowsDirectStart)
    turn.began(1)
    #expect(!turn.allowsDirectStart)
    turn.ended(1)
    #expect(!turn.allowsDirectStart)
    turn.ended(0)
    #expect(turn.allowsDirectStart)
    // Once there were two at a time, the next one goes to the loop, which may meet others there.
    turn.began(2)
    turn.ended(0)
    #expect(!turn.allowsDirectStart)
    turn.began(1)
    turn.ended(0)
    #expect(turn.allowsDirectStart)
  }

  @Test func turnWithoutRequestsKeepsThePeak() {
    var turn = LoopTurn()
    turn.began(2)
    turn.ended(0)
    // For example, a timer has fired.
    turn.began(0)
    turn.ended(0)
    #expect(!turn.allowsDirectStart)
  }

  @Test func earlierAlarmStaysWhileIdle() {
    var turn = LoopTurn()
    #expect(turn.sleep(due: .max, cleanup: .max, now: 0) == -1)
    #expect(turn.sleep(due: 60_000_000, cleanup: .max, now: 0) == 60_000_000)
    // The request is over; the next one, due at 70 ms, need not wake the thread.
    #expect(turn.sleep(due: .max, cleanup: 118_000_000, now: 10_000_000) == 50_000_000)
    #expect(turn.alarm == 60_000_000)
    // Once it has fired, the cleanup is next.
    #expect(turn.sleep(due: .max, cleanup: 118_000_000, now: 60_000_000) == 58_000_000)
    #expect(turn.sleep(due: .max, cleanup: .max, now: 118_000_000) == -1)
    #expect(turn.alarm == .max)
  }

  @Test func dueTimersAreNeverLate() {
    var turn = LoopTurn()
    #expect(turn.sleep(due: 50_000_000, cleanup: 20_000_000, now: 0) == 20_000_000)
    #expect(turn.sleep(due: 5_000_000, cleanup: 20_000_000, now: 1_000_000) == 4_000_000)
    #expect(turn.sleep(due: 90_000_000, cleanup: .max, now: 2_000_000) == 88_000_000)
    #expect(turn.sleep(due: .max, cleanup: 20_000_000, now: 3_000_000) == 17_000_000)
    #expect(turn.sleep(due: 1, cleanup: .max, now: 4_000_000) == 0)
  }
}
