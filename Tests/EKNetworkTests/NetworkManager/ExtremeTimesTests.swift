import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Like ``ExtremeNumbersTests``, for times.
@Suite(.timeLimit(.minutes(5))) struct ExtremeTimesTests {
  typealias Row = ExtremeNumbersTests.Row
  private static let year = ExtremeNumbersTests.year

  private static let durationRows: [Row<Duration>] = ExtremeNumbersTests.rows { add in
    add("Duration.timeInterval") {
      #expect($0.timeInterval.isFinite)
      #expect(($0.timeInterval < 0) == ($0 < .zero))
      #expect((0.001...1e9).contains($0.timeoutInterval))
      #expect(($0.clampedNanoseconds == 0) == ($0 <= .zero))
      #expect((Duration.zero...year).contains($0.sleepable))
      try await RecordingClock().sleep(for: $0.sleepable)
    }
    add("CircuitBreaker.cooldown") {
      #expect(
        await ExtremeNumbersTests.fail(CircuitBreaker(failures: 1, cooldown: $0), times: 2)
          == ($0 <= .nanoseconds(1) ? 2 : 1))
    }
    add("RateLimiter") {
      var state = RateLimitState(
        RateLimitRules(requests: 1, period: $0, maximumWait: $0, maximumWaiting: 2, longestPause: $0))
      for id in UInt64(0)..<3 { _ = state.arrive(id, at: .zero) }
      #expect(state.wake(at: .zero).map { $0 <= year } != false)
      _ = state.release(at: .seconds(1))
    }
    add("PrismCacheEntry.ttl") {
      let entry = PrismCacheEntry(data: Data(), ttl: $0)
      #expect(entry.expiresAt.timeIntervalSince1970.isFinite)
      let cache = PrismResponseCache()
      await cache.set("a", entry: entry)
      #expect((await cache.get("a") != nil) == ($0 > .seconds(1)))
      let manager = ExtremeNumbersTests.stub(.status(200))
      for _ in 0..<2 {
        let probe = SendableProbe()
        _ = try await manager.send(probe, policy: .cacheFirst, cache: PrismResponseCache(), ttl: $0)
      }
    }
    add("acknowledgementTimeout, connectTimeout") {
      do {
        let wait = AsyncStream<Void>.makeStream()
        try await TimeLimit.run(
          $0, clock: RecordingClock(), error: URLError(.timedOut), stop: { wait.continuation.finish() },
          { for await _ in wait.stream {} })
        Issue.record("no timeout")
      } catch { #expect(error.urlErrorCode == .timedOut) }
    }
    add("WebSocketOptions.connectTimeout") { duration in
      try await ExtremeNumbersTests.echo(hasToArrive: duration > .seconds(1)) { $0.connectTimeout = duration }
    }
    add("WebSocketOptions.closeTimeout") { duration in
      try await ExtremeNumbersTests.echo(hasToArrive: true) { $0.closeTimeout = duration }
    }
    add("WebSocketOptions.keepAliveInterval") { duration in
      let server = try LoopbackServer()
      defer { server.stop() }
      server.route("/") { .webSocketEcho($0) }
      let clock = ManualClock()
      var options = WebSocketOptions()
      options.clock = clock
      options.keepAliveInterval = duration
      let socket = try await WebSocket.connect(to: server.url("/"), options: options)
      // A clock that stands still lets nobody through who really sleeps.
      await clock.waitForSleepers()
      #expect(socket.closeCode == nil)
      socket.connection.cancel()
    }
    add("WebSocketReconnectPolicy") {
      for delay in ExtremeNumbersTests.delays(WebSocketReconnectPolicy(initialDelay: $0, maximumDelay: $0)) {
        #expect((Duration.milliseconds(50)...year).contains(delay))
      }
    }
    add("EventReconnectPolicy") {
      for delay in ExtremeNumbersTests.delays(EventReconnectPolicy(initialDelay: $0, maximumDelay: $0)) {
        #expect((Duration.milliseconds(50)...year).contains(delay))
      }
    }
    add("EventSourceOptions.idleTimeout") {
      let heartbeat = HeartbeatState(fixed: $0)
      #expect((Duration.milliseconds(1)...year).contains(heartbeat.allowance))
      let clock = ManualClock()
      let body = WatchedBody(BufferedBody(Data(count: 1)), heartbeat: heartbeat, clock: clock)
      let chunk = try await body.next()
      #expect(chunk != nil)
      // A clock that stands still lets nobody through who really sleeps.
      await clock.waitForSleepers()
      body.cancel()
    }
    add("NetworkRequest.timeout") {
      _ = try await ExtremeNumbersTests.stub(.status(200)).send(Probe<StatusCodeResponse>(timeout: $0))
    }
    add("PrismExponentialBackoff, PrismLinearRetry") {
      for attempt in [Int.min, 0, 1, .max] {
        let delay = PrismExponentialBackoff(baseDelay: $0, maxDelay: $0).delay(for: attempt)
        #expect((Duration.zero...max($0, .zero)).contains(delay))
      }
      for policy: any PrismRetryPolicy in [
        PrismLinearRetry(fixedDelay: $0, maxAttempts: 2),
        PrismExponentialBackoff(baseDelay: $0, maxDelay: $0, maxAttempts: 2),
        Delay(delay: $0),
      ] {
        let clock = RecordingClock()
        let request = PrismRetryableRequest(policy: policy, clock: clock) { throw PrismNetworkError.noConnectivity }
        await #expect(throws: PrismNetworkError.noConnectivity) { try await request.execute() }
        let manager = ExtremeNumbersTests.stub(.failure(URLError(.timedOut)), clock: clock)
        _ = try? await manager.send(Probe<Data>(retryPolicy: RetryPolicy(policy)))
        #expect(clock.sleeps.count == 4)
        #expect(clock.sleeps.allSatisfy { (Duration.zero...year).contains($0) })
      }
    }
    add("StubSession.Reply.after") {
      _ = try? await ExtremeNumbersTests.stub(StubSession.Reply.status(200).after($0)).send(Probe<Data>())
    }
    add("TemporaryRefusal.retryAfter") {
      let error = CircuitBreaker.OpenError(host: "a", retryAfter: $0)
      var state = OfflineFlushState(backoff: Delay(delay: $0))
      let pause = state.failed(retryAfter: OfflineFailure(error).retryAfter).sleepable
      #expect((Duration.zero...year).contains(pause))
      var retries = RetryState(policy: RetryPolicy(maxRetryCount: 1, delay: 0))
      guard let delay = retries.failed(with: URLError(.timedOut), retryAfter: $0) else { return }
      #expect((Duration.zero ... .seconds(60)).contains(delay))
    }
  }

  @Test(
    arguments: durationRows,
    [
      .seconds(-1.6e20), .seconds(Int64.min), .seconds(-1), .zero, .nanoseconds(1), .seconds(Int64.max),
      .seconds(1.6e20),
    ] as [Duration])
  func durations(row: Row<Duration>, duration: Duration) async throws {
    try await row.check(duration)
  }

  // MARK: - Floating point

  private static let fractionRows: [Row<Double>] = ExtremeNumbersTests.rows { add in
    add("RetryPolicy") {
      var constant = RetryPolicy(maxRetryCount: 2, delay: $0)
      constant.maxRetryAfter = $0
      let exponential = RetryPolicy.exponentialBackoff(baseDelay: $0, maxDelay: $0, jitter: $0, maxRetryAfter: $0)
      for policy in [constant, exponential, RetryPolicy(PrismLinearRetry(), maxRetryAfter: $0)] {
        var state = RetryState(policy: policy)
        for _ in 0..<2 {
          guard let delay = state.failed(with: URLError(.timedOut), retryAfter: .seconds(Int64.max)) else {
            Issue.record("no retry")
            continue
          }
          #expect((Duration.zero...year).contains(delay))
        }
      }
    }
    add("PrismNetworkEndpoint.timeoutInterval, cacheInterval") {
      let request = try ExtremeEndpoint(timeoutInterval: $0, cacheInterval: $0).request
      #expect(request.timeoutInterval > 0)
      #expect(try HTTPRequest(request).idleTimeout(default: $0).map { $0 <= year * 101 } != false)
      #expect(Duration(cacheInterval: $0).map { $0 >= .zero } != false)
    }
    add("NetworkProgress.fractionCompleted") {
      let progress = NetworkProgress()
      progress.fractionCompleted = $0
      var probe = Probe<Data>()
      probe.progress = progress
      _ = try await ExtremeNumbersTests.stub(.data(Data(count: 3))).send(probe)
    }
  }

  @Test(
    arguments: fractionRows,
    [-.infinity, -1e300, -1, 0, .leastNonzeroMagnitude, 1e300, .greatestFiniteMagnitude, .infinity, .nan] as [Double])
  func fractions(row: Row<Double>, number: Double) async throws {
    try await row.check(number)
  }
}

private struct SendableProbe: NetworkRequest, Sendable {
  typealias Response = StatusCodeResponse
  var path: String { "/item" }
  var method: HTTPMethod { .get }
}

private struct Delay: PrismRetryPolicy {
  var delay: Duration
  func shouldRetry(for error: Error, attempt: Int) -> Bool { attempt < 2 }
  func delay(for attempt: Int) -> Duration { delay }
}
