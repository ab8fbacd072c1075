import LoopbackServer
import Testing

@testable import EKNetwork

struct HTTPCacheOnTheWireTests {
  @Test(arguments: Wire.allCases)
  func freshResponseIsServedFromCache(_ wire: Wire) async throws {
    let bench = try CacheBench(wire)
    bench.answerInTurn(["Cache-Control": "max-age=60", "X-Own": "1"])
    let first = try await bench.send()
    #expect(first.text == "1" && first.cacheStatus == "EKNetwork; fwd=uri-miss; fwd-status=200; stored")
    bench.date.advance(by: 20)
    let second = try await bench.send()
    #expect(second.text == "1" && second.status == 200 && second.fields["X-Own"] == "1")
    #expect(second.isHit && second.cacheStatus.contains("ttl="))
    #expect(Int(second.fields["Age"] ?? "").map { (20...22).contains($0) } == true)
    bench.date.advance(by: 41)
    #expect(try await bench.send().text == "2")
    #expect(bench.server.requestCount == 2)
    let statistics = bench.cache.statistics
    #expect(statistics.hits == 1 && statistics.misses == 2 && statistics.stores == 2 && statistics.memoryCount == 1)
  }

  @Test func memoryUsageIsThatOfTheStoredResponses() async throws {
    let bench = try CacheBench(memory: 50_000)
    bench.server.fallback = { _ in .data(Data(count: 10_000), headers: ["Cache-Control": "max-age=60"]) }
    var usage: Int { bench.cache.statistics.memoryUsage }
    #expect(usage == 0)
    _ = try await bench.send()
    let one = usage
    #expect((10_000..<12_500).contains(one))
    #expect(try await bench.send().isHit)
    #expect(usage == one)
    _ = try await bench.send(CacheProbe(path: "/b"))
    #expect((20_000..<25_000).contains(usage) && bench.cache.statistics.memoryCount == 2)
    await bench.cache.remove(bench.server.url("/b"))
    #expect(usage == one)
    for number in 0..<10 { _ = try await bench.send(CacheProbe(path: "/\(number)")) }
    #expect((40_000...50_000).contains(usage))
    await bench.cache.removeAll()
    #expect(usage == 0 && bench.cache.statistics.memoryCount == 0)
  }

  /// They would make a share of hits meaningless.
  @Test func requestsThatTheCacheCannotServeAreNotCounted() async throws {
    let bench = try CacheBench()
    bench.answerInTurn(["Cache-Control": "max-age=60"])
    for probe in [CacheProbe(method: .post), CacheProbe(cacheMode: .noStore)] { _ = try await bench.send(probe) }
    #expect(bench.cache.statistics == HTTPCache.Statistics())
    #expect(bench.server.requestCount == 2)
  }

  @Test func withoutCacheEachRequestIsSent() async throws {
    let bench = try CacheBench()
    bench.answerInTurn(["Cache-Control": "max-age=60"])
    bench.manager.httpCache = nil
    #expect(try await bench.send().text == "1")
    let second = try await bench.send()
    #expect(second.text == "2" && second.cacheStatus.isEmpty)
  }

  @Test(arguments: Wire.allCases)
  func staleResponseIsRevalidated(_ wire: Wire) async throws {
    let bench = try CacheBench(wire)
    bench.server.route("/a") { request in
      guard request.headers["If-None-Match"] == "\"v\"" else {
        return .text("body", headers: ["Cache-Control": "max-age=5", "ETag": "\"v\"", "A": "1", "B": "1"])
      }
      return .status(304, headers: ["Cache-Control": "max-age=50", "ETag": "\"v\"", "A": "2"])
    }
    _ = try await bench.send()
    bench.date.advance(by: 6)
    let confirmed = try await bench.send()
    #expect(confirmed.status == 200 && confirmed.text == "body")
    #expect(confirmed.fields["A"] == "2" && confirmed.fields["B"] == "1" && confirmed.fields["Age"] == "0")
    #expect(confirmed.cacheStatus.hasPrefix("EKNetwork; fwd=stale; fwd-status=304"))
    bench.date.advance(by: 40)
    #expect(try await bench.send().isHit)
    #expect(bench.server.requestCount == 2)
  }

