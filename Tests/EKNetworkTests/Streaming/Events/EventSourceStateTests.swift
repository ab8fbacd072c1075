import Testing

@testable import EKNetwork

struct EventSourceStateTests {
  private func delay(_ action: EventSourceState.Action) -> Duration? {
    if case .reconnect(let delay) = action { return delay }
    return nil
  }

  private let lost = URLError(.networkConnectionLost)

  @Test func delaysDoubleUntilAStreamOpens() {
    var state = EventSourceState(policy: EventReconnectPolicy(initialDelay: .seconds(2), maximumDelay: .seconds(15)))
    var delays: [Duration?] = []
    for _ in 0..<5 { delays.append(delay(state.lost(because: lost, bodyIsReplayable: true, random: 0))) }
    #expect(delays == [.seconds(2), .seconds(4), .seconds(8), .seconds(15), .seconds(15)])
    state.opened()
    #expect(delay(state.lost(because: nil, bodyIsReplayable: true, random: 0)) == .seconds(2))
    #expect(delay(state.lost(because: nil, bodyIsReplayable: true, random: 1)) == .seconds(2), "4 s less a half")
  }

  @Test func incompleteCompressionIsALostConnection() {
    let error = URLError(.cannotDecodeContentData, userInfo: [NSUnderlyingErrorKey: TruncatedContentError()])
    var state = EventSourceState(policy: EventReconnectPolicy(initialDelay: .seconds(1)))
    state.opened()
    #expect(delay(state.lost(because: error, bodyIsReplayable: true, random: 0)) == .seconds(1))
    #expect(delay(state.lost(because: error, bodyIsReplayable: true, random: 0)) == nil, "not a stream of events")
    state.opened()
    let corrupt = URLError(.cannotDecodeContentData)
    #expect(delay(state.lost(because: corrupt, bodyIsReplayable: true, random: 0)) == nil)
  }

  /// Middleware refuses requests to the server for a while.
  @Test func openCircuitDelaysReconnect() {
    var state = EventSourceState(policy: EventReconnectPolicy(initialDelay: .seconds(1)))
    let open = CircuitBreaker.OpenError(host: "a", retryAfter: .seconds(20))
    let after = RetryAfter.delay(in: open, now: .distantPast)
    #expect(after == .seconds(20))
    let action = state.lost(because: open, retryAfter: after, bodyIsReplayable: true, random: 0)
    #expect(delay(action) == .seconds(20))
  }

  /// The random share does not shorten it.
  @Test func delayHasAMinimum() {
    for isOpen in [false, true] {
      var state = EventSourceState(policy: EventReconnectPolicy(initialDelay: .zero))
      if isOpen { state.opened() }
      #expect(delay(state.lost(because: lost, bodyIsReplayable: true, random: 1)) == .milliseconds(100))
    }
  }

  @Test func serverRetryReplacesInitialDelay() throws {
    var parser = EventStreamParser(maximumSize: 1_000)
    parser.append(Data("retry: 700\nid: 9\ndata: a\n\n".utf8))
    _ = try parser.next()
    var state = EventSourceState(policy: EventReconnectPolicy())
    #expect(delay(state.lost(because: nil, parser: parser, bodyIsReplayable: true, random: 1)) == .milliseconds(700))
    #expect(state.lastEventID == "9")
    #expect(delay(state.lost(because: lost, bodyIsReplayable: true, random: 0)) == .milliseconds(1_400))
  }

  @Test func zeroRetryHasAMinimumDelay() throws {
    var parser = EventStreamParser(maximumSize: 1_000)
    parser.append(Data("retry: 0\ndata: a\n\n".utf8))
    _ = try parser.next()
    var state = EventSourceState(policy: EventReconnectPolicy())
    state.opened()
    #expect(delay(state.lost(because: nil, parser: parser, bodyIsReplayable: true, random: 0)) == .milliseconds(500))
    let second = try #require(delay(state.lost(because: lost, bodyIsReplayable: true, random: 0)))
    #expect(second >= .milliseconds(500))
    for _ in 0..<3 {
      state.opened()
      let next = try #require(delay(state.lost(because: nil, bodyIsReplayable: true, random: 0)))
      #expect(next == .milliseconds(500), "it opens, says nothing and ends")
    }
  }

