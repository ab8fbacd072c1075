import Testing

@testable import EKNetwork

struct ExchangeStateTests {
  enum Event: Sendable {
    case wroteBody, failed, interim(Int), timeout, responded(Int), closing(Int), ended
  }

  /// The events of an exchange with a body, what is next to be written after them, and whether the connection can be
  /// used again.
  static let exchanges: [(expects: Bool, [Event], ExchangeState.Output, Bool)] = [
    (false, [], .body, false),
    (false, [.wroteBody], .complete, false),
    (false, [.wroteBody, .responded(200), .ended], .complete, true),
    (false, [.wroteBody, .responded(500), .ended], .complete, true),
    // RFC 9112 §9.5: the body is not needed, or not wanted.
    (false, [.responded(200)], .body, false),
    (false, [.responded(200), .wroteBody, .ended], .complete, true),
    (false, [.responded(200), .ended], .stopped, false),
    (false, [.responded(200), .ended, .wroteBody], .stopped, false),
    (false, [.closing(299)], .body, false),
    (false, [.closing(300)], .stopped, false),
    (false, [.closing(413), .wroteBody, .ended], .stopped, false),
    (false, [.responded(413)], .body, false),
    (false, [.responded(413), .ended], .stopped, false),
    (false, [.failed, .responded(200), .ended], .stopped, false),
    // RFC 9110 §10.1.1
    (true, [], .expecting, false),
    (true, [.interim(103)], .expecting, false),
    (true, [.interim(100)], .body, false),
    (true, [.timeout], .body, false),
    (true, [.timeout, .interim(100), .wroteBody, .responded(201), .ended], .complete, true),
    (true, [.responded(417)], .stopped, false),
    (true, [.responded(200), .timeout, .ended], .stopped, false),
    (false, [.interim(100)], .body, false),
  ]

  @Test(arguments: exchanges)
  func bodyIsSentWhileItIsWanted(_ expects: Bool, _ events: [Event], _ output: ExchangeState.Output, _ isComplete: Bool)
  {
    var state = ExchangeState(hasBody: true, expects: expects)
    for event in events {
      switch event {
      case .wroteBody: state.wroteBody()
      case .failed: state.failedToSend()
      case .interim(let status): _ = state.interim(status: status)
      case .timeout: _ = state.expectationTimedOut()
      case .responded(let status): state.responded(status: status, closes: false)
      case .closing(let status): state.responded(status: status, closes: true)
      case .ended: state.ended()
      }
    }
    #expect(state.output == output && state.isComplete == isComplete)
  }

  @Test func requestWithoutBodyIsCompleteAtOnce() {
    var state = ExchangeState(hasBody: false, expects: true)
    #expect(state.output == .complete && !state.isComplete)
    state.responded(status: 404, closes: false)
    state.ended()
    #expect(state.isComplete)
  }
}