  @Test func usersShareOnlyPublicResponses() async throws {
    let bench = try CacheBench()
    bench.answerInTurn(["Cache-Control": "max-age=60"])
    bench.answerInTurn("/public", ["Cache-Control": "public, max-age=60"])
    #expect(try await bench.send(token: "a").text == "1")
    #expect(try await bench.send(token: "b").text == "2")
    #expect(try await bench.send().text == "3")
    #expect(try await bench.send(CacheProbe(headers: ["Cookie": "session=1"])).text == "3")
    #expect(try await bench.send(token: "a").text == "1")
    let open = CacheProbe(path: "/public")
    #expect(try await bench.send(open, token: "a").text == "1")
    #expect(try await bench.send(open, token: "b").text == "1")
    let cookie = CacheProbe(path: "/c", headers: ["Cookie": "session=1"])
    bench.answerInTurn("/c", ["Cache-Control": "max-age=60"])
    #expect(try await bench.send(cookie).text == "1")
    #expect(try await bench.send(CacheProbe(path: "/c", headers: ["Cookie": "session=2"])).text == "2")
    #expect(try await bench.send(CacheProbe(path: "/c")).text == "3")
  }

  /// RFC 9111 §4.2.1: of two contradicting directives, the stricter applies.
  @Test func privateOverridesPublic() async throws {
    let bench = try CacheBench()
    bench.answerInTurn(["Cache-Control": "private, max-age=60, public"])
    bench.answerInTurn("/field", ["Cache-Control": "public, max-age=60, private=\"Set-Cookie\""])
    for path in ["/a", "/field"] {
      #expect(try await bench.send(CacheProbe(path: path), token: "a").text == "1")
      #expect(try await bench.send(CacheProbe(path: path), token: "b").text == "2")
      #expect(try await bench.send(CacheProbe(path: path), token: "a").text == "1")
    }
  }

  @Test func sharedResponseOmitsSetCookie() async throws {
    let bench = try CacheBench()
    bench.answerInTurn(["Cache-Control": "public, max-age=60", "Set-Cookie": "session=1; Path=/elsewhere"])
    #expect(try await bench.send(token: "a").fields["Set-Cookie"] != nil)
    let second = try await bench.send(token: "b")
    #expect(second.isHit && second.fields["Set-Cookie"] == nil)
  }

  @Test(arguments: Wire.allCases)
  func sessionFieldsSeparateEntries(_ wire: Wire) async throws {
    let bench = try CacheBench(wire)
    bench.server.fallback = { request in
      let response = LoopbackServer.Response.text(request.headers["Cookie"] ?? request.headers["X-Auth-Token"] ?? "-")
        .header("Cache-Control", "max-age=60")
      guard request.path.hasPrefix("/login/") else { return response }
      return .text("").header("Set-Cookie", "user=\(request.path.dropFirst(7)); Path=/").header(
        "Cache-Control", "no-store")
    }
    for user in ["a", "b"] {
      _ = try await bench.send(CacheProbe(path: "/login/\(user)"))
      #expect(try await bench.send().text == "user=\(user)")
    }
    for token in ["t1", "t2"] {
      let manager = wire.manager(bench.server) { $0.httpAdditionalHeaders = ["X-Auth-Token": token] }
      manager.httpCache = bench.cache
      #expect(try await manager.send(CacheProbe(path: "/t")).text == token)
    }
  }

  @Test func variantsAreKeptApart() async throws {
    let bench = try CacheBench()
    bench.server.route("/a") {
      .text($0.headers["Accept-Language"] ?? "-", headers: ["Cache-Control": "max-age=60", "Vary": "accept-language"])
    }
    for round in 0..<2 {
      for language in ["de", "fr"] {
        let response = try await bench.send(CacheProbe(headers: ["Accept-Language": language]))
        #expect(response.text == language && response.isHit == (round == 1))
      }
    }
    let other = try await bench.send(CacheProbe(headers: ["Accept-Language": "it"]))
    #expect(other.text == "it" && other.cacheStatus.contains("fwd=vary-miss"))
  }

