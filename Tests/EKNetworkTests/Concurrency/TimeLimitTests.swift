import LoopbackServer
import Testing

@testable import EKNetwork

@Suite(.timeLimit(.minutes(10))) struct TimeLimitTests {
  private struct Late: Error {}
  private struct Stopped: Error {}

  /// A clock whose sleep ends when a gate opens, even if its task was cancelled before: a task may see its
  /// cancellation too late.
  private struct GatedClock: Clock {
    typealias Instant = RecordingClock.Instant
    let gate: Gate
    let isOver: Gate
    var now: Instant { Instant(offset: .zero) }
    var minimumResolution: Duration { .nanoseconds(1) }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
      await Task.detached { _ = await gate.wait() }.value
      isOver.open()
    }
  }

  /// Callers use these for "never", and clocks crash on them.
  @Test(arguments: [Duration.seconds(Int64.max), .seconds(Int64.max / 2), .milliseconds(Int64.max)])
  func hugeLimitsDoNotTrap(_ limit: Duration) async throws {
    #expect(limit.sleepable == .seconds(31_536_000))
    #expect(Duration.seconds(5).sleepable == .seconds(5))
    let value = try await TimeLimit.run(
      limit, clock: ContinuousClock(), error: CancellationError(), stop: {}
    ) {
      // The timer has begun to sleep, or will find that it need not.
      for _ in 0..<100 { await Task.yield() }
      return 1
    }
    #expect(value == 1)
  }

  @Test(arguments: [false, true]) func workThatEndsInTimeIsNotStopped(throwing: Bool) async {
    let clock = GatedClock(gate: Gate(), isOver: Gate())
    let stops = Locked(0)
    let value = try? await TimeLimit.run(.seconds(1), clock: clock, error: Late(), stop: { stops.withLock { $0 += 1 } })
    {
      if throwing { throw Stopped() }
      return 7
    }
    #expect(value == (throwing ? nil : 7))
    clock.gate.open()
    #expect(await clock.isOver.wait())
    for _ in 0..<10 { await Task.yield() }
    #expect(stops.withLock(\.self) == 0)
  }

  @Test func lateWorkIsStopped() async {
    let clock = GatedClock(gate: Gate(), isOver: Gate())
    clock.gate.open()
    for throwing in [false, true] {
      let stopped = Gate()
      await #expect(throws: Late.self) {
        try await TimeLimit.run(.seconds(1), clock: clock, error: Late(), stop: { stopped.open() }) {
          _ = await stopped.wait()
          if throwing { throw Stopped() }
        }
      }
    }
  }

  @Test func otherErrorsAreRethrown() async {
    await #expect(throws: Stopped.self) {
      try await TimeLimit.run(
        .seconds(600), clock: ContinuousClock(), error: Late(), stop: {}
      ) { throw Stopped() }
    }
  }

  /// The timer of the handshake does not end an open connection.
  @Test func webSocketOutlivesItsHandshakeTimer() async throws {
    let server = try LoopbackServer()
    defer { server.stop() }
    server.route("/") { .webSocketEcho($0) }
    let clock = GatedClock(gate: Gate(), isOver: Gate())
    var options = WebSocketOptions()
    options.clock = clock
    let url = try #require(URL(string: "ws://127.0.0.1:\(server.port)/"))
    let socket = try await WebSocket.connect(to: url, options: options)
    clock.gate.open()
    #expect(await clock.isOver.wait())
    for _ in 0..<10 { await Task.yield() }
    try await socket.send("still here")
    #expect(try await socket.receive() == .text("still here"))
  }
}
