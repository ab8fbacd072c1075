import Foundation
import Testing

@testable import EKNetwork

struct RateLimitStateTests {
  private typealias Quota = RateLimitReport.Quota

  private func state(
    _ requests: Int? = nil, wait: Duration = .seconds(60), waiting: Int = 1_000
  ) -> RateLimitState {
    RateLimitState(RateLimitRules(requests: requests, maximumWait: wait, maximumWaiting: waiting))
  }

  private func ids(_ released: [RateLimitState.Release]) -> [UInt64] {
    released.filter { $0.refusedFor == nil }.map(\.id)
  }

  /// An upload or a long poll may take longer than anybody waits.
  @Test(arguments: [
    RateLimitReport(isRefusal: true, pause: .seconds(10)),
    RateLimitReport(quotas: [RateLimitReport.Quota(remaining: 0, reset: .seconds(10))]),
  ])
  func requestSentBeforePauseDoesNotTakePlaceOfTrial(_ report: RateLimitReport) {
    var state = state()
    for _ in 0..<3 { #expect(state.arriveIfOpen(at: .zero) == .go) }
    let before = state.generation
    state.end(report, of: before, at: .zero)
    for id in 1...4 as ClosedRange<UInt64> { #expect(state.arrive(id, at: .seconds(1)) == .wait) }
    #expect(ids(state.release(at: .seconds(10))) == [1])
    let trial = state.generation
    #expect(state.wake(at: .seconds(10)) == .seconds(61))
    // The success of a request that was sent before says nothing about the limit.
    state.end(RateLimitReport(), of: before, at: .seconds(11))
    #expect(state.release(at: .seconds(11)).isEmpty)
    state.end(RateLimitReport(), of: trial, at: .seconds(12))
    #expect(ids(state.release(at: .seconds(12))) == [2, 3, 4])
  }

  /// Its refusal is no reason for a second trial beside the first.
  @Test func refusalOfRequestSentBeforeTrialDoesNotBeginAnother() {
    var state = state()
    for _ in 0..<3 { #expect(state.arriveIfOpen(at: .zero) == .go) }
    let before = state.generation
    state.end(RateLimitReport(isRefusal: true), of: before, at: .zero)
    #expect(state.arriveIfOpen(at: .zero) == .go)
    let trial = state.generation
    #expect(state.arrive(1, at: .zero) == .wait)
    state.end(RateLimitReport(isRefusal: true), of: before, at: .zero)
    #expect(state.release(at: .zero).isEmpty)
    // Another trial follows, whose response ends it.
    state.end(RateLimitReport(isRefusal: true), of: trial, at: .zero)
    #expect(ids(state.release(at: .zero)) == [1])
    #expect(state.arrive(2, at: .zero) == .wait)
    state.end(RateLimitReport(), of: before, at: .zero)
    #expect(state.release(at: .zero).isEmpty)
    state.end(RateLimitReport(), of: state.generation, at: .zero)
    #expect(ids(state.release(at: .zero)) == [2])
  }

  /// A request under way counts, but one place remains.
  @Test func quotaWithoutResetDeductsRequestsSentBefore() {
    var state = state()
    for _ in 0..<3 { #expect(state.arriveIfOpen(at: .zero) == .go) }
    state.end(RateLimitReport(quotas: [Quota(remaining: 4)]), of: state.generation, at: .zero)
    for _ in 0..<2 { #expect(state.arriveIfOpen(at: .zero) == .go) }
    #expect(state.arriveIfOpen(at: .zero) == .wait)
    state.end(RateLimitReport(quotas: [Quota(remaining: 1)]), of: state.generation, at: .zero)
    #expect(state.arriveIfOpen(at: .zero) == .go)
    #expect(state.arriveIfOpen(at: .zero) == .wait)
  }

  /// The trial request has not reached the server.
  @Test func cachedResponsePassesTrialToNextRequest() {
    var state = state()
    #expect(state.arriveIfOpen(at: .zero) == .go)
    state.end(RateLimitReport(isRefusal: true), at: .zero)
    #expect(state.arriveIfOpen(at: .zero) == .go)
    state.end(.notSent, at: .zero)
    #expect(state.arriveIfOpen(at: .zero) == .go)
    #expect(state.arriveIfOpen(at: .zero) == .wait)
    state.end(RateLimitReport(), at: .zero)
    #expect(state.arriveIfOpen(at: .zero) == .go)
    #expect(state.arriveIfOpen(at: .zero) == .go)
  }

  /// A server in front of the one that reports the quota may refuse for reasons of its own.
  @Test(arguments: [nil, RateLimitReport.Quota(remaining: 40, reset: .seconds(60))])
  func refusalWithoutTimeIsProbedDespiteQuota(_ quota: RateLimitReport.Quota?) {
    var state = state()
    for _ in 0..<2 { #expect(state.arriveIfOpen(at: .zero) == .go) }
    state.end(RateLimitReport(quotas: [Quota(remaining: 50, reset: .seconds(60))]), at: .zero)
    state.end(RateLimitReport(isRefusal: true, quotas: quota.map { [$0] } ?? []), at: .zero)
    #expect(state.arriveIfOpen(at: .zero) == .go)
    #expect(state.arrive(1, at: .zero) == .wait && state.arrive(2, at: .zero) == .wait)
    state.end(RateLimitReport(), at: .zero)
    #expect(ids(state.release(at: .zero)) == [1, 2])
  }

  /// The quota tells when to continue.
  @Test func refusalExplainedByQuotaIsNotProbed() {
    var state = state()
    #expect(state.arriveIfOpen(at: .zero) == .go)
    state.end(
      RateLimitReport(isRefusal: true, quotas: [Quota(remaining: 0, reset: .seconds(60), limit: 3)]), at: .zero)
    for id in 1...3 { #expect(state.arrive(UInt64(id), at: .zero) == .wait) }
    #expect(ids(state.release(at: .seconds(60))) == [1, 2, 3])
  }

  // MARK: - Own limit

  @Test func stateWithRequestUnderWayIsNotBlank() {
    var state = state(2)
    #expect(state.isBlank(at: .zero))
    #expect(state.arrive(1, at: .zero) == .go)
    #expect(!state.isBlank(at: .seconds(100)))
    state.end(nil, at: .zero)
    #expect(!state.isBlank(at: .zero) && state.isBlank(at: .seconds(100)))
  }

  @Test func requestsAreReleasedInOrder() {
    var state = state(2)
    #expect(state.arrive(1, at: .zero) == .go)
    #expect(state.arrive(2, at: .zero) == .go)
    for id in 3...7 { #expect(state.arrive(UInt64(id), at: .zero) == .wait) }
    #expect(state.wake(at: .zero) == .seconds(1))
    #expect(state.release(at: .milliseconds(999)).isEmpty)
    state.leave(4)
    #expect(ids(state.release(at: .seconds(1))) == [3, 5])
    #expect(state.wake(at: .seconds(1)) == .seconds(2))
    #expect(ids(state.release(at: .seconds(2))) == [6, 7])
    #expect(state.wake(at: .seconds(2)) == nil)
    for _ in 0..<6 { state.end(RateLimitReport(), at: .seconds(2)) }
    #expect(!state.isUnused(at: .seconds(2)))
    #expect(state.isBlank(at: .seconds(3)))
  }

  @Test func stateWithRequestUnderWayIsNotUnused() {
    var state = state(nil)
    #expect(state.arrive(1, at: .zero) == .go)
    #expect(!state.isUnused(at: .seconds(100)))
    state.end(nil, at: .seconds(100))
    #expect(state.isUnused(at: .seconds(100)))
  }

  @Test func tooLongWaitIsRefusedAtOnce() {
    var state = state(1, wait: .seconds(2), waiting: 5)
    #expect(state.arrive(1, at: .zero) == .go)
    #expect(state.arrive(2, at: .zero) == .wait)
    #expect(state.arrive(3, at: .zero) == .wait)
    #expect(state.arrive(4, at: .zero) == .refuse(.waitTooLong, after: .seconds(3)))
    var narrow = self.state(1, waiting: 1)
    #expect(narrow.arrive(1, at: .zero) == .go)
    #expect(narrow.arrive(2, at: .zero) == .wait)
    #expect(narrow.arrive(3, at: .zero) == .refuse(.tooManyWaiting, after: .seconds(2)))
    var impatient = self.state(1, wait: .zero)
    #expect(impatient.arrive(1, at: .zero) == .go)
    #expect(impatient.arrive(2, at: .zero) == .refuse(.waitTooLong, after: .seconds(1)))
  }

  // MARK: - Pause

  @Test func oneRequestIsTriedAfterPause() {
    var state = state()
    for id in 1...3 { #expect(state.arrive(UInt64(id), at: .zero) == .go) }
    state.end(RateLimitReport(isRefusal: true, pause: .seconds(10)), at: .zero)
    for id in 4...6 { #expect(state.arrive(UInt64(id), at: .zero) == .wait) }
    // Requests that were sent before the pause do not change it.
    state.end(nil, at: .zero)
    state.end(RateLimitReport(isRefusal: true, pause: .seconds(5)), at: .zero)
    #expect(state.wake(at: .zero) == .seconds(10))
    #expect(ids(state.release(at: .seconds(10))) == [4])
    // After a failure the next request tries. After a refusal without a pause it is still one at a time.
    state.end(nil, at: .seconds(11))
    #expect(ids(state.release(at: .seconds(11))) == [5])
    state.end(RateLimitReport(isRefusal: true), at: .seconds(12))
    #expect(ids(state.release(at: .seconds(12))) == [6])
    #expect(state.arrive(7, at: .seconds(12)) == .wait)
    #expect(state.arrive(8, at: .seconds(12)) == .wait)
    state.end(RateLimitReport(), at: .seconds(13))
    #expect(ids(state.release(at: .seconds(13))) == [7, 8])
    state.end(RateLimitReport(), at: .seconds(13))
    state.end(RateLimitReport(), at: .seconds(13))
    #expect(state.isBlank(at: .seconds(13)))
  }

  @Test func pauseIsCapped() {
    var state = state()
    #expect(state.arrive(1, at: .zero) == .go)
    state.end(RateLimitReport(isRefusal: true, pause: .seconds(999_999_999)), at: .zero)
    #expect(state.arrive(2, at: .zero) == .refuse(.waitTooLong, after: .seconds(300)))
    #expect(state.arrive(3, at: .seconds(240)) == .wait)
    #expect(ids(state.release(at: .seconds(300))) == [3])
  }

  @Test func newPauseRefusesWaitingRequests() {
    var state = state(1, wait: .seconds(5))
    #expect(state.arrive(1, at: .zero) == .go)
    #expect(state.arrive(2, at: .zero) == .wait)
    #expect(state.arrive(3, at: .zero) == .wait)
    state.end(RateLimitReport(isRefusal: true, pause: .seconds(60)), at: .milliseconds(500))
    let released = state.release(at: .milliseconds(500))
    #expect(released.map(\.id) == [2, 3])
    #expect(released.allSatisfy { $0.refusedFor == .seconds(60) })
    #expect(state.waitingCount == 0)
  }

  // MARK: - Quotas

  @Test func requestsUnderWayCountTowardsQuota() {
    var state = state()
    for id in 1...3 { #expect(state.arrive(UInt64(id), at: .zero) == .go) }
    let report = { RateLimitReport(quotas: [Quota(remaining: $0, reset: .seconds(30), limit: 5)]) }
    state.end(report(4), at: .zero)
    #expect(state.arrive(4, at: .zero) == .go)
    #expect(state.arrive(5, at: .zero) == .go)
    #expect(state.arrive(6, at: .zero) == .wait)
    // Responses may arrive in another order: the lowest number is the latest.
    state.end(report(1), at: .zero)
    state.end(report(3), at: .seconds(1))
    #expect(state.release(at: .seconds(1)).isEmpty)
    state.end(report(0), at: .seconds(1))
    state.end(report(2), at: .seconds(1))
    for id in 7...12 { #expect(state.arrive(UInt64(id), at: .seconds(1)) == .wait) }
    #expect(state.wake(at: .seconds(1)) == .seconds(30))
    // The quota is five, so five are released, and the rest once a response has reported more.
    #expect(ids(state.release(at: .seconds(30))) == [6, 7, 8, 9, 10])
    state.end(report(4), at: .seconds(31))
    #expect(state.release(at: .seconds(31)).isEmpty)
    state.end(RateLimitReport(quotas: [Quota(remaining: 9, reset: .seconds(60), limit: 10)]), at: .seconds(31))
    #expect(ids(state.release(at: .seconds(31))) == [11, 12])
  }

  @Test func expiredQuotaIsForgotten() {
    var state = state()
    #expect(state.arrive(1, at: .zero) == .go)
    state.end(RateLimitReport(quotas: [Quota(remaining: 0, reset: .seconds(1))]), at: .zero)
    #expect(state.arrive(2, at: .seconds(1)) == .go)
    #expect(state.arrive(3, at: .seconds(1)) == .wait)
    state.end(RateLimitReport(), at: .seconds(1))
    #expect(ids(state.release(at: .seconds(1))) == [3])
    #expect(state.arrive(4, at: .seconds(1)) == .go)
  }

  @Test func everyQuotaAppliesAndTheirNumberIsBounded() {
    var state = state()
    for id in 1...3 { #expect(state.arrive(UInt64(id), at: .zero) == .go) }
    state.end(
      RateLimitReport(quotas: [
        Quota(name: "burst", remaining: 50, reset: .seconds(1)), Quota(name: "day", remaining: 0, reset: .seconds(40)),
      ]), at: .zero)
    #expect(state.arrive(4, at: .zero) == .wait)
    #expect(state.wake(at: .zero) == .seconds(40))
    for number in 0..<100 {
      _ = state.arrive(UInt64(100 + number), at: .zero)
      state.end(RateLimitReport(quotas: [Quota(name: "\(number)", remaining: 9, reset: .seconds(9))]), at: .zero)
    }
    #expect(Mirror(reflecting: state).descendant("allowances").map { "\($0)".count < 4_000 } == true)
  }

  @Test func mostRecentQuotasAreKept() {
    var state = state()
    for number in 0..<20 {
      #expect(state.arrive(UInt64(2 * number), at: .zero) == .go, "\(number)")
      let name = "\(number)"
      state.end(RateLimitReport(quotas: [Quota(name: name, remaining: 0, reset: .seconds(9))]), at: .zero)
      #expect(state.arrive(UInt64(2 * number + 1), at: .zero) == .wait, "\(number)")
      state.leave(UInt64(2 * number + 1))
      state.end(RateLimitReport(quotas: [Quota(name: name, remaining: 50, reset: .seconds(900))]), at: .zero)
    }
  }

  /// A quota without a known end does not block all requests.
  @Test func quotaWithoutResetAllowsOneTrial() {
    var state = state()
    #expect(state.arrive(1, at: .zero) == .go)
    state.end(RateLimitReport(quotas: [Quota(remaining: 0)]), at: .zero)
    #expect(state.arrive(2, at: .zero) == .go)
    #expect(state.arrive(3, at: .zero) == .wait)
    #expect(state.wake(at: .zero) == .seconds(60))
    // The trial hangs, so the other request is refused in the end.
    #expect(state.release(at: .seconds(60)).first?.refusedFor == .zero)
  }

  /// Whatever a server reports and when, every waiting request is released, and the counts stay correct.
  @Test func everyWaitingRequestIsReleased() {
    for seed in 0..<200 as Range<UInt64> {
      var random = SplitMix(state: seed)
      var state = state(seed % 2 == 0 ? 3 : nil, wait: .seconds(20), waiting: 20)
      var now = Duration.zero
      var (underWay, waiting) = (0, Set<UInt64>())
      for id in 0..<400 as Range<UInt64> {
        now += .milliseconds(Int.random(in: 0...300, using: &random))
        switch state.arrive(id, at: now) {
        case .go: underWay += 1
        case .wait: waiting.insert(id)
        case .refuse: break
        }
        if underWay > 0, Bool.random(using: &random) {
          underWay -= 1
          let numbers = [0, 0, 1, 5, 100, .max]
          let quota = Quota(
            name: ["", "a"].randomElement(using: &random) ?? "", remaining: numbers.randomElement(using: &random) ?? 0,
            reset: Bool.random(using: &random) ? .seconds(Int.random(in: 0...400, using: &random)) : nil,
            limit: Bool.random(using: &random) ? numbers.randomElement(using: &random) : nil)
          let report = RateLimitReport(
            isRefusal: Bool.random(using: &random), pause: Bool.random(using: &random) ? nil : .seconds(1),
            quotas: Bool.random(using: &random) ? [quota] : [])
          state.end(Bool.random(using: &random) ? report : nil, at: now)
        }
        if let first = waiting.min(), Int.random(in: 0..<10, using: &random) == 0 {
          state.leave(first)
          waiting.remove(first)
        }
        let released = state.release(at: now)
        #expect(released.map(\.id) == Array(waiting.sorted().prefix(released.count)))
        for one in released {
          waiting.remove(one.id)
          if one.refusedFor == nil { underWay += 1 }
        }
        #expect(state.waitingCount == waiting.count)
        if let wake = state.wake(at: now) { #expect(wake > now) } else { #expect(waiting.isEmpty) }
      }
      // Without further events, time alone releases the rest.
      while let wake = state.wake(at: now) {
        now = wake
        for one in state.release(at: now) { waiting.remove(one.id) }
      }
      #expect(waiting.isEmpty)
    }
  }

  @Test func maximumNumberOfQuotasIsKept() {
    let names = (0..<RateLimitReport.maximumQuotas).map { "q\($0)" }
    func after(_ later: [String]) -> RateLimitState {
      var state = state()
      for reported in [names, later] {
        #expect(state.arriveIfOpen(at: .zero) == .go)
        let quotas = reported.map { Quota(name: $0, remaining: reported == names ? 1 : 9, reset: .seconds(60)) }
        state.end(RateLimitReport(quotas: quotas), at: .zero)
      }
      return state
    }
    var full = after(["q0"])
    #expect(full.arriveIfOpen(at: .zero) == .wait)
    // One more than that: those that the last response did not report are dropped.
    var over = after(["another"])
    #expect(over.arriveIfOpen(at: .zero) == .go)
  }

  @Test func quotaIsUnusedFromItsReset() {
    var state = state()
    #expect(state.arriveIfOpen(at: .zero) == .go)
    state.end(RateLimitReport(quotas: [Quota(remaining: 1, reset: .seconds(10))]), at: .zero)
    #expect(!state.isUnused(at: .seconds(10) - .nanoseconds(1)))
    #expect(state.isUnused(at: .seconds(10)))
  }

  @Test func resetsWithinTwoSecondsAreOneWindow() {
    var allowance = RateLimitAllowance(remaining: 1, reset: .seconds(10))
    allowance.update(RateLimitAllowance(remaining: 5, reset: .seconds(12)))
    #expect(allowance == RateLimitAllowance(remaining: 1, reset: .seconds(10)))
    let next = RateLimitAllowance(remaining: 5, reset: .seconds(12) + .nanoseconds(1))
    allowance.update(next)
    #expect(allowance == next)
  }
}

extension RateLimitState {
  /// Ends the oldest request under way.
  mutating func end(_ report: RateLimitReport?, at now: Duration) {
    end(report, of: sent.keys.min() ?? generation, at: now)
  }
}
