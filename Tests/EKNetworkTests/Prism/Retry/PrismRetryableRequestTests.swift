import Testing

@testable import EKNetwork

struct PrismRetryableRequestTests {
  @Test func repeatsUntilSuccess() async throws {
    let clock = RecordingClock()
    let count = Locked(0)
    let request = PrismRetryableRequest(policy: PrismLinearRetry(), clock: clock) {
      let number = count.withLock { count in
        count += 1
        return count
      }
      if number < 3 { throw PrismNetworkError.serverError }
      return number
    }
    #expect(try await request.execute() == 3)
    #expect(clock.sleeps == [.seconds(2), .seconds(2)])
  }

  @Test func policyAndOperationCanBeRead() async throws {
    let request = PrismRetryableRequest(policy: PrismLinearRetry(fixedDelay: .seconds(7), maxAttempts: 1)) { 42 }
    #expect(request.policy.delay(for: 0) == .seconds(7))
    #expect(try await request.operation() == 42)
  }

  @Test func eachCallStartsOver() async throws {
    let clock = RecordingClock()
    let count = Locked(0)
    let request = PrismRetryableRequest<Int>(policy: PrismLinearRetry(maxAttempts: 2), clock: clock) {
      count.withLock { $0 += 1 }
      throw PrismNetworkError.noConnectivity
    }
    for expected in [3, 6] {
      await #expect(throws: PrismNetworkError.noConnectivity) { _ = try await request.execute() }
      #expect(count.withLock { $0 } == expected)
    }
  }

  @Test func errorOfTheOperationsOwnIsRepeated() async throws {
    struct NotReady: Error {}
    let clock = RecordingClock()
    let count = Locked(0)
    let request = PrismRetryableRequest<Int>(policy: PrismLinearRetry(maxAttempts: 2), clock: clock) {
      count.withLock { $0 += 1 }
      throw NotReady()
    }
    await #expect(throws: NotReady.self) { _ = try await request.execute() }
    #expect(count.withLock { $0 } == 3)
  }

  @Test func permanentErrorIsNotRepeated() async throws {
    struct Hopeless: NonRetriableError {}
    let clock = RecordingClock()
    let causedByIt = PrismNetworkFailure(.serverError, because: Hopeless())
    for error in [Hopeless(), CancellationError(), URLError(.cancelled), causedByIt] as [any Error] {
      let count = Locked(0)
      let request = PrismRetryableRequest<Int>(policy: RetryOfEveryError(), clock: clock) {
        count.withLock { $0 += 1 }
        throw error
      }
      await #expect(throws: (any Error).self) { _ = try await request.execute() }
      #expect(count.withLock { $0 } == 1)
    }
    let request = PrismRetryableRequest<Int>(policy: PrismLinearRetry(), clock: clock) {
      throw PrismNetworkError.forbidden
    }
    await #expect(throws: PrismNetworkError.forbidden) { _ = try await request.execute() }
    #expect(clock.sleeps.isEmpty)
  }

  @Test func policySeesURLErrorAsNetworkError() async throws {
    let clock = RecordingClock()
    let request = PrismRetryableRequest<Int>(policy: OnlyConnectivity(), clock: clock) {
      throw URLError(.networkConnectionLost)
    }
    await #expect(throws: URLError.self) { _ = try await request.execute() }
    #expect(clock.sleeps.count == 1)
  }

  @Test(.timeLimit(.minutes(10))) func cancellingEndsTheWait() async throws {
    let clock = StoppedClock()
    let request = PrismRetryableRequest<Int>(policy: PrismLinearRetry(), clock: clock) {
      throw PrismNetworkError.serverError
    }
    let task = Task { try await request.execute() }
    for await _ in clock.isSleeping.stream {}
    task.cancel()
    await #expect(throws: CancellationError.self) { _ = try await task.value }
  }

  @Test func durationsInSeconds() {
    #expect(Duration.seconds(2).timeInterval == 2)
    #expect(Duration.milliseconds(1500).timeInterval == 1.5)
    #expect(Duration.milliseconds(-250).timeInterval == -0.25)
    #expect(Duration.zero.timeInterval == 0)
    #expect(PrismLinearRetry().fixedDelay == .seconds(2))
  }

  private struct RetryOfEveryError: PrismRetryPolicy {
    func shouldRetry(for error: Error, attempt: Int) -> Bool { attempt < 9 }
    func delay(for attempt: Int) -> Duration { .zero }
  }

  private struct OnlyConnectivity: PrismRetryPolicy {
    func shouldRetry(for error: Error, attempt: Int) -> Bool {
      attempt < 1 && error as? PrismNetworkError == .noConnectivity
    }
    func delay(for attempt: Int) -> Duration { .seconds(-1) }
  }
}
