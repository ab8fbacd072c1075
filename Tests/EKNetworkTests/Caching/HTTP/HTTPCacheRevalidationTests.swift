import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Stale responses and their revalidation.
struct HTTPCacheRevalidationTests {
  @Test func staleResponseIsRevalidatedInBackground() async throws {
    let bench = try CacheBench()
    bench.answerInTurn(["Cache-Control": "max-age=5, stale-while-revalidate=60"])
    _ = try await bench.send()
    bench.date.advance(by: 10)
    let stale = try await bench.send()
    #expect(stale.text == "1" && stale.isHit && stale.cacheStatus.contains("ttl=-"))
    while bench.cache.statistics.stores < 2 { await Task.yield() }
    let renewed = try await bench.send()
    #expect(renewed.text == "2" && renewed.isHit)
    #expect(bench.server.requestCount == 2)
    // Nobody has waited for the second response of the server.
    #expect(bench.cache.statistics.hits == 2 && bench.cache.statistics.misses == 1)
  }

  /// Neither the response itself, requested before the server no longer let it be stored, nor its confirmation.
  @Test(arguments: [true, false]) func obsoleteResponseIsNotStoredAgain(isConfirmed: Bool) async throws {
    let bench = try CacheBench()
    let (gate, number) = (Gate(), Locked(0))
    bench.server.route("/a") { request in
      guard request.headers["Pragma"] == nil else { return .text("second", headers: ["Cache-Control": "no-store"]) }
      let number = number.withLock { number in
        number += 1
        return number
      }
      guard number == 2 else {
        return .text(number == 1 ? "first" : "third", headers: ["Cache-Control": "max-age=60", "ETag": "\"first\""])
      }
      let fields = "ETag: \"first\"\r\nCache-Control: max-age=60\r\n"
      let late =
        isConfirmed
        ? "HTTP/1.1 304 Not Modified\r\n\(fields)\r\n"
        : "HTTP/1.1 200 OK\r\n\(fields)Content-Length: 5\r\n\r\nfirst"
      return .raw([.wait(gate), .sendString(late)])
    }
    #expect(try await bench.send().text == "first")
    bench.date.advance(by: 61)
    let early = Task { try await bench.send() }
    await bench.server.expectRequests(2)
    #expect(try await bench.send(CacheProbe(cacheMode: .reload)).text == "second")
    gate.open()
    #expect(try await early.value.text == "first")
    #expect(try await bench.send().text == "third")
    // What is requested afterwards is stored.
    #expect(try await bench.send().isHit)
  }

  /// Digest with another nonce, and Basic, which is never sent in advance.
  @Test(.timeLimit(.minutes(5)), arguments: [true, false], [true, false])
  func challengeInBackgroundIsRespondedTo(_ isDigest: Bool, _ hasMiddleware: Bool) async throws {
    let bench = try CacheBench()
    let (nonce, count) = (Locked(1), Locked(0))
    bench.server.route("/a") { request in
      let proof = isDigest ? "nonce=\"\(nonce.withLock { $0 })\"" : "Basic "
      guard request.headers["Authorization"]?.contains(proof) == true else {
        let challenge = isDigest ? "Digest realm=\"r\", qop=\"auth\", \(proof)" : "Basic realm=\"r\""
        return .status(401, headers: ["WWW-Authenticate": challenge])
      }
      let number = count.withLock { count in
        count += 1
        return count
      }
      return .text("\(number)", headers: ["Cache-Control": "max-age=5, stale-while-revalidate=60"])
    }
    if hasMiddleware { bench.manager.attemptMiddleware = [Intercept.adding("key", to: "X-Key")] }
    let probe = CacheProbe(credential: PasswordCredential(user: "u", password: "p"))
    #expect(try await bench.send(probe).text == "1")
    nonce.withLock { $0 = 2 }
    bench.date.advance(by: 10)
    let stale = try await bench.send(probe)
    #expect(stale.text == "1" && stale.isHit)
    while bench.cache.statistics.stores < 2 { await Task.yield() }
    let renewed = try await bench.send(probe)
    #expect(renewed.text == "2" && renewed.isHit)
    #expect(bench.server.requestCount == 4)
    #expect(bench.server.requests.allSatisfy { ($0.headers["X-Key"] != nil) == hasMiddleware })
  }