  @Test(arguments: [HTTPMethod.post, .put, .patch, .delete])
  func unsafeMethodInvalidates(_ method: HTTPMethod) async throws {
    let bench = try CacheBench()
    for path in ["/a", "/b"] { bench.answerInTurn(path, ["Cache-Control": "max-age=60"]) }
    let status = Locked(500)
    bench.server.route(method.rawValue, "/a") { _ in
      .status(status.withLock { $0 }, headers: ["Location": "/b", "Content-Length": "0"])
    }
    for path in ["/a", "/b"] { _ = try await bench.send(CacheProbe(path: path), token: "a") }
    let change = CacheProbe(method: method, body: RequestBody(data: Data("x".utf8), contentType: "text/plain"))
    await #expect(throws: HTTPError.self) { try await bench.send(change) }
    #expect(try await bench.send(token: "a").text == "1")
    status.withLock { $0 = 200 }
    _ = try await bench.send(change)
    for path in ["/a", "/b"] { #expect(try await bench.send(CacheProbe(path: path), token: "a").text == "2") }
  }

  @Test func staleIfErrorServesDuringOutage() async throws {
    let bench = try CacheBench()
    let isDown = Locked<LoopbackServer.Response?>(nil)
    bench.server.fallback = { request in
      isDown.withLock { $0 }
        ?? .text("good", headers: ["Cache-Control": "max-age=5, \(request.path.dropFirst())", "ETag": "\"v\""])
    }
    let lenient = CacheProbe(path: "/stale-if-error=60")
    let strict = CacheProbe(path: "/must-revalidate,stale-if-error=60")
    for probe in [lenient, strict] { _ = try await bench.send(probe) }
    bench.date.advance(by: 10)
    for outage in [LoopbackServer.Response.status(503), .raw([.close]), .status(500), .raw([.reset])] {
      isDown.withLock { $0 = outage }
      let response = try await bench.send(lenient)
      #expect(response.text == "good" && response.cacheStatus.contains("detail=stale-if-error"))
      await #expect(throws: (any Error).self) { try await bench.send(strict) }
    }
    isDown.withLock { $0 = .status(404) }
    await #expect(throws: HTTPError.self) { try await bench.send(lenient) }
    isDown.withLock { $0 = .status(503) }
    bench.date.advance(by: 60)
    await #expect(throws: HTTPError.self) { try await bench.send(lenient) }
  }

  @Test func modesFollowFetchStandard() async throws {
    let bench = try CacheBench()
    bench.answerInTurn(["Cache-Control": "max-age=5"])
    func text(_ mode: CacheMode) async throws -> String { try await bench.send(CacheProbe(cacheMode: mode)).text }
    let error = await #expect(throws: URLError.self) { try await text(.onlyIfCached) }
    #expect(error?.code == .resourceUnavailable && bench.server.requestCount == 0)
    #expect(try await text(.noStore) == "1")
    #expect(try await text(.forceCache) == "2")
    #expect(try await text(.noStore) == "3")
    #expect(try await text(.default) == "2")
    #expect(try await text(.reload) == "4")
    #expect(try await text(.noCache) == "5")
    bench.date.advance(by: 100)
    #expect(try await text(.onlyIfCached) == "5")
    #expect(try await text(.forceCache) == "5")
    #expect(try await text(.default) == "6")
    let sent = bench.server.requests
    #expect(sent[3].headers["Cache-Control"] == "no-cache" && sent[3].headers["Pragma"] == "no-cache")
    #expect(sent[4].headers["Cache-Control"] == "max-age=0")
    #expect(sent[0].headers["Cache-Control"] == nil)
  }

  @Test func conditionalRequestBypassesCache() async throws {
    let bench = try CacheBench()
    bench.answerInTurn(["Cache-Control": "max-age=60", "ETag": "\"v\""])
    _ = try await bench.send()
    #expect(try await bench.send(CacheProbe(headers: ["If-None-Match": "\"mine\""])).text == "2")
    #expect(try await bench.send().text == "1")
    let error = await #expect(throws: HTTPError.self) {
      try await bench.send(CacheProbe(path: "/none", headers: ["Cache-Control": "only-if-cached"]))
    }
    #expect(error?.statusCode == 504)
  }

