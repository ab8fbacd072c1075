import Foundation
import Testing

@testable import EKNetwork

extension RetryState {
  /// Records the failure of a request that may be repeated.
  mutating func failed(
    with error: any Error, retryAfter: Duration? = nil, bodyIsReplayable: Bool = true, wasCancelled: Bool = false,
    random: () -> Double = { 0 }
  ) -> Duration? {
    failed(
      with: error, Repeatability(after: error, isIdempotent: true), retryAfter: retryAfter,
      bodyIsReplayable: bodyIsReplayable, wasCancelled: wasCancelled, random: random)
  }
}

struct RetryStateTests {
  private struct Oops: Error, Equatable {}

  @Test func retriesToLimit() {
    var state = RetryState(policy: RetryPolicy(maxRetryCount: 3, delay: 0.25))
    for _ in 0..<3 { #expect(state.failed(with: Oops()) == .milliseconds(250)) }
    #expect(state.failed(with: Oops()) == nil)
    #expect(state.retryCount == 3)
  }

  @Test(arguments: [0, -1, .min])
  func nonPositiveCountMeansNoRetry(_ count: Int) {
    var state = RetryState(policy: RetryPolicy(maxRetryCount: count))
    #expect(state.failed(with: Oops()) == nil)
  }

  @Test func requestMayForbidRetries() {
    var state = RetryState(policy: RetryPolicy(maxRetryCount: 3), isAllowed: false)
    #expect(state.failed(with: Oops()) == nil)
  }

  /// RFC 9110 §9.2.2, whatever the policy; and what a policy can ask for in addition.
  @Test(arguments: [
    (true, Repeatability.Fate.unknown, true, true), (true, .carriedOut, true, true),
    (false, .notCarriedOut, true, true), (false, .unknown, true, false), (false, .carriedOut, false, false),
  ])
  func onlyWhatIsHarmlessIsRepeated(
    _ isIdempotent: Bool, _ fate: Repeatability.Fate, _ byDefault: Bool, _ onlyIfHarmless: Bool
  ) {
    for (asks, expected) in [(false, byDefault), (true, onlyIfHarmless)] {
      var policy = RetryPolicy(maxRetryCount: 1, delay: 0)
      #expect(!policy.repeatsOnlyIfHarmless)
      policy.repeatsOnlyIfHarmless = asks
      var state = RetryState(policy: policy)
      let end = Repeatability(isIdempotent: isIdempotent, fate: fate, kind: .temporary)
      #expect((state.failed(with: Oops(), end) != nil) == expected)
    }
  }

  @Test func completeResponseIsNotRequestedAgain() {
    var state = RetryState(policy: RetryPolicy(maxRetryCount: 1) { _ in true })
    #expect(state.failed(with: URLError(.cannotDecodeContentData)) == nil)
  }

  @Test func unreplayableBodyIsNotRetried() {
    var state = RetryState(policy: RetryPolicy(maxRetryCount: 3, delay: 0))
    #expect(state.failed(with: URLError(.timedOut)) == .zero)
    #expect(state.failed(with: Oops(), bodyIsReplayable: false) == nil)
  }

  @Test(arguments: [
    CancellationError() as any Error, URLError(.cancelled),
    NSError(domain: NSURLErrorDomain, code: URLError.Code.cancelled.rawValue),
  ])
  func cancellationIsNotRetriedByAnyPolicy(_ cancellation: any Error) {
    var asked = false
    var state = RetryState(
      policy: RetryPolicy(maxRetryCount: 9) { _ in
        asked = true
        return true
      })
    #expect(state.failed(with: cancellation) == nil)
    #expect(state.failed(with: Oops(), wasCancelled: true) == nil)
    #expect(!asked)
  }

  @Test func retryAfterLengthensDelayUpToCap() {
    let table: [(delay: TimeInterval, retryAfter: Duration?, cap: TimeInterval, expected: Duration)] = [
      (1, nil, 60, .seconds(1)),
      (1, .seconds(5), 60, .seconds(5)),
      (5, .seconds(1), 60, .seconds(5)),
      (1, .seconds(3600), 60, .seconds(60)),
      (90, .seconds(3600), 60, .seconds(90)),
      (1, .seconds(5), 0, .seconds(1)),
      (1, .seconds(5), -1, .seconds(1)),
      (1, .seconds(5), .nan, .seconds(1)),
      (1, .seconds(5), .infinity, .seconds(5)),
      (1, .seconds(-5), 60, .seconds(1)),
      (0, .seconds(Int64.max), .infinity, .seconds(31_536_000)),
    ]
    for row in table {
      var policy = RetryPolicy(maxRetryCount: 1, delay: row.delay)
      policy.maxRetryAfter = row.cap
      var state = RetryState(policy: policy)
      #expect(state.failed(with: Oops(), retryAfter: row.retryAfter) == row.expected, "\(row)")
    }
  }

  @Test func exponentialDelaysDoubleUpToTheMaximum() {
    let policy = RetryPolicy.exponentialBackoff(maxRetryCount: 6, baseDelay: 0.5, maxDelay: 5, jitter: 0)
    var state = RetryState(policy: policy)
    let delays = (0..<7).map { _ in state.failed(with: Oops()) }
    #expect(
      delays == [.seconds(0.5), .seconds(1), .seconds(2), .seconds(4), .seconds(5), .seconds(5), nil])
  }

  @Test(arguments: [
    (0.5, 0.0, 1.0), (0.5, 1.0, 0.5), (1, 0.25, 0.75), (1, 1, 0), (0, 1, 1), (7, 0.5, 0.5), (-1, 0.5, 1),
    (.nan, 0.5, 1), (1, .nan, 1), (1, 9, 0), (1, -9, 1),
  ])
  func jitterShortensDelayByItsShare(_ jitter: Double, _ random: Double, _ expected: Double) {
    let policy = RetryPolicy.exponentialBackoff(maxRetryCount: 1, baseDelay: 1, jitter: jitter)
    var state = RetryState(policy: policy)
    #expect(state.failed(with: Oops(), random: { random }) == .seconds(expected))
  }

  @Test func extremeDelaysDoNotOverflow() {
    let extremes: [Double] = [
      .nan, .infinity, -.infinity, 1e300, -1e300, .leastNonzeroMagnitude, .greatestFiniteMagnitude, 0, -0.0, -1,
    ]
    let year = Duration.seconds(31_536_000)
    for delay in extremes {
      for maximum in extremes {
        for number in [0, 1, 63, 64, 1023, 1024, 5000, .max, -1, .min] {
          let backoff = RetryBackoff.exponential(base: delay, maximum: maximum, jitter: 0.5)
          let result = backoff.delay(beforeRetry: number, after: Oops(), random: { 0.5 })
          #expect(result >= .zero && result <= year)
        }
      }
      let result = RetryBackoff.constant(delay).delay(beforeRetry: 5000, after: Oops(), random: { 0 })
      #expect(result >= .zero && result <= year)
    }
    #expect(RetryBackoff.constant(.infinity).delay(beforeRetry: 0, after: Oops(), random: { 0 }) == year)
    #expect(RetryBackoff.constant(.nan).delay(beforeRetry: 0, after: Oops(), random: { 0 }) == .zero)

    var state = RetryState(policy: .exponentialBackoff(maxRetryCount: .max, baseDelay: 1, maxDelay: 1e300, jitter: 0))
    for _ in 0..<5000 { #expect(state.failed(with: Oops()) != nil) }
  }
}