  @Test func retryAfterIsCappedAtMaximumDelay() {
    var state = EventSourceState(policy: EventReconnectPolicy())
    let busy = HTTPError(statusCode: 503, data: Data(), headers: [:])
    #expect(
      delay(state.lost(because: busy, retryAfter: .seconds(20), bodyIsReplayable: true, random: 0)) == .seconds(20))
    #expect(
      delay(state.lost(because: busy, retryAfter: .seconds(9_000), bodyIsReplayable: true, random: 0)) == .seconds(60))
  }

  @Test func permanentErrorsAreThrown() {
    let errors: [any Error] = [
      HTTPError(statusCode: 404, data: Data(), headers: [:]), NetworkError.unauthorized, CancellationError(),
      URLError(.serverCertificateUntrusted), StreamLineTooLongError(line: 1, limitBytes: 1),
    ]
    for error in errors {
      var state = EventSourceState(policy: EventReconnectPolicy())
      guard case .fail = state.lost(because: error, bodyIsReplayable: true, random: 0) else {
        Issue.record("\(error)")
        continue
      }
    }
  }

  @Test(arguments: [URLError.Code.secureConnectionFailed, .resourceUnavailable])
  func serverThatRefusesHandshakesIsTriedAgainOnceAStreamWasOpen(code: URLError.Code) {
    let policy = EventReconnectPolicy(initialDelay: .seconds(1))
    var state = EventSourceState(policy: policy)
    let first = delay(state.lost(because: URLError(code), bodyIsReplayable: true, random: 0))
    #expect(first == nil, "the configuration is wrong")
    state.opened()
    #expect(delay(state.lost(because: lost, bodyIsReplayable: true, random: 0)) == .seconds(1))
    #expect(delay(state.lost(because: URLError(code), bodyIsReplayable: true, random: 0)) == .seconds(2))
    let untrusted = URLError(.serverCertificateUntrusted)
    #expect(delay(state.lost(because: untrusted, bodyIsReplayable: true, random: 0)) == nil)
  }

  @Test func consumedBodyPreventsReconnect() {
    var state = EventSourceState(policy: EventReconnectPolicy())
    guard case .fail(let error) = state.lost(because: lost, bodyIsReplayable: false, random: 0) else {
      Issue.record("it goes on")
      return
    }
    #expect((error as? URLError)?.code == .networkConnectionLost)
    guard case .finish = state.lost(because: nil, bodyIsReplayable: false, random: 0) else {
      Issue.record("it goes on")
      return
    }
  }

  @Test func failuresAreLimited() {
    var state = EventSourceState(policy: EventReconnectPolicy(maximumFailures: 2))
    #expect(delay(state.lost(because: lost, bodyIsReplayable: true, random: 0)) != nil)
    #expect(delay(state.lost(because: lost, bodyIsReplayable: true, random: 0)) != nil)
    #expect(delay(state.lost(because: lost, bodyIsReplayable: true, random: 0)) == nil)
  }

  @Test func negativeLimitAllowsNoFailure() {
    for maximum in [-1, .min, 0] {
      var state = EventSourceState(policy: EventReconnectPolicy(maximumFailures: maximum))
      state.opened()
      #expect(delay(state.lost(because: nil, bodyIsReplayable: true, random: 0)) != nil, "a clean end is no failure")
      #expect(delay(state.lost(because: lost, bodyIsReplayable: true, random: 0)) == nil)
    }
  }

  /// Only what has failed may be sent again, unless the request is idempotent (RFC 9110 §9.2.2).
  @Test(
    arguments: [
      (false, nil, false, false), (true, nil, false, true), (false, .networkConnectionLost, false, true),
      (false, .networkConnectionLost, true, false), (true, .networkConnectionLost, true, true),
    ] as [(Bool, URLError.Code?, Bool, Bool)])
  func processedRequestIsNotRepeated(
    _ isIdempotent: Bool, _ code: URLError.Code?, _ wasCarriedOut: Bool, _ goesOn: Bool
  ) {
    var state = EventSourceState(policy: EventReconnectPolicy(), isIdempotent: isIdempotent)
    state.opened()
    let action = state.lost(
      because: code.map { URLError($0) }, wasCarriedOut: wasCarriedOut, bodyIsReplayable: true, random: 0)
    #expect((delay(action) != nil) == goesOn)
  }

  @Test func quietFeedNeverFails() {
    var state = EventSourceState(policy: EventReconnectPolicy(initialDelay: .seconds(2), maximumFailures: 3))
    for _ in 0..<20 {
      state.opened()
      let timeout = URLError(.timedOut)
      #expect(delay(state.lost(because: timeout, bodyIsReplayable: true, random: 0)) == .seconds(2))
    }
  }

  @Test func onlyFailedAttemptsCount() {
    var state = EventSourceState(policy: EventReconnectPolicy(maximumFailures: 2))
    for _ in 0..<3 {
      state.opened()
      #expect(delay(state.lost(because: lost, bodyIsReplayable: true, random: 0)) != nil)
      #expect(delay(state.lost(because: lost, bodyIsReplayable: true, random: 0)) != nil)
      #expect(delay(state.lost(because: lost, bodyIsReplayable: true, random: 0)) != nil)
    }
    #expect(delay(state.lost(because: lost, bodyIsReplayable: true, random: 0)) == nil)
  }

  @Test func unsendableIDIsNotUsedForResuming() throws {
    for id in ["a\u{1}b", "\u{7F}", "a\u{8}"] {
      var parser = EventStreamParser(maximumSize: 1_000)
      parser.append(Data("id: 7\ndata: a\n\nid: \(id)\ndata: b\n\nid: x\0y\ndata: c\n\n".utf8))
      #expect(try parser.next()?.id == "7")
      #expect(try parser.next()?.id == id, "the event has it all the same")
      #expect(parser.lastEventID == "7")
      #expect(try parser.next()?.id == id, "one with NUL is none")
      #expect(parser.lastEventID == "7")
      parser.append(Data("id: 8\n\nid\n\n".utf8))
      #expect(try parser.next() == nil)
      #expect(parser.lastEventID == "")
    }
  }

  @Test func heartbeatsSetIdleAllowance() {
    var state = HeartbeatState()
    #expect(state.allowance == HeartbeatState.quiet)
    for _ in 0..<2 {
      state.receivedComment()
      state.received(after: .seconds(15))
      #expect(state.allowance == HeartbeatState.quiet)
    }
    state.receivedComment()
    state.received(after: .seconds(15))
    #expect(state.allowance == .seconds(45))
    state.received(after: .seconds(1))
    #expect(state.allowance == .seconds(45))
    state.received(after: .seconds(1_000))
    #expect(state.allowance == HeartbeatState.quiet)
    var quick = HeartbeatState()
    for _ in 0..<10 {
      quick.receivedComment()
      quick.received(after: .seconds(1))
    }
    #expect(quick.allowance == HeartbeatState.shortest)
    var burst = HeartbeatState()
    burst.received(after: .seconds(5))
    for _ in 0..<10 {
      burst.receivedComment()
      burst.received(after: .milliseconds(10))
    }
    #expect(burst.allowance == HeartbeatState.quiet)
    #expect(HeartbeatState(fixed: .seconds(7)).allowance == .seconds(7))
  }

  @Test func heartbeatsOneSecondApartAreCounted() {
    var state = HeartbeatState()
    for _ in 0..<3 {
      state.receivedComment()
      state.received(after: .seconds(1))
    }
    #expect(state.allowance == HeartbeatState.shortest)
  }

  @Test func delaysDoNotOverflow() {
    for initial in [Duration.zero, .seconds(Int64.max), .seconds(-5), .nanoseconds(1)] {
      var state = EventSourceState(
        policy: EventReconnectPolicy(initialDelay: initial, maximumDelay: .seconds(Int64.max)))
      var last = Duration.zero
      for _ in 0..<200 {
        let next = delay(state.lost(because: lost, bodyIsReplayable: true, random: 0)) ?? .zero
        #expect(next >= last && next > .zero && next <= .nanoseconds(Int64.max), "\(initial)")
        last = next
      }
    }
  }
}