  /// It is about the credentials of one request, and nobody waits for it: the token is refreshed when a request next needs
  /// the server.
  @Test(.timeLimit(.minutes(5))) func refusalInBackgroundChangesNothing() async throws {
    let bench = try CacheBench()
    let count = Locked(0)
    bench.server.route("/a") { request in
      let isFirst = count.withLock { count in
        count += 1
        return count == 1
      }
      guard isFirst || request.headers["Authorization"] == "Bearer new" else { return .status(401) }
      return .text(isFirst ? "1" : "2", headers: ["Cache-Control": "max-age=5, stale-while-revalidate=60"])
    }
    let tokens = TestTokens("old")
    bench.manager.tokenRefresher = tokens
    let send = { try await bench.manager.send(CacheProbe()) { tokens.current } }
    #expect(try await send().text == "1")
    bench.date.advance(by: 10)
    // Each revalidation begins after the last one has ended.
    while bench.server.requestCount < 3 {
      let stale = try await send()
      #expect(stale.text == "1" && stale.isHit)
    }
    #expect(tokens.count == 0 && bench.cache.statistics.stores == 1)
    bench.date.advance(by: 100)
    #expect(try await send().text == "2")
    #expect(tokens.count == 1)
  }

  /// A challenge may be valid only together with the cookie that came with it. With another cookie the user may be another
  /// one, to whom a 304 would give what is private.
  @Test(.timeLimit(.minutes(5)), arguments: [true, false], [true, false])
  func cookieOfAChallengeInBackgroundIsSent(_ hasMiddleware: Bool, _ isPublic: Bool) async throws {
    let bench = try CacheBench()
    let count = Locked(0)
    let control = (isPublic ? "public, " : "") + "max-age=5, stale-while-revalidate=60"
    bench.server.route("/a") { request in
      let number = count.withLock { count in
        count += 1
        return count
      }
      guard request.headers["Authorization"] != nil else {
        return .status(401, headers: ["WWW-Authenticate": "Basic realm=\"r\"", "Set-Cookie": "n=\(number)"])
      }
      return .text("\(number)", headers: ["Cache-Control": control, "ETag": "\"1\""])
    }
    if hasMiddleware { bench.manager.attemptMiddleware = [Intercept.adding("key", to: "X-Key")] }
    let probe = CacheProbe(credential: PasswordCredential(user: "u", password: "p"))
    #expect(try await bench.send(probe).text == "2")
    bench.date.advance(by: 10)
    #expect(try await bench.send(probe).text == "2")
    while bench.cache.statistics.stores < 2 { await Task.yield() }
    #expect(bench.server.requests.map { $0.headers["Cookie"] } == [nil, "n=1", "n=1", "n=3"])
    let isConditional = bench.server.requests.map { $0.headers["If-None-Match"] != nil }
    #expect(isConditional == [false, false, true, isPublic])
  }

  @Test(.timeLimit(.minutes(5))) func cookieOfMiddlewareStaysAfterAChallengeInBackground() async throws {
    let bench = try CacheBench()
    bench.server.route("/a") { request in
      guard request.headers["Authorization"] != nil else {
        return .status(401, headers: ["WWW-Authenticate": "Basic realm=\"r\"", "Set-Cookie": "n=1"])
      }
      return .text("1", headers: ["Cache-Control": "max-age=5, stale-while-revalidate=60"])
    }
    bench.manager.attemptMiddleware = [
      Intercept { request, _, next in
        var request = request
        request.setValue("own=1", forHTTPHeaderField: "Cookie")
        return try await next(request)
      }
    ]
    let probe = CacheProbe(credential: PasswordCredential(user: "u", password: "p"))
    _ = try await bench.send(probe)
    bench.date.advance(by: 10)
    #expect(try await bench.send(probe).isHit)
    while bench.cache.statistics.stores < 2 { await Task.yield() }
    #expect(bench.server.requests.map { $0.headers["Cookie"] } == Array(repeating: "own=1", count: 4))
  }

