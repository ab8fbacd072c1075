import LoopbackServer
import Testing

@testable import EKNetwork

/// Error responses to a subscription whose body cannot be read.
@Suite(.timeLimit(.minutes(10))) struct EventSourceRefusalTests {
  enum Refusal: CaseIterable, Sendable {
    case cutOff, tooLong

    var response: LoopbackServer.Response {
      let response: LoopbackServer.Response =
        switch self {
        case .cutOff: .streaming(contentLength: 9, status: 503, [.sendString("no"), .close])
        case .tooLong: .data(Data(count: 2 << 20), status: 503)
        }
      return response.header("Retry-After", "30")
    }
  }

  @Test(arguments: Wire.allCases, Refusal.allCases)
  func retryAfterIsHonouredWhateverTheBody(_ wire: Wire, _ refusal: Refusal) async throws {
    let server = try LoopbackServer()
    defer { server.stop() }
    server.route("/item", refusal.response, .status(204))
    let clock = ManualClock()
    let manager = wire.manager(server, clock: clock)
    let subscription = Task {
      for try await _ in manager.events(Probe<EmptyResponse>()) {}
    }
    let waiting = Task { await clock.waitForSleepers() }
    await waiting.value
    clock.advance(by: .milliseconds(29_999))
    #expect(clock.sleeperCount == 1)
    #expect(server.requestCount == 1)
    clock.advance(by: .milliseconds(1))
    try await subscription.value
    #expect(server.requestCount == 2)
  }
}