  @Test(arguments: Wire.allCases)
  func eachRedirectHopIsCachedSeparately(_ wire: Wire) async throws {
    let bench = try CacheBench(wire)
    bench.server.route("/old") { _ in .redirect(to: "/a", status: 301, headers: ["Cache-Control": "max-age=60"]) }
    bench.answerInTurn(["Cache-Control": "max-age=5"])
    #expect(try await bench.send(CacheProbe(path: "/old")).text == "1")
    bench.date.advance(by: 10)
    #expect(try await bench.send(CacheProbe(path: "/old")).text == "2")
    #expect(bench.server.requests(path: "/old").count == 1)
    #expect(try await bench.send().isHit)
  }

  @Test func headUsesAndRenewsStoredGet() async throws {
    let bench = try CacheBench()
    let version = Locked("v")
    bench.server.route("/a") { _ in
      .text("body", headers: ["Cache-Control": "max-age=5", "ETag": "\"\(version.withLock { $0 })\""])
    }
    _ = try await bench.send()
    let head = try await bench.send(CacheProbe(method: .head))
    #expect(head.isHit && head.text.isEmpty && head.fields["Content-Length"] == "4")
    bench.date.advance(by: 10)
    #expect(try await bench.send(CacheProbe(method: .head)).isHit == false)
    #expect(try await bench.send().isHit)
    bench.date.advance(by: 10)
    version.withLock { $0 = "w" }
    _ = try await bench.send(CacheProbe(method: .head))
    #expect(try await bench.send().cacheStatus.contains("fwd=uri-miss"))
  }

  @Test func rangeIsServedFromFullResponse() async throws {
    let bench = try CacheBench()
    bench.server.route("/a") { _ in .text("0123456789", headers: ["Cache-Control": "max-age=60", "A": "1"]) }
    _ = try await bench.send()
    let part = try await bench.send(CacheProbe(headers: ["Range": "bytes=2-4"]))
    #expect(part.status == 206 && part.text == "234" && part.fields["A"] == "1" && part.isHit)
    #expect(part.fields["Content-Range"] == "bytes 2-4/10" && part.fields["Content-Length"] == "3")
    #expect(try await bench.send(CacheProbe(headers: ["Range": "bytes=-3"])).text == "789")
    // Other ranges are left to the server.
    #expect(try await bench.send(CacheProbe(headers: ["Range": "bytes=0-1,3-4"])).text == "0123456789")
    #expect(try await bench.send(CacheProbe(headers: ["Range": "bytes=90-"])).isHit == false)
  }

  /// RFC 9110 §13.1.5: the rest of another version is of no use.
  @Test(
    arguments: [CacheMode.noCache, .forceCache, .onlyIfCached],
    ["\"v\"", "\"w\"", "Sun, 06 Nov 1994 08:49:37 GMT"])
  func rangeIsOfTheVersionThatItsSenderHas(_ mode: CacheMode, _ version: String) async throws {
    let bench = try CacheBench()
    bench.server.route("/a") { request in
      request.headers["If-None-Match"] == "\"v\""
        ? .status(304, headers: ["ETag": "\"v\""])
        : .text("0123456789", headers: ["Cache-Control": "max-age=60", "ETag": "\"v\""])
    }
    _ = try await bench.send()
    let probe = CacheProbe(headers: ["Range": "bytes=5-", "If-Range": version], cacheMode: mode)
    if version == "\"v\"" {
      let part = try await bench.send(probe)
      #expect(part.status == 206 && part.text == "56789")
    } else if mode == .onlyIfCached {
      await #expect(throws: URLError.self) { try await bench.send(probe) }
    } else {
      let whole = try await bench.send(probe)
      #expect(whole.status == 200 && whole.text == "0123456789")
    }
  }

