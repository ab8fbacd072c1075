import LoopbackServer
import Testing

@testable import EKNetwork

@Suite(.timeLimit(.minutes(10))) struct PrismOfflineQueueTests {
  private func request(_ path: String, priority: Int = 0) throws -> PrismQueuedRequest {
    let url = try #require(URL(string: "https://example.com\(path)"))
    return PrismQueuedRequest(urlRequest: URLRequest(url: url), priority: priority)
  }

  private func options(_ change: (inout PrismOfflineQueueOptions) -> Void) -> PrismOfflineQueueOptions {
    var options = PrismOfflineQueueOptions()
    change(&options)
    return options
  }

  /// Waits that only the return of the network ends.
  private func options(_ clock: ManualClock, following network: ObservedValue<Bool>) -> PrismOfflineQueueOptions {
    options {
      $0.clock = clock
      $0.backoff = PrismLinearRetry(fixedDelay: .seconds(3600))
      $0.connectivity = PrismConnectivityMonitor(network)
    }
  }

  @Test func dequeuesInPriorityOrder() async throws {
    let queue = PrismOfflineQueue()
    await queue.enqueue(try request("/a"))
    await queue.enqueue(try request("/b", priority: 10))
    await queue.enqueue(try request("/c"))
    #expect(await queue.count == 3)
    #expect(await queue.dequeueAll().map(\.urlRequest.url?.path) == ["/b", "/a", "/c"])
    #expect(await queue.count == 0)
    #expect(await queue.dequeueAll().isEmpty)
  }

  @Test func throwingHandlerLosesNoRequests() async throws {
    let batches = Locked<[[PrismQueuedRequest]]>([])
    let queue = PrismOfflineQueue { requests in
      let number = batches.withLock { batches in
        batches.append(requests)
        return batches.count
      }
      if number == 1 { throw URLError(.notConnectedToInternet) }
    }
    let (first, second) = (try request("/a"), try request("/b", priority: 1))
    await queue.enqueue(first)
    await queue.enqueue(second)
    await #expect(throws: URLError.self) { try await queue.flush() }
    #expect(await queue.count == 2)
    try await queue.flush()
    #expect(await queue.count == 0)
    let handed = batches.withLock { $0 }
    #expect(handed.map { $0.map(\.id) } == [[second.id, first.id], [second.id, first.id]])
    #expect(handed.map { $0.map(\.retryCount) } == [[0, 0], [1, 1]])
    // The key by which a server recognizes the repeated request.
    let keys = handed.map { $0.map { $0.urlRequest.value(forHTTPHeaderField: "Idempotency-Key") } }
    #expect(keys == [[second.id.uuidString, first.id.uuidString], [second.id.uuidString, first.id.uuidString]])
  }

  @Test func automaticFlushEndsWhenAllIsSent() async throws {
    let queue = try PrismOfflineQueue(directory: nil, delivery: .each { _ in })
    await queue.enqueue(try request("/a"))
    var isAtRest = false
    while !isAtRest {
      await Task.yield()
      var flushing = await queue.flushing
      isAtRest = flushing.enqueued()
    }
    #expect(await queue.count == 0)
  }

  @Test func explicitIdempotencyKeyIsKept() async throws {
    let keys = Locked<[String?]>([])
    let queue = try PrismOfflineQueue(
      directory: nil,
      delivery: .each { request in
        keys.withLock { $0.append(request.urlRequest.value(forHTTPHeaderField: "Idempotency-Key")) }
      }, autoFlush: false)
    var own = URLRequest(url: try #require(URL(string: "https://example.com/")))
    own.setValue("mine", forHTTPHeaderField: "Idempotency-Key")
    try await queue.enqueue(own)
    try await queue.flush()
    #expect(keys.withLock { $0 } == ["mine"])
  }

  @Test func backoffSeparatesFailedFlushes() async throws {
    let clock = ManualClock()
    let attempts = AsyncStream<Int>.makeStream()
    let count = Locked(0)
    let queue = try PrismOfflineQueue(
      directory: nil,
      delivery: .each { _ in
        let number = count.withLock { count in
          count += 1
          return count
        }
        attempts.continuation.yield(number)
        if number < 3 { throw URLError(.cannotConnectToHost) }
      },
      options: options {
        $0.clock = clock
        $0.backoff = PrismLinearRetry(fixedDelay: .seconds(10))
      })
    var numbers = attempts.stream.makeAsyncIterator()
    await queue.enqueue(try request("/a"))
    #expect(await numbers.next() == 1)
    await clock.waitForSleepers()
    // Another request does not shorten the backoff.
    await queue.enqueue(try request("/b"))
    clock.advance(by: .seconds(9))
    #expect(count.withLock { $0 } == 1)
    clock.advance(by: .seconds(1))
    #expect(await numbers.next() == 2)
    await clock.waitForSleepers()
    clock.advance(by: .seconds(10))
    #expect(await numbers.next() == 3)
    #expect(await numbers.next() == 4)
    try await queue.flush()
    #expect(await queue.count == 0)
  }

  /// A closed session, or a certificate that its delegate refused: the flush itself was not cancelled.
  @Test func cancellationBySessionIsRetried() async throws {
    let clock = ManualClock()
    let attempts = AsyncStream<Void>.makeStream()
    let isFirst = Locked(true)
    let queue = try PrismOfflineQueue(
      directory: nil,
      delivery: .each { _ in
        attempts.continuation.yield()
        let wasFirst = isFirst.withLock { isFirst in
          defer { isFirst = false }
          return isFirst
        }
        if wasFirst { throw URLError(.cancelled) }
      },
      options: options {
        $0.clock = clock
        $0.backoff = PrismLinearRetry(fixedDelay: .seconds(10))
      })
    var made = attempts.stream.makeAsyncIterator()
    await queue.enqueue(try request("/a"))
    await made.next()
    await clock.waitForSleepers()
    clock.advance(by: .seconds(10))
    await made.next()
    try await queue.flush()
    #expect(await queue.count == 0)
  }

  @Test func returningNetworkEndsBackoff() async throws {
    let clock = ManualClock()
    let network = ObservedValue(false)
    let attempts = AsyncStream<Int>.makeStream()
    let count = Locked(0)
    let queue = try PrismOfflineQueue(
      directory: nil,
      delivery: .each { _ in
        let number = count.withLock { count in
          count += 1
          return count
        }
        defer { attempts.continuation.yield(number) }
        if number == 1 { throw URLError(.notConnectedToInternet) }
      },
      options: options(clock, following: network))
    var numbers = attempts.stream.makeAsyncIterator()
    while network.waiterCount == 0 { await Task.yield() }
    await queue.enqueue(try request("/a"))
    #expect(await numbers.next() == 1)
    await clock.waitForSleepers()
    network.update { $0 = true }
    #expect(await numbers.next() == 2)
    try await queue.flush()
    #expect(await queue.count == 0)
  }

  /// It came back before the queue has read the first state of the monitor.
  @Test func networkThatIsBackAtTheFirstReportEndsBackoff() async throws {
    let clock = ManualClock()
    let attempts = AsyncStream<Int>.makeStream()
    let count = Locked(0)
    let queue = try PrismOfflineQueue(
      directory: nil,
      delivery: .each { _ in
        let number = count.withLock { $0.increment() }
        defer { attempts.continuation.yield(number) }
        if number == 1 { throw URLError(.notConnectedToInternet) }
      }, options: options { $0.clock = clock })
    var numbers = attempts.stream.makeAsyncIterator()
    await queue.enqueue(try request("/a"))
    #expect(await numbers.next() == 1)
    await clock.waitForSleepers()
    await queue.watch(PrismConnectivityMonitor(ObservedValue(true)), wasOffline: true)
    #expect(await numbers.next() == 2)
    try await queue.flush()
    #expect(await queue.count == 0)
  }

  /// The attempt fails because of the network that was lost before.
  @Test func networkThatReturnsDuringAnAttemptEndsBackoff() async throws {
    let network = ObservedValue(false)
    let attempts = AsyncStream<Int>.makeStream()
    let (count, gate) = (Locked(0), Gate())
    let queue = try PrismOfflineQueue(
      directory: nil,
      delivery: .each { _ in
        let number = count.withLock { $0.increment() }
        attempts.continuation.yield(number)
        guard number == 1 else { return }
        await gate.wait()
        throw URLError(.networkConnectionLost)
      },
      options: options(ManualClock(), following: network))
    var numbers = attempts.stream.makeAsyncIterator()
    while network.waiterCount == 0 { await Task.yield() }
    await queue.enqueue(try request("/a"))
    #expect(await numbers.next() == 1)
    network.update { $0 = true }
    while network.waiterCount == 0 { await Task.yield() }
    gate.open()
    #expect(await numbers.next() == 2)
    try await queue.flush()
    #expect(await queue.count == 0)
  }

  /// A clock whose sleeps end one after another when their gates open, even if they were cancelled just before.
  private struct GatedClock: Clock {
    let gates: Locked<[Gate]>
    var now: RecordingClock.Instant { RecordingClock.Instant(offset: .zero) }
    var minimumResolution: Duration { .nanoseconds(1) }

    func sleep(until deadline: RecordingClock.Instant, tolerance: Duration?) async throws {
      let gate = gates.withLock { $0.isEmpty ? nil : $0.removeFirst() }
      await Task.detached { _ = await gate?.wait() }.value
    }
  }

  /// It would end without a flush, and the requests would wait for ever.
  @Test func cancelledWaitDoesNotEndTheNextOne() async throws {
    let (first, second) = (Gate(), Gate())
    let (gates, count) = (Locked([first, second]), Locked(0))
    let queue = try PrismOfflineQueue(
      directory: nil,
      delivery: .each { _ in
        let number = count.withLock { $0.increment() }
        if number == 1 || number == 3 { throw URLError(.notConnectedToInternet) }
      }, options: options { $0.clock = GatedClock(gates: gates) })
    await queue.enqueue(try request("/a"))
    while gates.withLock({ $0.count }) > 1 { await Task.yield() }
    let wait = await queue.waiting
    try await queue.flush()
    await queue.enqueue(try request("/b"))
    while await queue.waiting == nil { await Task.yield() }
    first.open()
    await wait?.value
    #expect(await queue.waiting != nil)
    #expect(await queue.count == 1)
    second.open()
    try await queue.flush()
    #expect(await queue.count == 0)
  }

  @Test func permanentFailureIsReportedUndelivered() async throws {
    let left = Locked<[(UUID, Int?)]>([])
    let sent = Locked<[String?]>([])
    let queue = try PrismOfflineQueue(
      directory: nil,
      delivery: .each { request in
        sent.withLock { $0.append(request.urlRequest.url?.path) }
        if request.urlRequest.url?.path == "/bad" { throw HTTPError(statusCode: 422, data: Data(), headers: [:]) }
      }, autoFlush: false,
      options: options { options in
        options.undelivered = { request, error in
          left.withLock { $0.append((request.id, (error as? HTTPError)?.statusCode)) }
        }
      })
    let bad = try request("/bad")
    await queue.enqueue(bad)
    await queue.enqueue(try request("/good"))
    try await queue.flush()
    #expect(sent.withLock { $0 } == ["/bad", "/good"])
    #expect(left.withLock { $0.map(\.0) } == [bad.id])
    #expect(left.withLock { $0.map(\.1) } == [422])
    #expect(await queue.count == 0)
  }

  @Test func permanentFailureInBatchIsIsolated() async throws {
    let left = Locked<[String?]>([])
    let sent = Locked<[String?]>([])
    let folder = try ScratchFolder()
    let queue = try PrismOfflineQueue(
      directory: folder["queue"],
      options: options { $0.undelivered = { request, _ in left.withLock { $0.append(request.urlRequest.url?.path) } } }
    ) { requests in
      for request in requests {
        if request.urlRequest.url?.path == "/bad" { throw PrismNetworkError.badRequest }
      }
      for request in requests { sent.withLock { $0.append(request.urlRequest.url?.path) } }
    }
    for path in ["/a", "/bad", "/b"] { await queue.enqueue(try request(path)) }
    try await queue.flush()
    #expect(left.withLock { $0 } == ["/bad"])
    #expect(sent.withLock { $0 } == ["/a", "/b"])
  }

  @Test func requestIsGivenUpAtRetryLimit() async throws {
    let left = Locked(0)
    let queue = try PrismOfflineQueue(
      directory: nil, delivery: .each { _ in throw URLError(.timedOut) }, autoFlush: false,
      options: options {
        $0.maximumRetryCount = 1
        $0.undelivered = { _, _ in left.withLock { $0 += 1 } }
      })
    await queue.enqueue(try request("/a"))
    await #expect(throws: URLError.self) { try await queue.flush() }
    try await queue.flush()
    #expect(left.withLock { $0 } == 1)
    #expect(await queue.count == 0)
  }

  @Test func fullQueueRefusesRequests() async throws {
    let refused = AsyncStream<PrismOfflineQueueError?>.makeStream()
    let queue = try PrismOfflineQueue(
      directory: nil, delivery: .each { _ in }, autoFlush: false,
      options: options {
        $0.maximumCount = 1
        $0.maximumBytes = 3
        $0.undelivered = { _, error in refused.continuation.yield(error as? PrismOfflineQueueError) }
      })
    var large = URLRequest(url: try #require(URL(string: "https://example.com/")))
    large.httpBody = Data(count: 4)
    await #expect(throws: PrismOfflineQueueError.tooManyBytes(limit: 3)) { try await queue.enqueue(large) }
    try await queue.enqueue(request("/a"), body: .ofRequest)
    await #expect(throws: PrismOfflineQueueError.tooManyRequests(limit: 1)) {
      try await queue.enqueue(request("/b"), body: .ofRequest)
    }
    await queue.enqueue(try request("/c"))
    var errors = refused.stream.makeAsyncIterator()
    #expect(await errors.next() == .tooManyRequests(limit: 1))
    #expect(await queue.count == 1)
  }

  @Test func flushesMergeAndCancellationLosesNothing() async throws {
    let gate = Gate()
    let started = AsyncStream<Void>.makeStream()
    let sent = Locked(0)
    let queue = try PrismOfflineQueue(
      directory: nil,
      delivery: .each { _ in
        sent.withLock { $0 += 1 }
        started.continuation.yield()
        await gate.wait()
        try Task.checkCancellation()
      }, autoFlush: false)
    await queue.enqueue(try request("/a"))
    var starts = started.stream.makeAsyncIterator()
    let lonely = Task { try await queue.flush() }
    await starts.next()
    // A request in flight is not handed out a second time.
    #expect(await queue.dequeueAll().isEmpty)
    lonely.cancel()
    await #expect(throws: CancellationError.self) { try await lonely.value }
    while queue.isFlushing { await Task.yield() }
    #expect(await queue.count == 1)
    let both = (0..<2).map { _ in Task { try await queue.flush() } }
    await starts.next()
    gate.open()
    for task in both { try await task.value }
    #expect(sent.withLock { $0 } == 2)
    #expect(await queue.count == 0)
  }

  /// Its callers have left, but its delivery is still running.
  @Test(.timeLimit(.minutes(10))) func cancelledFlushEndsBeforeNextBegins() async throws {
    let started = AsyncStream<Int>.makeStream()
    let release = AsyncStream<Void>.makeStream()
    let (underWay, most, count) = (Locked(0), Locked(0), Locked(0))
    let queue = try PrismOfflineQueue(
      directory: nil,
      delivery: .each { _ in
        let now = underWay.withLock { underWay in
          underWay += 1
          return underWay
        }
        most.withLock { $0 = max($0, now) }
        defer { underWay.withLock { $0 -= 1 } }
        let number = count.withLock { count in
          count += 1
          return count
        }
        started.continuation.yield(number)
        // Ignores cancellation.
        if number == 1 { await Task.detached { for await _ in release.stream {} }.value }
        try Task.checkCancellation()
      }, autoFlush: false)
    await queue.enqueue(try request("/a"))
    var starts = started.stream.makeAsyncIterator()
    let lonely = Task { try await queue.flush() }
    #expect(await starts.next() == 1)
    lonely.cancel()
    await #expect(throws: CancellationError.self) { try await lonely.value }
    let next = Task { try await queue.flush() }
    while !queue.isFlushing { await Task.yield() }
    release.continuation.finish()
    try await next.value
    #expect(most.withLock { $0 } == 1)
    #expect(await queue.count == 0)
  }

  @Test func cancellationByDeliveryIsRetried() async throws {
    let clock = ManualClock()
    let attempts = AsyncStream<Int>.makeStream()
    let count = Locked(0)
    let queue = try PrismOfflineQueue(
      directory: nil,
      delivery: .each { _ in
        let number = count.withLock { count in
          count += 1
          return count
        }
        attempts.continuation.yield(number)
        if number == 1 { throw CancellationError() }
      },
      options: options {
        $0.clock = clock
        $0.backoff = PrismLinearRetry(fixedDelay: .seconds(10))
      })
    var numbers = attempts.stream.makeAsyncIterator()
    await queue.enqueue(try request("/a"))
    #expect(await numbers.next() == 1)
    await clock.waitForSleepers()
    clock.advance(by: .seconds(10))
    #expect(await numbers.next() == 2)
    try await queue.flush()
  }

  @Test func flushFromHandlerDoesNotDeadlock() async throws {
    let holder = Locked<PrismOfflineQueue?>(nil)
    let queue = PrismOfflineQueue { _ in try await holder.withLock { $0 }?.flush() }
    holder.withLock { $0 = queue }
    await queue.enqueue(try request("/a"))
    try await queue.flush()
    #expect(await queue.count == 0)
    holder.withLock { $0 = nil }
  }
}
