#if os(Linux)
  import Testing

  @testable import EKNetwork

  struct ResendStateTests {
    private static let losses = [16, 18, 52, 55, 56]

    private func resends(isIdempotent: Bool, after endings: ResendState.Ending...) -> [Bool] {
      var state = ResendState(isIdempotent: isIdempotent)
      return endings.map { state.resends(after: $0, at: 7) }
    }

    /// Others may be stale, too; a refused stream says nothing about the connection.
    @Test(arguments: [true, false]) func lostRequestNeedsANewConnection(keepsConnection: Bool) {
      var state = ResendState(isIdempotent: true)
      #expect(state.connectionSince == 0)
      let resends = state.resends(after: .init(code: 16, wasRefused: true, keepsConnection: keepsConnection), at: 7)
      #expect(resends && state.hasResent && state.connectionSince == (keepsConnection ? 0 : 7))
    }

    /// Those that share the new connection may be more than the server takes on it.
    @Test func secondRefusalNeedsAConnectionForItAlone() {
      var state = ResendState(isIdempotent: false)
      let refused = ResendState.Ending(code: 16, wasRefused: true)
      var times: [UInt64] = []
      for time in [7, 8, 9] as [UInt64] {
        guard state.resends(after: refused, at: time) else { break }
        times.append(state.connectionSince)
      }
      #expect(times == [7, .max])
    }

    /// A server that refuses a stream on a connection which it does not leave is not asked for ever.
    @Test func streamIsRefusedOnceOnItsConnection() {
      let refused = ResendState.Ending(code: 16, wasRefused: true, keepsConnection: true)
      #expect(resends(isIdempotent: true, after: refused, refused) == [true, false])
      #expect(resends(isIdempotent: true, after: .init(code: 16, wasRefused: true), refused) == [true, false])
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
      // Each of two refusals allows one resend.
      #expect(resends(isIdempotent: false, after: stale, refused, refused, refused) == [false, true, true, false])
      #expect(resends(isIdempotent: false, after: refused, stale) == [true, false])
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
