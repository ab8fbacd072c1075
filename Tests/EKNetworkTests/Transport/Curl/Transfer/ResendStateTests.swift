#if os(Linux)
  import Testing

  @testable import EKNetwork

  /// A state whose changes can be expected.
  private final class Attempts {
    private var state: ResendState
    init(isIdempotent: Bool) { state = ResendState(isIdempotent: isIdempotent) }
    var hasResent: Bool { state.hasResent }
    var isStopped: Bool { state.isStopped }
    func misplaced() { state.misplaced() }
    func ended(_ ending: ResendState.Ending) -> ResendState.Action { state.ended(ending) }
    func sends(wasRefused: Bool = false, hasResponse: Bool = false) -> Bool {
      state.sends(wasRefused: wasRefused, hasResponse: hasResponse)
    }
  }

  @Suite struct ResendStateTests {
    private static let losses = [16, 18, 52, 55, 56]

    @Test func oneRequestAndItsResponse() {
      let state = Attempts(isIdempotent: true)
      #expect(state.sends())
      #expect(state.ended(.init(code: 0)) == .end)
      #expect(!state.hasResent)
      #expect(!state.isStopped)
    }

    /// libcurl sends by itself where a reused connection dies.
    @Test(arguments: [true, false])
    func libcurlSendsAgainWhatIsIdempotentAlone(isIdempotent: Bool) {
      let state = Attempts(isIdempotent: isIdempotent)
      #expect(state.sends())
      #expect(state.sends() == isIdempotent)
      #expect(state.isStopped == !isIdempotent)
    }

    @Test func libcurlSendsAgainWhatWasRefused() {
      let state = Attempts(isIdempotent: false)
      #expect(state.sends())
      #expect(state.sends(wasRefused: true))
      #expect(!state.sends())
    }

    /// After a 417, for one.
    @Test(arguments: [true, false])
    func nothingIsSentOnceThereIsAResponse(wasRefused: Bool) {
      let state = Attempts(isIdempotent: true)
      #expect(state.sends())
      #expect(!state.sends(wasRefused: wasRefused, hasResponse: true))
      #expect(state.isStopped)
      #expect(state.ended(.init(code: 56, hasReusedConnection: true)) == .end)
    }

    @Test(arguments: losses)
    func aStaleConnectionIsTriedOnceMore(code: Int) {
      let state = Attempts(isIdempotent: true)
      #expect(state.sends())
      #expect(state.ended(.init(code: code, hasReusedConnection: true)) == .resend)
      #expect(state.hasResent)
      #expect(state.sends())
      #expect(state.ended(.init(code: code, hasReusedConnection: true)) == .end)
    }

    /// Only a GOAWAY says that a request was left out on a connection of its own.
    @Test(arguments: losses)
    func aNewConnectionThatBreaksIsNoStaleOne(code: Int) {
      let state = Attempts(isIdempotent: true)
      #expect(state.sends())
      #expect(state.ended(.init(code: code)) == (code == 16 ? .resend : .end))
    }

    @Test(arguments: losses)
    func whatIsNotIdempotentIsSentAgainIfItWasRefusedAlone(code: Int) {
      let state = Attempts(isIdempotent: false)
      #expect(state.sends())
      #expect(state.ended(.init(code: code, hasReusedConnection: true)) == .end)
      #expect(state.ended(.init(code: code, wasRefused: true)) == .resend)
      // The second attempt is not another refusal's business.
      #expect(state.sends())
      #expect(!state.sends())
    }

    @Test(arguments: [1, 6, 7, 28, 35, 42, 60, 63, 92])
    func otherFailuresAreFinal(code: Int) {
      let state = Attempts(isIdempotent: true)
      #expect(state.sends())
      #expect(state.ended(.init(code: code, wasRefused: true, hasReusedConnection: true)) == .end)
    }

    @Test(arguments: losses)
    func aResponseThatHasBegunIsFinal(code: Int) {
      let state = Attempts(isIdempotent: true)
      #expect(state.sends())
      #expect(state.ended(.init(code: code, wasRefused: true, hasReusedConnection: true, isFinal: true)) == .end)
    }

    /// A request that libcurl was about to send over the wrong connection has not been sent.
    @Test func aMisplacedRequestIsSentElsewhereOnce() {
      let state = Attempts(isIdempotent: false)
      state.misplaced()
      #expect(state.ended(.init(code: 42, hasReusedConnection: true)) == .send)
      #expect(state.hasResent)
      #expect(state.sends())
      #expect(state.ended(.init(code: 42)) == .end)
    }
  }
#endif
