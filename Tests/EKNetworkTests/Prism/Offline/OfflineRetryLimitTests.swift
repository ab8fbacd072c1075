import Testing

@testable import EKNetwork

@Suite(.timeLimit(.minutes(10))) struct OfflineRetryLimitTests {
  private static let refusal = RateLimiter.LimitError(host: "a", reason: .waitTooLong, retryAfter: .seconds(7))

  private func options(_ undelivered: Locked<Int>, maximumRetryCount: Int = 0) -> PrismOfflineQueueOptions {
    var options = PrismOfflineQueueOptions()
    options.maximumRetryCount = maximumRetryCount
    options.undelivered = { _, _ in undelivered.withLock { $0 += 1 } }
    return options
  }

  private func request(_ path: String) throws -> URLRequest {
    URLRequest(url: try #require(URL(string: "https://example.com/\(path)")))
  }

  /// Nothing was sent.
  @Test(arguments: [refusal, PrismNetworkFailure(.serverError, because: refusal)] as [any Error])
  func temporaryRefusalDoesNotCount(refusal: any Error) async throws {
    let undelivered = Locked(0)
    let queue = try PrismOfflineQueue(
      directory: nil, delivery: .each { _ in throw refusal }, autoFlush: false, options: options(undelivered))
    try await queue.enqueue(request("a"))
    for _ in 1...2 { await #expect(throws: (any Error).self) { try await queue.flush() } }
    #expect(await queue.dequeueAll().map(\.retryCount) == [0])
    #expect(undelivered.withLock { $0 } == 0)
  }

  @Test func temporaryRefusalOfBatchDoesNotCount() async throws {
    let undelivered = Locked(0)
    let batches = Locked<[Int]>([])
    let folder = try ScratchFolder()
    let queue = try PrismOfflineQueue(directory: folder["queue"], options: options(undelivered, maximumRetryCount: 1)) {
      requests in
      batches.withLock { $0.append(requests.count) }
      throw Self.refusal
    }
    for path in ["a", "b"] { try await queue.enqueue(request(path)) }
    for _ in 1...2 { await #expect(throws: RateLimiter.LimitError.self) { try await queue.flush() } }
    #expect(batches.withLock { $0 } == [2, 2])
    #expect(await queue.dequeueAll().map(\.retryCount) == [0, 0])
    #expect(undelivered.withLock { $0 } == 0)
  }

  /// The last attempt of each request of a batch is made alone.
  @Test(arguments: [0, 1, 2, 5], [false, true])
  func requestIsSentOnceMoreThanItIsRetried(_ retries: Int, inBatches: Bool) async throws {
    let undelivered = Locked(0)
    let sent = Locked<[Int]>([])
    let fail: @Sendable (Int) throws -> Void = { count in
      sent.withLock { $0.append(count) }
      throw URLError(.notConnectedToInternet)
    }
    let options = options(undelivered, maximumRetryCount: retries)
    let queue =
      inBatches
      ? try PrismOfflineQueue(directory: ScratchFolder()["queue"], options: options) { try fail($0.count) }
      : try PrismOfflineQueue(directory: nil, delivery: .each { _ in try fail(1) }, autoFlush: false, options: options)
    for path in ["a", "b"] { try await queue.enqueue(request(path)) }
    while await queue.count > 0 { try? await queue.flush() }
    #expect(undelivered.withLock { $0 } == 2)
    #expect(sent.withLock { $0.reduce(0, +) } == 2 * (retries + 1))
    if inBatches { #expect(sent.withLock { $0 } == Array(repeating: 2, count: retries) + [1, 1]) }
  }
}
