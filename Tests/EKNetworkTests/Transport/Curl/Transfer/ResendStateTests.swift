#if os(Linux)
  import Testing

  @testable import EKNetwork

  /// A reference to a state, so that `#expect` can call its mutating functions.
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

    /// libcurl resends by itself when a reused connection dies.
    @Test(arguments: [true, false])
    func libcurlResendsIdempotentRequestsOnly(isIdempotent: Bool) {
      let state = Attempts(isIdempotent: isIdempotent)
      #expect(state.sends())
      #expect(state.sends() == isIdempotent)
      #expect(state.isStopped == !isIdempotent)
    }

    @Test func libcurlResendsRefusedRequests() {
      let state = Attempts(isIdempotent: false)
      #expect(state.sends())
      #expect(state.sends(wasRefused: true))
      #expect(!state.sends())
    }

    /// For example after a 417.
    @Test(arguments: [true, false])
    func nothingIsResentAfterAResponse(wasRefused: Bool) {
      let state = Attempts(isIdempotent: true)
      #expect(state.sends())
      #expect(!state.sends(wasRefused: wasRefused, hasResponse: true))
      #expect(state.isStopped)
      #expect(state.ended(.init(code: 56, hasReusedConnection: true)) == .end)
    }

    @Test(arguments: losses)
    func staleConnectionIsRetriedOnce(code: Int) {
      let state = Attempts(isIdempotent: true)
      #expect(state.sends())
      #expect(state.ended(.init(code: code, hasReusedConnection: true)) == .resend)
      #expect(state.hasResent)
      #expect(state.sends())
      #expect(state.ended(.init(code: code, hasReusedConnection: true)) == .end)
    }

    /// On a new connection only a GOAWAY says that a request was not processed.
    @Test(arguments: losses)
    func brokenNewConnectionIsNotStale(code: Int) {
      let state = Attempts(isIdempotent: true)
      #expect(state.sends())
      #expect(state.ended(.init(code: code)) == (code == 16 ? .resend : .end))
    }

    @Test(arguments: losses)
    func nonIdempotentRequestIsResentOnlyIfRefused(code: Int) {
      let state = Attempts(isIdempotent: false)
      #expect(state.sends())
      #expect(state.ended(.init(code: code, hasReusedConnection: true)) == .end)
      #expect(state.ended(.init(code: code, wasRefused: true)) == .resend)
      // One refusal allows one resend.
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
    func startedResponseIsFinal(code: Int) {
      let state = Attempts(isIdempotent: true)
      #expect(state.sends())
      #expect(state.ended(.init(code: code, wasRefused: true, hasReusedConnection: true, isFinal: true)) == .end)
    }

    /// A request that libcurl was about to send over the wrong connection has not been sent.
    @Test func misplacedRequestIsMovedOnce() {
      let state = Attempts(isIdempotent: false)
      state.misplaced()
      #expect(state.ended(.init(code: 42, hasReusedConnection: true)) == .send)
      #expect(state.hasResent)
      #expect(state.sends())
      #expect(state.ended(.init(code: 42)) == .end)
    }
  }
#endif