  /// `.max` means no limit, and an announced length may be false.
  @Test func maximumCapacityAndLengthDoNotOverflow() async throws {
    let folder = try ScratchFolder()
    for directory in [nil, folder["cache"]] {
      let bench = try CacheBench()
      bench.manager.httpCache = HTTPCache(memoryCapacity: .max, directory: directory, diskCapacity: .max)
      bench.answerInTurn(["Cache-Control": "max-age=60"])
      bench.server.route("/liar") { _ in
        .raw([
          .sendString("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 9223372036854775807\r\n\r\nx"),
          .close,
        ])
      }
      #expect(try await bench.send().text == "1")
      #expect(try await bench.send().isHit)
      await #expect(throws: URLError.self) { try await bench.send(CacheProbe(path: "/liar")) }
    }
  }

  @Test func refusedRangeDoesNotAffectFullResponse() async throws {
    let bench = try CacheBench()
    bench.server.route("/a") { request in
      switch request.headers["Range"] {
      case nil: .text("0123456789", headers: ["Cache-Control": "max-age=60"])
      case "bytes=90-": .text("", status: 416, headers: ["Cache-Control": "max-age=60", "Content-Range": "bytes */10"])
      default: .text("", status: 400, headers: ["Cache-Control": "max-age=60"])
      }
    }
    func refused(_ range: String) async {
      await #expect(throws: HTTPError.self) { try await bench.send(CacheProbe(headers: ["Range": range])) }
    }
    for isStored in [false, true] {
      for range in ["bytes=90-", "bytes=0-1,3-4"] { await refused(range) }
      let whole = try await bench.send()
      #expect(whole.text == "0123456789" && whole.isHit == isStored)
    }
  }

  @Test func partialResponseIsNotServedAsWhole() async throws {
    let bench = try CacheBench()
    bench.server.route("/a") { request in
      request.headers["Range"] == nil
        ? .text("0123456789", headers: ["Cache-Control": "max-age=60"])
        : .text("23", status: 206, headers: ["Cache-Control": "max-age=60", "Content-Range": "bytes 2-3/10"])
    }
    #expect(try await bench.send(CacheProbe(headers: ["Range": "bytes=2-3"])).text == "23")
    #expect(try await bench.send().text == "0123456789")
  }

  @Test func truncatedResponseIsNotStored() async throws {
    let bench = try CacheBench()
    let isBroken = Locked(true)
    bench.server.route("/a") { _ in
      isBroken.withLock { $0 }
        ? .raw([
          .sendString("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 100\r\n\r\nhalf"), .close,
        ]) : .text("whole", headers: ["Cache-Control": "max-age=60"])
    }
    await #expect(throws: URLError.self) { try await bench.send() }
    #expect(bench.cache.statistics.stores == 0)
    isBroken.withLock { $0 = false }
    #expect(try await bench.send().text == "whole")
  }

  @Test func fullyReadStreamFillsCache() async throws {
    let bench = try CacheBench()
    let body = Data.noise(100_000)
    bench.server.route("/a") { _ in .data(body, headers: ["Cache-Control": "max-age=60"]) }
    do {
      let half = try await bench.manager.stream(CacheProbe())
      var iterator = half.body.makeAsyncIterator()
      _ = try await iterator.next()
    }
    #expect(bench.cache.statistics.stores == 0)
    for round in 0..<2 {
      var read = Data()
      for try await chunk in try await bench.manager.stream(CacheProbe()).body { read.append(chunk) }
      #expect(read == body)
      #expect(bench.cache.statistics.stores == 1 && bench.cache.statistics.hits == round)
    }
  }
}
