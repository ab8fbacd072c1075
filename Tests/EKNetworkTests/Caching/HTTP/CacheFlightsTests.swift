import LoopbackServer
import Testing

@testable import EKNetwork

struct CacheFlightsTests {
  @Test func concurrentCallersShareOneRequest() async throws {
    let bench = try CacheBench()
    let gate = Gate()
    bench.server.route("/a") { _ in
      gate.waitBlocking()
      return .text("body", headers: ["Cache-Control": "max-age=60"])
    }
    let manager = bench.manager
    try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<50 { group.addTask { try await manager.send(CacheProbe()).text } }
      await bench.server.expectRequests(1)
      while bench.waiting < 50 { await Task.yield() }
      gate.open()
      for try await text in group { #expect(text == "body") }
    }
    #expect(bench.server.requestCount == 1)
    #expect(bench.cache.statistics.misses == 1 && bench.cache.statistics.stores == 1)
  }

  @Test(arguments: [0, 3])
  func cancelledCallerDoesNotAffectOthers(_ leaver: Int) async throws {
    let bench = try CacheBench()
    let gate = Gate()
    bench.server.route("/a") { _ in
      gate.waitBlocking()
      return .text("body", headers: ["Cache-Control": "max-age=60"])
    }
    let manager = bench.manager
    var tasks: [Task<String, any Error>] = []
    for index in 0..<5 {
      tasks.append(Task { try await manager.send(CacheProbe()).text })
      while bench.waiting < index + 1 { await Task.yield() }
    }
    tasks[leaver].cancel()
    await #expect(throws: CancellationError.self) { try await tasks[leaver].value }
    gate.open()
    for (index, task) in tasks.enumerated() where index != leaver { #expect(try await task.value == "body") }
    #expect(bench.server.requestCount == 1)
  }

  /// Nobody reads it, and it would hold the only connection.
  @Test func largeResponseOfACancelledCallerIsNotKept() async throws {
    let bench = try CacheBench()
    let gate = Gate()
    bench.server.route("/a") { _ in
      gate.waitBlocking()
      return .data(Data(count: 4 << 20)).header("Cache-Control", "max-age=60")
    }
    let manager = Wire.automatic.manager(bench.server) { $0.httpMaximumConnectionsPerHost = 1 }
    manager.httpCache = bench.cache
    var tasks: [Task<Int, any Error>] = []
    for index in 0..<2 {
      tasks.append(Task { try await manager.send(CacheProbe()).text.utf8.count })
      while bench.waiting < index + 1 { await Task.yield() }
    }
    tasks[0].cancel()
    await #expect(throws: CancellationError.self) { try await tasks[0].value }
    gate.open()
    #expect(try await tasks[1].value == 4 << 20)
    #expect(bench.server.requestCount == 2)
  }

  /// A 401 is not shared: each request gets its own, and is sent again with the token for which all have waited.
  @Test func refusedTokenIsRefreshedOnceForAll() async throws {
    let bench = try CacheBench()
    let gate = Gate()
    bench.server.route("/a") { request in
      gate.waitBlocking()
      guard request.headers["Authorization"] == "Bearer new" else { return .status(401) }
      return .text("body", headers: ["Cache-Control": "max-age=60"])
    }
    let tokens = TestTokens("old")
    bench.manager.tokenRefresher = tokens
    let manager = bench.manager
    let tasks = (0..<5).map { _ in Task { try await manager.send(CacheProbe()) { tokens.current }.text } }
    await bench.server.expectRequests(1)
    while bench.waiting < 5 { await Task.yield() }
    gate.open()
    for task in tasks { #expect(try await task.value == "body") }
    #expect(tokens.count == 1)
    #expect(try await manager.send(CacheProbe()) { tokens.current }.isHit)
  }

  @Test func lastCancellationClosesConnection() async throws {
    let bench = try CacheBench()
    bench.server.route("/a") { _ in .raw([.stall]) }
    let manager = bench.manager
    let tasks = (0..<3).map { _ in Task { try await manager.send(CacheProbe()).text } }
    await bench.server.expectRequests(1)
    while bench.waiting < 3 { await Task.yield() }
    for task in tasks { task.cancel() }
    for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
    #expect(await bench.server.waitForOpenConnections(0))
  }

  @Test func unshareableResponsesAreNotShared() async throws {
    let bench = try CacheBench()
    bench.answerInTurn(["Cache-Control": "no-store"])
    bench.answerInTurn("/user", ["Cache-Control": "max-age=60"])
    let manager = bench.manager
    let texts = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<10 { group.addTask { try await manager.send(CacheProbe()).text } }
      return try await group.reduce(into: Set<String>()) { $0.insert($1) }
    }
    #expect(texts.count == 10 && bench.server.requestCount == 10)
    let users = try await withThrowingTaskGroup(of: String.self) { group in
      for user in ["a", "b", "c"] {
        group.addTask { try await manager.send(CacheProbe(path: "/user"), accessToken: { user }).text }
      }
      return try await group.reduce(into: Set<String>()) { $0.insert($1) }
    }
    #expect(users.count == 3)
  }

  /// Flights ignore the field, as hardly any response depends on it (RFC 9111 §4.1).
  @Test func responseThatVariesWithTheRequestIDIsNotShared() async throws {
    let bench = try CacheBench()
    let gate = Gate()
    bench.server.route("/a") { request in
      gate.waitBlocking()
      return .text(
        request.headers["X-Request-ID"] ?? "", headers: ["Cache-Control": "max-age=60", "Vary": "X-Request-ID"])
    }
    let manager = bench.manager
    try await withThrowingTaskGroup(of: (String, String).self) { group in
      for id in ["1", "2", "3"] {
        group.addTask { (id, try await manager.send(CacheProbe(headers: ["X-Request-ID": id])).text) }
      }
      while bench.waiting < 3 { await Task.yield() }
      gate.open()
      for try await (id, text) in group { #expect(text == id) }
    }
    #expect(bench.server.requestCount == 3)
  }

  @Test func failureReachesEveryCaller() async throws {
    try await CacheBench().failTogether(4)
  }

  @Test func sharingFollowsLastResponse() async throws {
    let bench = try CacheBench()
    bench.answerInTurn(["Cache-Control": "no-store"])
    _ = try await bench.send()
    #expect(!bench.cache.flights.mayShare(CacheLocation.key(of: bench.server.url("/a"))))
    bench.answerInTurn(["Cache-Control": "max-age=60"])
    _ = try await bench.send()
    #expect(bench.cache.flights.mayShare(CacheLocation.key(of: bench.server.url("/a"))))
  }

  @Test(arguments: [true, false])
  func responseFromBeforeChangeIsNotServedAfterIt(_ isRemoved: Bool) async throws {
    let bench = try CacheBench()
    let gate = Gate()
    let version = Locked("old")
    bench.server.route("GET", "/a") { _ in
      let text = version.withLock { $0 }
      if text == "old" { gate.waitBlocking() }
      return .text(text, headers: ["Cache-Control": "max-age=60"])
    }
    bench.server.route("POST", "/a") { _ in .status(204) }
    let manager = bench.manager
    let early = Task { try await manager.send(CacheProbe()).text }
    await bench.server.expectRequests(1)
    version.withLock { $0 = "new" }
    if isRemoved {
      await bench.cache.remove(bench.server.url("/a"))
    } else {
      _ = try await bench.send(CacheProbe(method: .post))
    }
    // It does not join the request in flight, whose response must not replace the new one.
    #expect(try await bench.send().text == "new")
    gate.open()
    #expect(try await early.value == "old")
    let last = try await bench.send()
    #expect(last.text == "new" && last.isHit)
  }

  @Test func revalidationIsShared() async throws {
    let bench = try CacheBench()
    let gate = Gate()
    bench.server.route("/a") { request in
      guard request.headers["If-None-Match"] != nil else {
        return .text("body", headers: ["Cache-Control": "max-age=60", "ETag": "\"v\""])
      }
      gate.waitBlocking()
      return .status(304, headers: ["Cache-Control": "max-age=60", "ETag": "\"v\""])
    }
    _ = try await bench.send()
    bench.date.advance(by: 61)
    let manager = bench.manager
    let tasks = (0..<5).map { _ in Task { try await manager.send(CacheProbe()) } }
    while bench.waiting < 5 { await Task.yield() }
    gate.open()
    var statuses: [String] = []
    for task in tasks {
      let response = try await task.value
      #expect(response.text == "body" && response.status == 200)
      statuses.append(response.cacheStatus)
    }
    #expect(statuses.filter { $0.contains("; collapsed") && $0.contains("fwd=stale") }.count == 4)
    #expect(bench.server.requestCount == 2)
  }

  @Test func staleCallersStartOneBackgroundRequest() async throws {
    let bench = try CacheBench()
    let gate = Gate()
    let count = Locked(0)
    bench.server.route("/a") { _ in
      let number = count.withLock { count in
        count += 1
        return count
      }
      if number > 1 { gate.waitBlocking() }
      return .text("\(number)", headers: ["Cache-Control": "max-age=5, stale-while-revalidate=60"])
    }
    _ = try await bench.send()
    bench.date.advance(by: 10)
    for _ in 0..<5 { #expect(try await bench.send().text == "1") }
    await bench.server.expectRequests(2)
    gate.open()
    while bench.cache.statistics.stores < 2 { await Task.yield() }
    #expect(try await bench.send().text == "2")
    #expect(bench.server.requestCount == 2)
  }

  @Test(arguments: [false, true]) func cancelledBodyDoesNotLookComplete(hasRest: Bool) async throws {
    let body = PrefixedBody([Data([1]), Data([2])], BufferedBody(Data()), hasRest: hasRest)
    #expect(try await body.next() == Data([1]))
    body.cancel()
    await #expect(throws: CancellationError.self) { _ = try await body.next() }
  }

  @Test func largeBodyReachesEveryCaller() async throws {
    let bench = try CacheBench(memory: 100_000_000)
    bench.server.route("/a") { _ in .data(.noise(3_000_000), headers: ["Cache-Control": "max-age=60"]) }
    let manager = bench.manager
    try await withThrowingTaskGroup(of: Data.self) { group in
      for _ in 0..<4 { group.addTask { try await manager.send(RawProbe(path: "/a")) } }
      for try await data in group { #expect(data == .noise(3_000_000)) }
    }
  }
}

extension CacheBench {
  /// The number of callers of requests in flight, including those that send them.
  fileprivate var waiting: Int { cache.flights.waiting }

  /// Lets callers wait for one request, whose connection is then closed.
  func failTogether(_ count: Int) async throws {
    let gate = Gate()
    server.route("/a") { _ in
      gate.waitBlocking()
      return .raw([.close])
    }
    let tasks = (0..<count).map { [manager] _ in Task { try await manager.send(CacheProbe()).text } }
    await server.expectRequests(1)
    while waiting < count { await Task.yield() }
    gate.open()
    for task in tasks { await #expect(throws: URLError.self) { try await task.value } }
  }
}

private struct RawProbe: NetworkRequest {
  typealias Response = Data
  var path: String
  var method: HTTPMethod { .get }
  func decodeResponse(data: Data, response: URLResponse) throws -> Data { data }
}
