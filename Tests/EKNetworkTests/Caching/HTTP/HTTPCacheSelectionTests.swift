import LoopbackServer
import Testing

@testable import EKNetwork

/// Which requests a stored response is for.
struct HTTPCacheSelectionTests {
  @Test(arguments: ["Fastly-Key", "AccessKey", "DD-APPLICATION-KEY", "X-Client-Key"])
  func usersOfAPIKeysDoNotShare(_ field: String) async throws {
    let bench = try CacheBench()
    bench.answerInTurn(["Cache-Control": "private, max-age=60"])
    #expect(try await bench.send(CacheProbe(headers: [field: "alice"])).text == "1")
    #expect(try await bench.send(CacheProbe(headers: [field: "bob"])).text == "2")
    #expect(try await bench.send().text == "3")
    #expect(try await bench.send(CacheProbe(headers: [field: "alice"])).isHit)
  }

  /// RFC 9112 §3.3: their targets differ, although the URL is the same.
  @Test func virtualHostsDoNotShare() async throws {
    let bench = try CacheBench()
    bench.server.route("/a") { request in
      .text(request.headers["Host"] ?? "", headers: ["Cache-Control": "public, max-age=60"])
    }
    for isHit in [false, true] {
      for host in ["a.example", "b.example"] {
        let response = try await bench.send(CacheProbe(headers: ["Host": host]))
        #expect(response.text == host && response.isHit == isHit)
      }
    }
    #expect(try await bench.send(CacheProbe(headers: ["Host": "A.example"])).isHit)
    #expect(try await !bench.send().isHit)
    // All responses for the URL are removed.
    await bench.cache.remove(bench.server.url("/a"))
    #expect(try await !bench.send(CacheProbe(headers: ["Host": "a.example"])).isHit)
    #expect(bench.server.requestCount == 4)
  }

  #if os(Linux)
    @Test(arguments: [true, false])
    func encodedAndDecodedBodiesAreKeptApart(isOnDisk: Bool) async throws {
      let bench = try CacheBench()
      let folder = try ScratchFolder()
      if isOnDisk { bench.manager.httpCache = HTTPCache(memoryCapacity: 0, directory: folder.url) }
      let encoded = try Bomb.gzip(Data("plain".utf8))
      bench.server.route("/a") { _ in
        .data(encoded, headers: ["Content-Encoding": "gzip", "Cache-Control": "max-age=60"])
      }
      for isHit in [false, true, true] {
        for decodesContent in [true, false] {
          let response = try await bench.send(CacheProbe(decodesContent: decodesContent))
          #expect(response.isHit == isHit && (response.text == "plain") == decodesContent)
        }
      }
      #expect(bench.server.requestCount == 2)
    }
  #endif

  /// A search with a query in its body is another request.
  @Test func bodyOfGetIsNotIgnored() async throws {
    let bench = try CacheBench()
    bench.server.route("/a") { request in .text(request.text, headers: ["Cache-Control": "max-age=60"]) }
    func probe(_ body: String?) -> CacheProbe {
      var probe = CacheProbe()
      probe.body = body.map { RequestBody(data: Data($0.utf8), contentType: "text/plain") }
      return probe
    }
    let bodies: [String?] = ["one", "two", nil, "three"]
    for body in bodies { #expect(try await bench.send(probe(body)).text == body ?? "") }
    async let four = bench.send(probe("four"))
    async let five = bench.send(probe("five"))
    #expect(try await [four.text, five.text] == ["four", "five"])
    #expect(try await bench.send(probe(nil)).isHit)
  }

  /// RFC 9111 §4: of several stored responses, the most recent one.
  @Test(arguments: ["max-age=3600", "max-age=10"])
  func mostRecentResponseIsUsed(_ lifetime: String) async throws {
    let bench = try CacheBench()
    let directives = Locked(lifetime)
    bench.server.route("/a") { _ in
      directives.withLock { .text($0, headers: ["Cache-Control": $0]) }
    }
    #expect(try await bench.send(token: "a").text == lifetime)
    bench.date.advance(by: 20)
    directives.withLock { $0 = "public, max-age=3600" }
    // Stored for all users, unlike the first.
    #expect(try await bench.send(CacheProbe(cacheMode: .reload), token: "a").text == "public, max-age=3600")
    let third = try await bench.send(token: "a")
    #expect(third.isHit && third.text == "public, max-age=3600")
    #expect(bench.cache.statistics.memoryCount == 1)
  }

  @Test func mostRecentResponseOfOtherUserIsUsed() async throws {
    let bench = try CacheBench()
    let directives = Locked("max-age=3600")
    bench.server.route("/a") { _ in
      directives.withLock { .text($0, headers: ["Cache-Control": $0]) }
    }
    #expect(try await bench.send(token: "a").text == "max-age=3600")
    bench.date.advance(by: 20)
    directives.withLock { $0 = "public, max-age=3600" }
    #expect(try await bench.send(token: "b").text == "public, max-age=3600")
    let third = try await bench.send(token: "a")
    #expect(third.isHit && third.text == "public, max-age=3600")
  }

  /// Nothing is sent, not even by a method or with a field that the cache has no response for.
  @Test(arguments: [HTTPMethod.post, .delete, .get, .head])
  func onlyIfCachedIsNeverSent(_ method: HTTPMethod) async throws {
    let bench = try CacheBench()
    bench.answerInTurn(["Cache-Control": "max-age=60"])
    _ = try await bench.send()
    for headers in [[:], ["Cache-Control": "no-store"]] where method != .get && method != .head || !headers.isEmpty {
      let error = await #expect(throws: URLError.self) {
        try await bench.send(CacheProbe(method: method, headers: headers, cacheMode: .onlyIfCached))
      }
      #expect(error?.code == .resourceUnavailable)
    }
    let fields = ["Cache-Control": "only-if-cached", "If-None-Match": "\"mine\""]
    let error = await #expect(throws: HTTPError.self) {
      try await bench.send(CacheProbe(method: method, headers: fields))
    }
    #expect(error?.statusCode == 504)
    #expect(bench.server.requestCount == 1)
  }

  @Test func headDoesNotRenewStoredError() async throws {
    let bench = try CacheBench()
    let isThere = Locked(false)
    bench.server.route("/a") { _ in
      isThere.withLock { .text("", status: $0 ? 200 : 404, headers: ["Cache-Control": "max-age=60"]) }
    }
    await #expect(throws: HTTPError.self) { try await bench.send() }
    bench.date.advance(by: 61)
    isThere.withLock { $0 = true }
    _ = try await bench.send(CacheProbe(method: .head))
    #expect(try await bench.send().status == 200)
  }

  @Test func transportIsLoggedBehindCache() async throws {
    let bench = try CacheBench()
    bench.answerInTurn([:])
    let messages = Locked<[String]>([])
    bench.manager.logHandler = { entry in messages.withLock { $0.append(entry.message) } }
    _ = try await bench.send()
    #expect(messages.withLock { $0.first } == "Transport in use")
  }
}
