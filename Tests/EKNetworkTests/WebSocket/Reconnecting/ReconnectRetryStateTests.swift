import Testing

@testable import EKNetwork

struct ReconnectRetryStateTests {
  private static let lost = WebSocketError.connectionLost(reason: "")

  private func policy(
    random: Double = 0, _ change: (inout WebSocketReconnectPolicy) -> Void = { _ in }
  ) -> WebSocketReconnectPolicy {
    var policy = WebSocketReconnectPolicy(initialDelay: .seconds(1), maximumDelay: .seconds(10))
    policy.random = { random }
    change(&policy)
    return policy
  }

  private func delay(_ action: ReconnectRetryState.Action) -> Duration? {
    if case .retry(let delay) = action { delay } else { nil }
  }

  private func delay(
    _ state: inout ReconnectRetryState, _ error: any Error = lost, after lasted: Duration? = nil, now: Date = Date()
  ) -> Duration? {
    delay(state.lost(because: error, after: lasted, now: now))
  }

  @Test("Delays double up to the maximum")
  func doubling() {
    var state = ReconnectRetryState(policy: policy())
    let delays = (0..<6).map { _ in delay(&state) }
    #expect(delays == [1, 2, 4, 8, 10, 10].map { Duration.seconds($0) })
  }

  @Test("Jitter shortens the delay by up to half")
  func jitter() {
    for (random, seconds) in [(0.0, 1.0), (0.5, 0.75), (1, 0.5)] {
      var state = ReconnectRetryState(policy: policy(random: random))
      #expect(delay(&state) == .seconds(seconds))
    }
  }

  @Test("No delay is shorter than 100 ms, whatever the jitter")
  func shortest() {
    var state = ReconnectRetryState(policy: policy(random: 1) { $0.initialDelay = .zero })
    #expect(delay(&state) == .milliseconds(100))
  }

  @Test("A message or a long connection resets the delay; a short connection does not")
  func resettingTheCount() {
    var state = ReconnectRetryState(policy: policy())
    _ = delay(&state)
    #expect(delay(&state, after: .seconds(9)) == .seconds(2))
    state.received()
    #expect(delay(&state, after: .zero) == .seconds(1))
    #expect(delay(&state, after: .zero) == .seconds(2))
    #expect(delay(&state, after: .seconds(10)) == .seconds(1))
  }

  @Test("After too many consecutive failures the last error ends the retries")
  func failures() {
    var state = ReconnectRetryState(policy: policy { $0.maximumFailures = 2 })
    #expect(delay(&state) != nil)
    #expect(delay(&state) != nil)
    guard case .stop(let error?) = state.lost(because: Self.lost, now: Date()) else {
      Issue.record("it goes on")
      return
    }
    #expect(error as? WebSocketError == Self.lost)
  }

  @Test("Permanent errors end the retries")
  func finalErrors() {
    let codes = [1002, 1003, 1007, 1008, 1009, 1010, 3000, 3003].map { WebSocketCloseCode(rawValue: $0) }
    let errors: [any Error] =
      codes.map { WebSocketError.closed(code: $0, reason: "") }
      + [300, 301, 302, 400, 401, 403, 404, 410, 426, 501, 505, 200].map {
        WebSocketError.refused(status: $0, headers: [:])
      } + [
        WebSocketError.protocolViolation(code: .protocolError, reason: ""), WebSocketError.invalidURL,
        WebSocketError.invalidHandshake(reason: ""), URLError(.serverCertificateUntrusted), CancellationError(),
        InvalidHeaderError(field: "x", reason: .invalidName), NetworkError.unauthorized,
        PrismNetworkError.unauthorized, PrismNetworkError.forbidden, NetworkError.emptyResponse,
        PrismNetworkFailure(.serverError, statusCode: 501),
      ]
    for error in errors {
      var state = ReconnectRetryState(policy: policy())
      guard case .stop(.some) = state.lost(because: error, after: .seconds(100), now: Date()) else {
        Issue.record("\(error) is tried again")
        continue
      }
    }
  }

