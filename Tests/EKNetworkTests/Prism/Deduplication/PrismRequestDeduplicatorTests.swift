import LoopbackServer
import Testing

@testable import EKNetwork

@Suite(.timeLimit(.minutes(10))) struct PrismRequestDeduplicatorTests {
  private let deduplicator = PrismRequestDeduplicator()

  /// Suspends until that many callers wait under a key.
  private func wait<T: Sendable>(_ count: Int, _ key: String, _ type: T.Type) async {
    while deduplicator.waiterCount(key, type) < count { await Task.yield() }
  }

  @Test func concurrentCallersShareOneFlight() async throws {
    let (gate, count) = (Gate(), Locked(0))
    try await withThrowingTaskGroup(of: Int.self) { [deduplicator] group in
      for _ in 0..<100 {
        group.addTask {
          try await deduplicator.deduplicate(
            {
              await gate.wait()
              return count.withLock { count in
                count += 1
                return count
              }
            }, key: "a")
        }
      }
      await wait(100, "a", Int.self)
      gate.open()
      for try await value in group { #expect(value == 1) }
    }
    // The result is not cached.
    #expect(deduplicator.count == 0)
    #expect(try await deduplicator.deduplicate({ 7 }, key: "a") == 7)
  }

  /// A task that outlives the request in which it was started no longer belongs to it.
  @Test func tasksOutlivingTheirRequestShareFlight() async throws {
    let (isOver, gate, count) = (Gate(), Gate(), Locked(0))
    let ask: @Sendable () async throws -> Int = { [deduplicator] in
      try await deduplicator.deduplicate(
        {
          count.withLock { $0 += 1 }
          await gate.wait()
          return 1
        }, key: "a")
    }
    let later = try await deduplicator.deduplicate(
      { () async throws -> [Task<Int, any Error>] in
        (0..<2).map { _ in
          Task {
            await isOver.wait()
            return try await ask()
          }
        }
      }, key: "a")
    isOver.open()
    await wait(2, "a", Int.self)
    gate.open()
    for task in later { #expect(try await task.value == 1) }
    #expect(count.withLock { $0 } == 1)
  }

  @Test func typesUnderOneKeyHaveSeparateFlights() async throws {
    let gate = Gate()
    async let number = deduplicator.deduplicate(
      {
        await gate.wait()
        return 1
      }, key: "a")
    async let text = deduplicator.deduplicate(
      {
        await gate.wait()
        return "one"
      }, key: "a")
    await wait(1, "a", Int.self)
    await wait(1, "a", String.self)
    gate.open()
    #expect(try await number == 1)
    #expect(try await text == "one")
  }

  @Test func errorReachesEveryCallerAndIsNotCached() async throws {
    struct Failure: Error {}
    let (gate, count) = (Gate(), Locked(0))
    let tasks = (0..<10).map { _ in
      Task { [deduplicator] in
        try await deduplicator.deduplicate(
          { () async throws -> Int in
            await gate.wait()
            count.withLock { $0 += 1 }
            throw Failure()
          }, key: "a")
      }
    }
    await wait(10, "a", Int.self)
    gate.open()
    for task in tasks { await #expect(throws: Failure.self) { _ = try await task.value } }
    #expect(count.withLock { $0 } == 1)
    #expect(try await deduplicator.deduplicate({ 2 }, key: "a") == 2)
  }

  @Test func cancelledWaiterDoesNotAffectOthers() async throws {
    let (gate, wasCancelled) = (Gate(), Locked(false))
    let work: @Sendable () async throws -> Int = {
      await gate.wait()
      wasCancelled.withLock { $0 = Task.isCancelled }
      return 1
    }
    let first = Task { [deduplicator] in try await deduplicator.deduplicate(work, key: "a") }
    await wait(1, "a", Int.self)
    let second = Task { [deduplicator] in try await deduplicator.deduplicate(work, key: "a") }
    await wait(2, "a", Int.self)
    // The caller that started the work.
    first.cancel()
    await #expect(throws: CancellationError.self) { _ = try await first.value }
    gate.open()
    #expect(try await second.value == 1)
    #expect(!wasCancelled.withLock { $0 })
  }

  @Test func lastCancellationCancelsWork() async throws {
    let ended = AsyncStream<Void>.makeStream()
    let work: @Sendable () async throws -> Int = {
      defer { ended.continuation.finish() }
      for await _ in AsyncStream<Void>.makeStream().stream {}
      try Task.checkCancellation()
      return 0
    }
    let tasks = (0..<2).map { _ in Task { [deduplicator] in try await deduplicator.deduplicate(work, key: "a") } }
    await wait(2, "a", Int.self)
    for task in tasks { task.cancel() }
    for task in tasks { await #expect(throws: CancellationError.self) { _ = try await task.value } }
    for await _ in ended.stream {}
    #expect(try await deduplicator.deduplicate({ 3 }, key: "a") == 3)
  }

  @Test func cancelledCallerStartsNothing() async throws {
    let started = Locked(false)
    let task = Task { [deduplicator] in
      for await _ in AsyncStream<Void>.makeStream().stream {}
      return try await deduplicator.deduplicate(
        {
          started.withLock { $0 = true }
          return 1
        }, key: "a")
    }
    task.cancel()
    await #expect(throws: CancellationError.self) { _ = try await task.value }
    #expect(!started.withLock { $0 })
    #expect(deduplicator.count == 0)
  }

  @Test func nestedCallForSameKeyDoesNotDeadlock() async throws {
    let value = try await deduplicator.deduplicate(
      { [deduplicator] in try await deduplicator.deduplicate({ 5 }, key: "a") + 1 }, key: "a")
    #expect(value == 6)
  }

  @Test func concurrentJoinsAndCancellations() async throws {
    for _ in 0..<200 {
      let tasks = (0..<8).map { number in
        Task { [deduplicator] in
          try await deduplicator.deduplicate(
            {
              await Task.yield()
              return number
            }, key: "a")
        }
      }
      for task in tasks.prefix(4) { task.cancel() }
      for task in tasks.suffix(4) { #expect((0..<8).contains(try await task.value)) }
      for task in tasks.prefix(4) { _ = await task.result }
    }
    #expect(deduplicator.count == 0)
  }

  /// Neither a shared POST that may have been processed nor one that has succeeded is sent again by any of its callers.
  @Test(arguments: [500, 200]) func sharedPostIsNotRepeated(_ status: Int) async throws {
    let server = try LoopbackServer()
    defer { server.stop() }
    let gate = Gate()
    server.route("POST", "/item") { _ in
      gate.waitBlocking()
      return .json(Teapot(id: 1), status: status)
    }
    server.route("GET", "/receipt") { _ in .status(503) }
    let client = PrismNetworkAdapter.forTests()
    let (pay, receipt) = (server.teapot { $0.method = .post }, server.teapot { $0.path = "/receipt" })
    let tasks = (0..<2).map { _ in
      Task { [deduplicator] in
        let operation = PrismRetryableRequest<Teapot>(policy: PrismLinearRetry(), clock: RecordingClock()) {
          _ = try await deduplicator.deduplicate({ try await client.request(on: pay) }, key: "pay 1")
          return try await client.request(on: receipt)
        }
        return try await operation.execute()
      }
    }
    await wait(2, "pay 1", Teapot.self)
    gate.open()
    for task in tasks { await #expect(throws: PrismNetworkError.serverError) { _ = try await task.value } }
    #expect(server.requests(path: "/item").count == 1)
  }

  @Test func everyCallerReceivesDetails() async throws {
    let server = try LoopbackServer()
    defer { server.stop() }
    let gate = Gate()
    server.route("GET", "/item") { _ in
      gate.waitBlocking()
      return .status(404)
    }
    let client = PrismNetworkAdapter.forTests()
    let request = server.teapot()
    let tasks = (0..<2).map { _ in
      Task { [deduplicator] in
        try await PrismNetworkFailure.detailed {
          try await deduplicator.deduplicate({ try await client.request(on: request) }, key: "a")
        }
      }
    }
    await wait(2, "a", Teapot.self)
    gate.open()
    for task in tasks {
      let failure = await #expect(throws: PrismNetworkFailure.self) { _ = try await task.value }
      #expect(failure?.statusCode == 404)
    }
    #expect(server.requestCount == 1)
  }

  @Test func keys() throws {
    let url = try #require(URL(string: "https://api.example.com/users/42"))
    typealias Key = PrismRequestDeduplicator
    #expect(Key.key(url: url, method: "GET") == "GET:https://api.example.com/users/42")
    // The digest that `printf hello | sha256sum` writes.
    #expect(
      Key.key(url: url, method: "POST", body: Data("hello".utf8))
        == "POST:https://api.example.com/users/42:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824")
    let alice = Key.key(url: url, method: "GET", body: nil, headers: ["Authorization": "Bearer alice"])
    let bob = Key.key(url: url, method: "GET", body: nil, headers: ["Authorization": "Bearer bob"])
    #expect(alice != bob)
    #expect(!alice.contains("alice"))
    #expect(alice == Key.key(url: url, method: "GET", body: nil, headers: ["authorization": "Bearer alice"]))
    #expect(
      Key.key(url: url, method: "GET", body: nil, headers: ["A": "1\nb 1 2"])
        != Key.key(url: url, method: "GET", body: nil, headers: ["A": "1", "B": "2"]))
    var request = URLRequest(url: url)
    request.setValue("Bearer alice", forHTTPHeaderField: "Authorization")
    #expect(Key.key(for: request) == alice)
    request.httpBodyStream = InputStream(data: Data([1]))
    #expect(Key.key(for: request) != Key.key(for: request))
  }
}
