import Testing

@testable import EKNetwork

@Suite struct TokenRefreshStateTests {
  private struct Oops: Error {}

  @Test func theFirst401StartsAndTheOthersJoin() {
    var state = TokenRefreshState()
    #expect(state.unauthorized(generation: 0) == .start)
    for _ in 0..<999 { #expect(state.unauthorized(generation: 0) == .join) }
    state.finished(.success(()))
    #expect(state.generation == 1)
    #expect(!state.isRefreshing)
  }

  @Test func a401WithAnOlderTokenOnlyRetries() {
    var state = TokenRefreshState()
    #expect(state.unauthorized(generation: 0) == .start)
    state.finished(.success(()))
    #expect(state.unauthorized(generation: 0) == .retryNow)
    #expect(!state.isRefreshing)
    #expect(state.unauthorized(generation: 1) == .start)
  }

  @Test func a401WithAnOlderTokenJoinsARefreshInFlight() {
    var state = TokenRefreshState()
    #expect(state.unauthorized(generation: 0) == .start)
    state.finished(.success(()))
    #expect(state.unauthorized(generation: 1) == .start)
    #expect(state.unauthorized(generation: 0) == .join)
  }

  @Test func next401RetriesAFailedRefresh() {
    var state = TokenRefreshState()
    #expect(state.unauthorized(generation: 0) == .start)
    state.finished(.failure(Oops()))
    #expect(state.generation == 0)
    #expect(state.unauthorized(generation: 0) == .start)
    state.finished(.success(()))
    #expect(state.generation == 1)
  }

  @Test func finishWithoutStartChangesNothing() {
    var state = TokenRefreshState()
    state.finished(.success(()))
    #expect(state == TokenRefreshState())
  }
}
