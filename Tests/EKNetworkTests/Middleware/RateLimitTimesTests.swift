import Foundation
import Testing

@testable import EKNetwork

/// The moments at which ``RateLimitState`` changes its decision.
struct RateLimitTimesTests {
  private typealias Quota = RateLimitReport.Quota

  private func state(_ requests: Int? = nil, wait: Duration = .seconds(60)) -> RateLimitState {
    RateLimitState(RateLimitRules(requests: requests, maximumWait: wait, maximumWaiting: 1_000))
  }

  private func ids(_ released: [RateLimitState.Release]) -> [UInt64] {
    released.filter { $0.refusedFor == nil }.map(\.id)
  }

  @Test func originWithoutLimitsIsForgotten() async throws {
    let line = RateLimitLine(RateLimitRules(), clock: ManualClock().stopwatch())
    let url = try #require(URL(string: "http://a.example/"))
    let key = RateLimitLine.Key(origin: try #require(Origin(url)), client: nil)
    let first = try await line.enter(key)
    line.leave(key, of: try #require(first), report: RateLimitReport(isRefusal: true))
    #expect(line.keyCount == 1)
    let inside = try await line.enter(key, isInside: true)
    #expect(line.underWayCount == 1)
    line.leave(key, of: try #require(inside), report: RateLimitReport())
    #expect(line.keyCount == 0)
  }

  /// The pause tells when to continue, and the quota how many.
  @Test func refusalWithPauseIsNotProbedDespiteQuota() {
    var state = state()
    #expect(state.arriveIfOpen(at: .zero) == .go)
    state.end(
      RateLimitReport(isRefusal: true, pause: .seconds(5), quotas: [Quota(remaining: 40, reset: .seconds(60))]),
      at: .zero)
    for id in 1...3 as ClosedRange<UInt64> { #expect(state.arrive(id, at: .zero) == .wait) }
    #expect(ids(state.release(at: .seconds(5))) == [1, 2, 3])
  }

  /// As after 503: the pause is over at its last moment, and one request tries.
  @Test func pauseWithoutRefusalEndsWithOneTrial() {
    var state = state()
    #expect(state.arriveIfOpen(at: .zero) == .go)
    state.end(RateLimitReport(pause: .seconds(7)), at: .zero)
    for id in 1...3 as ClosedRange<UInt64> { #expect(state.arrive(id, at: .zero) == .wait) }
    #expect(state.release(at: .seconds(7) - .nanoseconds(1)).isEmpty)
    #expect(ids(state.release(at: .seconds(7))) == [1])
    state.end(RateLimitReport(), at: .seconds(8))
    #expect(ids(state.release(at: .seconds(8))) == [2, 3])
  }

  @Test func requestMayWaitUntilItsDeadline() {
    var state = state(1, wait: .seconds(1))
    #expect(state.arrive(1, at: .zero) == .go)
    #expect(state.arrive(2, at: .zero) == .wait)
    #expect(state.release(at: .milliseconds(999)).isEmpty)
    #expect(ids(state.release(at: .seconds(1))) == [2])
  }

  @Test func requestDoesNotWaitPastItsOwnTime() {
    var state = state(1)
    #expect(state.arrive(1, at: .zero) == .go)
    #expect(state.arrive(2, at: .zero, within: .milliseconds(999)) == .refuse(.waitTooLong, after: .seconds(1)))
    #expect(state.arrive(3, at: .zero, within: .seconds(1)) == .wait)
    #expect(state.arrive(4, at: .zero, within: .seconds(3)) == .wait)
    #expect(state.arrive(5, at: .zero) == .wait)
    // The server asks for a pause that ends after the time of the first one.
    state.end(RateLimitReport(pause: .seconds(2)), of: 0, at: .milliseconds(500))
    let refusal = RateLimitState.Release(id: 3, refusedFor: .seconds(2))
    #expect(state.release(at: .milliseconds(500)) == [refusal])
    #expect(state.waitingCount == 2)
  }

  /// Its owner ends it then: it is not known when its turn would have come.
  @Test func ownTimeThatEndsDuringATrialRefusesNothing() {
    var state = state()
    #expect(state.arrive(1, at: .zero) == .go)
    state.end(RateLimitReport(isRefusal: true), of: 0, at: .zero)
    #expect(state.arrive(2, at: .zero) == .go)
    #expect(state.arrive(3, at: .zero, within: .seconds(1)) == .wait)
    #expect(state.release(at: .seconds(2)).isEmpty)
    #expect(state.release(at: .seconds(60)).map(\.id) == [3])
  }

  @Test func usedUpQuotaRefusesAtOnce() {
    var state = state()
    #expect(state.arriveIfOpen(at: .zero) == .go)
    state.end(RateLimitReport(quotas: [Quota(remaining: 0, reset: .seconds(90))]), at: .zero)
    #expect(state.arrive(1, at: .zero) == .refuse(.waitTooLong, after: .seconds(90)))
    #expect(state.arrive(2, at: .seconds(30)) == .wait)
  }
}
