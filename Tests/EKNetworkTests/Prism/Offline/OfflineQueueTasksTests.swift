import LoopbackServer
import Testing

@testable import EKNetwork

/// Flushes, and tasks that outlive the delivery in which they were started.
@Suite(.timeLimit(.minutes(10))) struct OfflineQueueTasksTests {
  private static func request(_ path: String) throws -> URLRequest {
    URLRequest(url: try #require(URL(string: "http://127.0.0.1:9/\(path)")))
  }

  /// A queue whose first delivery starts a task that continues after the delivery has ended.
  private func queue(
    automatic: Bool, _ later: @escaping @Sendable (PrismOfflineQueue) async throws -> Void
  ) async throws -> (sent: AsyncStream<String>, open: Gate, queue: PrismOfflineQueue) {
    let (sent, continuation) = AsyncStream<String>.makeStream()
    let box = Locked<PrismOfflineQueue?>(nil)
    let gate = Gate()
    let queue = try PrismOfflineQueue(
      directory: nil,
      delivery: .each { request in
        let path = request.urlRequest.url?.lastPathComponent ?? ""
        if path == "a" {
          Task {
            await gate.wait()
            if let queue = box.withLock({ $0 }) { try await later(queue) }
          }
        }
        continuation.yield(path)
      }, autoFlush: automatic)
    box.withLock { $0 = queue }
    return (sent, gate, queue)
  }

  @Test func requestFromTaskOutlivingDeliveryIsSent() async throws {
    let (sent, gate, queue) = try await queue(automatic: true) { try await $0.enqueue(try Self.request("b")) }
    try await queue.enqueue(try Self.request("a"))
    var iterator = sent.makeAsyncIterator()
    #expect(await iterator.next() == "a")
    while queue.isFlushing { await Task.yield() }
    gate.open()
    #expect(await iterator.next() == "b")
    while await queue.count > 0 { await Task.yield() }
  }

  @Test func flushFromTaskOutlivingDeliverySends() async throws {
    let (sent, gate, queue) = try await queue(automatic: false) { queue in
      try await queue.enqueue(try Self.request("b"))
      try await queue.flush()
    }
    try await queue.enqueue(try Self.request("a"))
    try await queue.flush()
    gate.open()
    var iterator = sent.makeAsyncIterator()
    #expect(await iterator.next() == "a")
    #expect(await iterator.next() == "b")
  }

  /// An automatic flush that begins inside a flush is not part of it, and must not spin until that one ends.
  @Test func requestEnqueuedDuringDeliveryIsSent() async throws {
    let box = Locked<PrismOfflineQueue?>(nil)
    let (sent, continuation) = AsyncStream<String>.makeStream()
    let queue = try PrismOfflineQueue(
      directory: nil,
      delivery: .each { request in
        let path = request.urlRequest.url?.lastPathComponent ?? ""
        if path == "a" { try await box.withLock { $0 }?.enqueue(try Self.request("b")) }
        continuation.yield(path)
      })
    box.withLock { $0 = queue }
    try await queue.enqueue(try Self.request("a"))
    try await queue.flush()
    var iterator = sent.makeAsyncIterator()
    #expect(await iterator.next() == "a")
    #expect(await iterator.next() == "b")
  }

  @TaskLocal private static var trace = "none"

  /// A delivery does not belong to the task that happened to enqueue first, or that created the queue.
  @Test(arguments: [false, true]) func automaticDeliveryIsNotPartOfItsCaller(atCreation: Bool) async throws {
    let folder = try ScratchFolder()
    if atCreation {
      let earlier = try PrismOfflineQueue(directory: folder["queue"])
      try await earlier.enqueue(try Self.request("a"))
    }
    let (sent, continuation) = AsyncStream<String>.makeStream()
    let queue = try await Self.$trace.withValue("caller") {
      let queue = try PrismOfflineQueue(
        directory: folder["queue"], delivery: .each { _ in continuation.yield(Self.trace) })
      if !atCreation { try await queue.enqueue(try Self.request("a")) }
      return queue
    }
    var iterator = sent.makeAsyncIterator()
    #expect(await iterator.next() == "none")
    while await queue.count > 0 { await Task.yield() }
  }

  @Test func successfulFlushEndsBackoff() async throws {
    let isUp = Locked(false)
    let clock = ManualClock()
    let (sent, continuation) = AsyncStream<String>.makeStream()
    var options = PrismOfflineQueueOptions()
    options.clock = clock
    let queue = try PrismOfflineQueue(
      directory: nil,
      delivery: .each { request in
        guard isUp.withLock({ $0 }) else { throw URLError(.notConnectedToInternet) }
        continuation.yield(request.urlRequest.url?.lastPathComponent ?? "")
      }, options: options)
    try await queue.enqueue(try Self.request("a"))
    await clock.waitForSleepers()
    isUp.withLock { $0 = true }
    try await queue.flush()
    try await queue.enqueue(try Self.request("b"))
    var iterator = sent.makeAsyncIterator()
    #expect(await iterator.next() == "a")
    #expect(await iterator.next() == "b")
  }

  @Test func negativeRetryCountIsStoredAsZero() async throws {
    let folder = try ScratchFolder()
    var request = PrismQueuedRequest(urlRequest: try Self.request("a"), retryCount: -1)
    let queue = try PrismOfflineQueue(directory: folder["queue"])
    try await queue.enqueue(request, body: .ofRequest)
    for (count, stored) in [(3, 3), (-1, 0), (.max, .max), (.min, 0)] {
      request.retryCount = count
      #expect(request.retryCount == stored)
      let copy = PrismQueuedRequest(urlRequest: request.urlRequest, retryCount: request.retryCount)
      try await queue.enqueue(copy, body: .ofRequest)
    }
    #expect(try OfflineStore.load(folder["queue"]).entries.map(\.request.retryCount) == [0, 3, 0, .max, 0])
  }

  /// The middleware spares the server for a while: no request is given up for that.
  @Test(arguments: [true, false]) func temporaryRefusalByMiddlewareKeepsRequests(isBreaker: Bool) async throws {
    let server = try LoopbackServer()
    server.fallback = { _ in .status(isBreaker ? 500 : 429, headers: ["Retry-After": "120"]) }
    let manager = Wire.automatic.manager(server)
    manager.attemptMiddleware =
      isBreaker ? [CircuitBreaker(failures: 1, cooldown: .seconds(30))] : [RateLimiter()]
    let undelivered = Locked(0)
    var options = PrismOfflineQueueOptions()
    options.undelivered = { _, _ in undelivered.withLock { $0 += 1 } }
    let queue = try PrismOfflineQueue(directory: nil, delivery: .manager(manager), autoFlush: false, options: options)
    for _ in 0..<3 { try await queue.enqueue(URLRequest(url: server.url("/item"))) }
    await #expect(throws: HTTPError.self) { try await queue.flush() }
    await #expect(throws: (any Error).self) { try await queue.flush() }
    #expect(server.requestCount == 1)
    #expect(await queue.count == 3)
    #expect(undelivered.withLock { $0 } == 0)
  }
}