  /// Also after a second challenge, although the session had the same cookie at the first.
  @Test(.timeLimit(.minutes(5))) func cookieOfMiddlewareStaysAfterChallengesInBackground() async throws {
    let bench = try CacheBench()
    let count = Locked(0)
    bench.server.route("/a") { _ in
      let number = count.withLock { count in
        count += 1
        return count
      }
      let digest = "Digest realm=\"r\", qop=\"auth\", nonce=\"\(number)\""
      switch number {
      case 1: return .status(401, headers: ["WWW-Authenticate": digest])
      case 3, 4:
        let cookie = number == 3 ? "own=1" : "own=2"
        return .status(401, headers: ["WWW-Authenticate": "\(digest), stale=true", "Set-Cookie": cookie])
      default: return .text("\(number)", headers: ["Cache-Control": "max-age=5, stale-while-revalidate=60"])
      }
    }
    bench.manager.attemptMiddleware = [Intercept.adding("own=1", to: "Cookie")]
    let probe = CacheProbe(credential: PasswordCredential(user: "u", password: "p"))
    _ = try await bench.send(probe)
    bench.date.advance(by: 10)
    #expect(try await bench.send(probe).isHit)
    while bench.cache.statistics.stores < 2 { await Task.yield() }
    #expect(bench.server.requests.map { $0.headers["Cookie"] } == Array(repeating: "own=1", count: 5))
  }

  /// It is about the response that the request has asked for, not about one that was stored meanwhile.
  @Test func confirmationDoesNotBringBackAnEarlierResponse() async throws {
    let bench = try CacheBench()
    let gate = Gate()
    bench.server.route("/a") { request in
      let isReload = request.headers["Pragma"] != nil
      guard !isReload, request.headers["If-None-Match"] != nil else {
        let text = isReload ? "second" : "first"
        return .text(text, headers: ["Cache-Control": "max-age=60", "ETag": "\"\(text)\""])
      }
      return .raw([.wait(gate), .sendString("HTTP/1.1 304 Not Modified\r\nETag: \"first\"\r\n\r\n")])
    }
    #expect(try await bench.send().text == "first")
    bench.date.advance(by: 61)
    let validation = Task { try await bench.send() }
    await bench.server.expectRequests(2)
    bench.date.advance(by: 1)
    #expect(try await bench.send(CacheProbe(cacheMode: .reload)).text == "second")
    gate.open()
    #expect(try await validation.value.text == "first")
    let found = try await bench.send()
    #expect(found.isHit && found.text == "second")
  }

  @Test(.timeLimit(.minutes(10))) func backgroundRequestDoesNotReadForever() async throws {
    let bench = try CacheBench(memory: 100_000)
    bench.server.route(
      "/a", .text("1", headers: ["Cache-Control": "max-age=5, stale-while-revalidate=60"]),
      .streaming(contentLength: 1 << 40, Array(repeating: .send(Data(count: 65_536)), count: 1 << 10) + [.stall])
        .header("Cache-Control", "max-age=5"))
    _ = try await bench.send()
    bench.date.advance(by: 10)
    #expect(try await bench.send().text == "1")
    await bench.server.expectRequests(2)
    #expect(await bench.server.waitForOpenConnections(0))
  }

  /// RFC 9111 §5.2.1.7.
  @Test func onlyIfCachedStartsNoRevalidation() async throws {
    let bench = try CacheBench()
    bench.answerInTurn(["Cache-Control": "max-age=5, stale-while-revalidate=60"])
    _ = try await bench.send()
    bench.date.advance(by: 10)
    let stale = try await bench.send(CacheProbe(headers: ["Cache-Control": "only-if-cached"]))
    #expect(stale.text == "1" && stale.isHit)
    // If a revalidation were running, this request would not start another.
    #expect(try await bench.send().text == "1")
    while bench.cache.statistics.stores < 2 { await Task.yield() }
    #expect(bench.server.requests.map { $0.headers["Cache-Control"] } == [nil, nil])
  }

  @Test(arguments: [("\"v\"", "\"w\""), ("W/\"v\"", "W/\"w\""), ("W/\"v\"", "\"w\"")])
  func notModifiedForOtherETagIsRefetched(stored: String, confirmed: String) async throws {
    let bench = try CacheBench()
    bench.server.route("/a") { request in
      request.headers["If-None-Match"] == nil
        ? .text("\(Int.random(in: 0..<1_000_000))", headers: ["Cache-Control": "max-age=5", "ETag": stored])
        : .status(304, headers: ["ETag": confirmed])
    }
    let first = try await bench.send()
    bench.date.advance(by: 6)
    let second = try await bench.send()
    #expect(second.status == 200 && second.text != first.text)
    #expect(bench.server.requests.map { $0.headers["If-None-Match"] } == [nil, stored, nil])
  }