  @Test("Close code 1000 ends the retries without an error")
  func normalClosure() {
    var state = ReconnectRetryState(policy: policy())
    guard case .stop(nil) = state.lost(because: WebSocketError.closed(code: .normalClosure, reason: ""), now: Date())
    else {
      Issue.record("it goes on, or is an error")
      return
    }
  }

  @Test("Transient errors are retried")
  func transientErrors() {
    let errors: [any Error] =
      [1001, 1005, 1006, 1011, 1012, 1013, 4000].map {
        WebSocketError.closed(code: WebSocketCloseCode(rawValue: $0), reason: "")
      }
      + [408, 425, 429, 500, 502, 503, 504, 520].map { WebSocketError.refused(status: $0, headers: [:]) }
      + [
        WebSocketError.timedOut, Self.lost, URLError(.cannotConnectToHost), URLError(.cannotFindHost),
        HTTPError(statusCode: 503, data: Data(), headers: [:]), PrismNetworkError.noConnectivity,
        PrismNetworkError.serverError, PrismNetworkFailure(.serverError, statusCode: 503),
        PrismNetworkFailure(.noConnectivity, because: WebSocketError.connectionLost(reason: "")),
      ]
    for error in errors {
      var state = ReconnectRetryState(policy: policy())
      #expect(delay(&state, error) == .seconds(1), "\(error)")
    }
  }

  @Test("A failure of TLS or a lack of resources ends the retries only before the first connection")
  func failuresOfTheSystem() {
    for code in [URLError.Code.secureConnectionFailed, .resourceUnavailable] {
      var state = ReconnectRetryState(policy: policy())
      #expect(delay(&state, URLError(code)) == nil)
      // Another attempt that opened nothing changes nothing.
      #expect(delay(&state) != nil)
      #expect(delay(&state, URLError(code)) == nil)
      #expect(delay(&state, after: .zero) != nil)
      #expect(delay(&state, URLError(code)) != nil)
      #expect(delay(&state, URLError(.serverCertificateUntrusted)) == nil)
      #expect(delay(&state, URLError(.clientCertificateRejected)) == nil)
    }
  }

  @Test("The final close codes are configurable")
  func privateCodes() {
    let code = WebSocketCloseCode(rawValue: 4001)
    var state = ReconnectRetryState(policy: policy { $0.finalCodes.insert(code) })
    #expect(delay(&state, WebSocketError.closed(code: code, reason: "")) == nil)
    state = ReconnectRetryState(policy: policy { $0.finalCodes = [] })
    #expect(delay(&state, WebSocketError.closed(code: .normalClosure, reason: "")) != nil)
  }

  @Test("Retry-After lengthens the delay up to the maximum")
  func retryAfter() {
    func wait(_ value: String) -> Duration? {
      var state = ReconnectRetryState(policy: policy())
      return delay(
        &state, WebSocketError.refused(status: 503, headers: ["retry-after": value]),
        now: Date(timeIntervalSince1970: 784_111_777))
    }
    #expect(wait("5") == .seconds(5))
    #expect(wait("0") == .seconds(1))
    #expect(wait("9999999999999999999") == .seconds(10))
    #expect(wait("Sun, 06 Nov 1994 08:49:44 GMT") == .seconds(7))
    #expect(wait("soon") == .seconds(1))
  }

  @Test("Extreme delays do not overflow")
  func extremes() {
    for delays in [Duration.zero, .seconds(-5), .seconds(Int64.max), .nanoseconds(1)] {
      var state = ReconnectRetryState(
        policy: policy(random: .nan) {
          $0.initialDelay = delays
          $0.maximumDelay = .seconds(Int64.max)
        })
      for _ in 0..<2000 { #expect(delay(&state) != nil) }
    }
  }
}
