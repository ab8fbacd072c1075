import Testing

@testable import EKNetwork

struct SendWindowTests {
  /// Whatever arrives when, no period exceeds the limit, and no request waits longer than necessary.
  @Test func noPeriodExceedsTheLimit() {
    var random = SystemRandomNumberGenerator()
    for limit in 1...5 {
      var window = SendWindow(limit: limit, period: .seconds(1))
      var sent: [Duration] = []
      var now = Duration.zero
      for _ in 0..<300 {
        now += .milliseconds(Int.random(in: 0...400, using: &random))
        let opening = window.opening(at: now)
        if sent.count >= limit { #expect(opening == max(now, sent[sent.count - limit] + .seconds(1))) }
        now = opening
        window.record(now)
        sent.append(now)
      }
      for (first, last) in zip(sent, sent.dropFirst(limit)) { #expect(last - first >= .seconds(1)) }
    }
  }

  /// The last of them counts, wherever it is kept.
  @Test(arguments: 0...7) func windowIsIdleAfterItsLastPeriod(sent: Int) {
    var window = SendWindow(limit: 3, period: .seconds(10))
    for step in 0..<sent { window.record(.seconds(5 * step)) }
    let end = Duration.seconds(5 * (sent - 1) + 10)
    #expect(window.isIdle(at: end) && window.isIdle(at: end - .milliseconds(1)) == (sent == 0))
  }

  /// The opening that is predicted for a place in the queue is the one that follows.
  @Test(arguments: 1...4, 0...4) func predictedOpeningIsTheActualOne(limit: Int, sent: Int) {
    var window = SendWindow(limit: limit, period: .seconds(1))
    for step in 0..<sent { window.record(window.opening(at: .milliseconds(100 * step))) }
    let now = Duration.milliseconds(450)
    let told = (0..<12).map { window.opening(position: $0, at: now) }
    var time = now
    for opening in told {
      time = window.opening(at: time)
      #expect(time == opening)
      window.record(time)
    }
  }
}