  /// It is about the password of one request (RFC 7616 §3.5).
  @Test func authenticationInfoOfAConfirmationIsForItsRequestOnly() async throws {
    let bench = try CacheBench()
    bench.server.route("/a") { request in
      request.headers["If-None-Match"] == nil
        ? .text("1", headers: ["Cache-Control": "max-age=5", "ETag": "\"v\""])
        : .status(304, headers: ["ETag": "\"v\"", "Authentication-Info": "rspauth=\"1\""])
    }
    _ = try await bench.send()
    bench.date.advance(by: 6)
    #expect(try await bench.send().fields["Authentication-Info"] == "rspauth=\"1\"")
    let hit = try await bench.send()
    #expect(hit.isHit && hit.fields["Authentication-Info"] == nil)
    #expect(bench.server.requestCount == 2)
  }

  /// RFC 7616 §3.4: no number is used twice with a nonce.
  @Test func passwordIsProvenOnceMoreForTheOtherVersion() async throws {
    let bench = try CacheBench()
    bench.server.route("/a") { request in
      guard request.headers["Authorization"] != nil else {
        return .status(401, headers: ["WWW-Authenticate": "Digest realm=\"r\", qop=\"auth\", nonce=\"n\""])
      }
      return request.headers["If-None-Match"] == nil
        ? .text("1", headers: ["Cache-Control": "max-age=5", "ETag": "\"v\""])
        : .status(304, headers: ["ETag": "\"w\""])
    }
    let probe = CacheProbe(credential: PasswordCredential(user: "u", password: "p"))
    _ = try await bench.send(probe)
    bench.date.advance(by: 6)
    #expect(try await bench.send(probe).text == "1")
    let counts = bench.server.requests.map { request in
      AuthenticationChallenge.all(in: request.headers["Authorization"] ?? "").first?.parameters["nc"]
    }
    #expect(counts == [nil, "00000001", "00000002", "00000003"])
  }

  /// RFC 9111 §4.3.4.
  @Test(arguments: [
    ["Last-Modified": "Mon, 01 Jan 2024 00:00:01 GMT"], ["ETag": "\"v\""],
  ])
  func notModifiedForOtherVersionIsRefetched(_ confirmed: [String: String]) async throws {
    let bench = try CacheBench()
    let stored = ["Cache-Control": "max-age=5", "Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT"]
    let count = Locked(0)
    bench.server.route("/a") { request in
      guard request.headers["If-Modified-Since"] == nil else {
        return confirmed.reduce(.status(304)) { $0.header($1.key, $1.value) }
      }
      count.withLock { $0 += 1 }
      return stored.reduce(.text("\(count.withLock { $0 })")) { $0.header($1.key, $1.value) }
    }
    _ = try await bench.send()
    bench.date.advance(by: 6)
    #expect(try await bench.send().text == "2")
    #expect(bench.server.requestCount == 3)
  }

  /// Stale on arrival, and without a validator.
  @Test(arguments: [
    ["Cache-Control": "max-age=0, stale-while-revalidate=600"],
    ["Cache-Control": "max-age=60, stale-while-revalidate=600", "Age": "120"],
  ])
  func staleOnArrivalIsUsedWhileItIsRevalidated(_ fields: [String: String]) async throws {
    let bench = try CacheBench()
    bench.answerInTurn(fields)
    _ = try await bench.send()
    let stale = try await bench.send()
    #expect(stale.text == "1" && stale.isHit)
    while bench.cache.statistics.stores < 2 { await Task.yield() }
  }

  @Test(arguments: [
    (CacheMode.default, "max-age=0, stale-if-error=60"), (.forceCache, "max-age=0"), (.onlyIfCached, "max-age=0"),
  ])
  func staleOnArrivalIsUsedIfTheServerFails(_ mode: CacheMode, _ control: String) async throws {
    let bench = try CacheBench()
    bench.server.route("/a", .text("1", headers: ["Cache-Control": control]), .status(503))
    _ = try await bench.send()
    #expect(try await bench.send(CacheProbe(cacheMode: mode)).text == "1")
    #expect(bench.server.requestCount == (mode == .default ? 2 : 1))
  }

  @Test func spaceInDirectiveMakesTheResponseStale() async throws {
    let bench = try CacheBench()
    let modified = "Mon, 01 Jan 2024 00:00:00 GMT"
    bench.answerInTurn(["Cache-Control": "max-age =0", "Last-Modified": modified])
    _ = try await bench.send()
    #expect(try await bench.send().text == "2")
    #expect(bench.server.requests.last?.headers["If-Modified-Since"] == modified)
  }

