#if os(Linux)
  import Testing

  @testable import EKNetwork

  @Suite struct ResendStateTests {
    private static let losses = [16, 18, 52, 55, 56]

    private func resends(isIdempotent: Bool, after endings: ResendState.Ending...) -> [Bool] {
      var state = ResendState(isIdempotent: isIdempotent)
      return endings.map { state.resends(after: $0) }
    }

    /// Others may be stale, too; a refused stream says nothing about the connection.
    @Test(arguments: [true, false]) func lostRequestNeedsANewConnection(keepsConnection: Bool) {
      var state = ResendState(isIdempotent: true)
      #expect(!state.needsNewConnection)
      let resends = state.resends(after: .init(code: 16, wasRefused: true, keepsConnection: keepsConnection))
      #expect(resends && state.hasResent && state.needsNewConnection == !keepsConnection)
    }

    @Test func completeResponseIsFinal() {
      #expect(resends(isIdempotent: true, after: .init(code: 0, hasReusedConnection: true)) == [false])
    }

    @Test(arguments: losses)
    func staleConnectionIsRetriedOnce(code: Int) {
      let stale = ResendState.Ending(code: code, hasReusedConnection: true)
      #expect(resends(isIdempotent: true, after: stale, stale) == [true, false])
    }

    /// On a new connection only a GOAWAY says that a request was not processed.
    @Test(arguments: losses)
    func brokenNewConnectionIsNotStale(code: Int) {
      #expect(resends(isIdempotent: true, after: .init(code: code)) == [code == 16])
    }

    @Test(arguments: losses)
    func nonIdempotentRequestIsResentOnlyIfRefused(code: Int) {
      let refused = ResendState.Ending(code: code, wasRefused: true)
      let stale = ResendState.Ending(code: code, hasReusedConnection: true)
      // One refusal allows one resend.
      #expect(resends(isIdempotent: false, after: stale, refused, refused) == [false, true, false])
    }

    @Test(arguments: [1, 6, 7, 28, 35, 42, 60, 63, 92])
    func otherFailuresAreFinal(code: Int) {
      let ending = ResendState.Ending(code: code, wasRefused: true, hasReusedConnection: true)
      #expect(resends(isIdempotent: true, after: ending) == [false])
    }

    @Test(arguments: losses)
    func startedResponseIsFinal(code: Int) {
      let ending = ResendState.Ending(code: code, wasRefused: true, hasReusedConnection: true, isFinal: true)
      #expect(resends(isIdempotent: true, after: ending) == [false])
    }
  }
#endif