  /// A part that is called the whole is not used for the next request.
  @Test func mislabelledPartIsNotStored() async throws {
    let bench = try CacheBench()
    bench.server.route("/a") { request in
      request.headers["Range"] == nil
        ? .text("0123456789", headers: ["Cache-Control": "max-age=60"])
        : .text("56789", headers: ["Cache-Control": "max-age=60", "Content-Range": "bytes 5-9/10"])
    }
    #expect(try await bench.send(CacheProbe(headers: ["Range": "bytes=5-"])).text == "56789")
    #expect(try await bench.send().text == "0123456789")
  }

  /// For example, a proxy that starts or stops encoding the body.
  @Test(arguments: [("\"v\"", "W/\"v\""), ("W/\"v\"", "\"v\"")])
  func weakAndStrongTagsMatch(stored: String, confirmed: String) async throws {
    let bench = try CacheBench()
    bench.server.route("/a") { request in
      request.headers["If-None-Match"] == nil
        ? .text("body", headers: ["Cache-Control": "max-age=5", "ETag": stored])
        : .status(304, headers: ["ETag": confirmed])
    }
    _ = try await bench.send()
    bench.date.advance(by: 6)
    #expect(try await bench.send().text == "body")
    #expect(bench.server.requestCount == 2)
  }

  /// Range requests alone renew a stale response, too.
  @Test(arguments: [true, false]) func rangeOfStaleResponseIsRevalidated(inTheBackground: Bool) async throws {
    let bench = try CacheBench()
    let control = "max-age=5" + (inTheBackground ? ", stale-while-revalidate=60" : "")
    bench.server.route("/a") { request in
      request.headers["If-None-Match"] == "\"v\""
        ? .status(304, headers: ["Cache-Control": control, "ETag": "\"v\""])
        : .text("0123456789", headers: ["Cache-Control": control, "ETag": "\"v\""])
    }
    _ = try await bench.send()
    bench.date.advance(by: 6)
    let part = CacheProbe(headers: ["Range": "bytes=2-4"])
    let stale = try await bench.send(part)
    #expect(stale.status == 206 && stale.text == "234" && stale.isHit == inTheBackground)
    var fresh = try await bench.send(part)
    while fresh.cacheStatus.contains("ttl=-") { fresh = try await bench.send(part) }
    #expect(
      fresh.text == "234" && fresh.isHit && fresh.cacheStatus.contains("ttl=") && !fresh.cacheStatus.contains("ttl=-"))
    #expect(bench.server.requests.map { $0.headers["Range"] } == [nil, "bytes=2-4"])
    #expect(bench.cache.statistics.validations == (inTheBackground ? 0 : 1))
  }

  @Test func rangeOfOtherVersionComesFromServer() async throws {
    let bench = try CacheBench()
    bench.server.route("/a") { request in
      request.headers["Range"] == nil
        ? .text("0123456789", headers: ["Cache-Control": "max-age=5", "ETag": "\"v\""])
        : .text("CDE", status: 206, headers: ["Content-Range": "bytes 2-4/10", "ETag": "\"w\""])
    }
    _ = try await bench.send()
    bench.date.advance(by: 6)
    let part = try await bench.send(CacheProbe(headers: ["Range": "bytes=2-4"]))
    #expect(part.status == 206 && part.text == "CDE" && !part.isHit)
    #expect(bench.server.requests.last?.headers["If-None-Match"] == "\"v\"")
  }

  /// A custom session follows redirects itself: its response does not tell how long they are valid.
  @Test func responseRedirectedBySessionIsNotStored() async throws {
    let bench = try CacheBench()
    let target = Locked("/one")
    bench.server.route("/a") { _ in .redirect(to: target.withLock { $0 }, status: 302) }
    for path in ["/one", "/two"] {
      bench.server.route(path) { _ in .text(path, headers: ["Cache-Control": "max-age=31536000, immutable"]) }
    }
    let manager = NetworkManager(baseURL: bench.server.url("/"), session: FollowingSession())
    manager.httpCache = bench.cache
    #expect(try await manager.send(CacheProbe()).text == "/one")
    target.withLock { $0 = "/two" }
    #expect(try await manager.send(CacheProbe()).text == "/two")
    #expect(try await manager.send(CacheProbe(path: "/two")).isHit == false)
    #expect(try await manager.send(CacheProbe(path: "/two")).isHit)
  }

  private struct FollowingSession: URLSessionProtocol {
    func data(for request: URLRequest) async throws -> (Data, URLResponse) {
      try await URLSession.shared.data(for: request)
    }
  }
}
