import LoopbackServer
import Testing

@testable import EKNetwork

/// What a server has sent to one user does not reach another through the cache.
struct CacheIdentityTests {
  struct Case: CustomTestStringConvertible, Sendable {
    /// The users of the first request, of the one that the server confirms, and of the one after it.
    var users = ["", "alice", "bob"]
    /// The fields of the whole response, and of the confirmation.
    var whole: [String: String]
    var confirmation: [String: String]
    var method = HTTPMethod.get
    var testDescription: String { "\(users) \(whole) \(method) \(confirmation)" }
  }

  private static let confirmations: [[String: String]] = [
    ["Cache-Control": "max-age=60, private"], ["Cache-Control": "max-age=60"], [:],
    ["Cache-Control": "public, max-age=60", "Vary": "Cookie"],
  ]

  static let cases = ["no-cache", "max-age=0", "public, max-age=0"].flatMap { control in
    confirmations.flatMap { confirmation in
      [HTTPMethod.get, .head].flatMap { method in
        [["", "alice", "bob"], ["alice", "bob", "carol"], ["", "alice", ""]].map { users in
          Case(
            users: users, whole: ["Cache-Control": control, "ETag": "\"v\""], confirmation: confirmation, method: method
          )
        }
      }
    }
  }

  @Test(arguments: cases) func confirmationStaysWithItsUser(_ test: Case) async throws {
    let bench = try CacheBench()
    bench.server.route("/a") { request in
      let user = request.headers["Cookie"] ?? "nobody"
      let isWhole = request.method == "GET" && request.headers["If-None-Match"] == nil
      if isWhole { return test.whole.reduce(.text("whole")) { $0.header($1.key, $1.value) } }
      var fields = ["X-Account": user, "Set-Cookie": "session=\(user); Path=/elsewhere", "ETag": "\"v\""]
      fields.merge(test.confirmation) { $1 }
      return fields.reduce(request.method == "HEAD" ? .text("whole") : .status(304)) { $0.header($1.key, $1.value) }
    }
    func send(_ user: String, _ method: HTTPMethod = .get) async throws -> [String: String] {
      let cookie = user.isEmpty ? nil : ["Cookie": user]
      let response = try await bench.send(CacheProbe(method: method, headers: cookie))
      #expect(response.status == 200 && response.text == (method == .get ? "whole" : ""))
      return response.fields
    }
    _ = try await send(test.users[0])
    let own = try await send(test.users[1], test.method)
    #expect([nil, test.users[1]].contains(own["X-Account"]))
    for user in [test.users[2], test.users[1], test.users[0]] {
      let fields = try await send(user)
      let name = user.isEmpty ? "nobody" : user
      // What was sent to nobody in particular is nobody's own.
      #expect([nil, "nobody", name].contains(fields["X-Account"]))
      #expect(fields["Set-Cookie"]?.hasPrefix("session=\(name);") ?? true)
    }
  }

  /// RFC 9111 §3.1: all fields are stored. A cookie that is set for nobody in particular is for the session that has
  /// received it, neither for another of the same cache nor for a user with a cookie.
  @Test(arguments: ["max-age=60", "no-cache"]) func cookieIsForItsReceiver(_ control: String) async throws {
    let bench = try CacheBench()
    bench.server.route("/a") { request in
      guard request.headers["If-None-Match"] == nil else { return .status(304, headers: ["ETag": "\"v\""]) }
      return .text(
        "whole", headers: ["Cache-Control": control, "ETag": "\"v\"", "Set-Cookie": "session=1; Path=/elsewhere"])
    }
    #expect(try await bench.send().fields["Set-Cookie"] != nil)
    #expect(try await bench.send().fields["Set-Cookie"] != nil)
    let other = Wire.automatic.manager(bench.server)
    other.httpCache = bench.cache
    #expect(try await other.send(CacheProbe()).fields["Set-Cookie"] == nil)
    let user = try await bench.send(CacheProbe(headers: ["Cookie": "user=alice"]))
    #expect(user.text == "whole" && user.fields["Set-Cookie"] == nil)
    #expect(bench.server.requestCount == (control == "no-cache" ? 4 : 1))
  }

  /// The session that has sent the request has their cookies.
  @Test(arguments: ["no-store", "max-age=60"])
  func responseItselfIsForItsSession(_ control: String) async throws {
    let bench = try CacheBench()
    let (gate, number) = (Gate(), Locked(0))
    bench.server.route("/b") { _ in .text("") }
    bench.server.route("/a") { _ in
      gate.waitBlocking()
      let id = number.withLock { number in
        number += 1
        return number
      }
      return .text("\(id)", headers: ["Cache-Control": control, "Set-Cookie": "session=\(id)"])
    }
    let managers = (0..<8).map { _ in Wire.automatic.manager(bench.server) }
    for manager in managers { manager.httpCache = bench.cache }
    let tasks = managers.map { manager in Task { try await manager.send(CacheProbe()) } }
    await bench.server.expectRequests(1)
    while bench.cache.flights.waiting < managers.count { await Task.yield() }
    gate.open()
    var cookies: [String] = []
    for task in tasks {
      let response = try await task.value
      guard let cookie = response.fields["Set-Cookie"] else { continue }
      cookies.append(cookie)
      #expect(cookie == "session=\(response.text)")
    }
    #expect(cookies.count == (control == "no-store" ? managers.count : 1))
    // The cookie that a session sends next is that of the response that it has received.
    for (manager, task) in zip(managers, tasks) {
      let text = try await task.value.text
      let cookie = try await task.value.fields["Set-Cookie"].map { _ in "session=\(text)" }
      _ = try await manager.send(CacheProbe(path: "/b"))
      #expect(bench.server.requests(path: "/b").last?.header("Cookie") == cookie)
    }
  }

  /// RFC 9111 §4.1: the fields that `Vary` names are those of the latest response.
  @Test(arguments: [HTTPMethod.get, .head], ["public, max-age=60", "max-age=60"])
  func confirmationMayNameOtherFields(_ method: HTTPMethod, _ control: String) async throws {
    let bench = try CacheBench()
    bench.server.route("/a") { request in
      let isWhole = request.method == "GET" && request.headers["If-None-Match"] == nil
      let response: LoopbackServer.Response = request.method == "GET" && !isWhole ? .status(304) : .text("whole")
      guard !isWhole else { return response.header("Cache-Control", "public, max-age=0").header("ETag", "\"v\"") }
      return response.header("Cache-Control", control).header("ETag", "\"v\"").header("Vary", "X-Tenant")
        .header("X-Account", request.headers["X-Tenant"] ?? "")
    }
    func send(_ tenant: String, _ method: HTTPMethod = .get) async throws -> CacheProbe.Response {
      try await bench.send(CacheProbe(method: method, headers: ["X-Tenant": tenant]))
    }
    _ = try await send("a")
    _ = try await send("a", method)
    let again = try await send("a")
    #expect(again.isHit && again.fields["X-Account"] == "a")
    #expect(try await send("b").fields["X-Account"] ?? "b" == "b")
  }

  @Test(arguments: ["*", "Accept, *"]) func confirmationMayForbidReuse(_ vary: String) async throws {
    let bench = try CacheBench()
    bench.server.route("/a") { request in
      request.headers["If-None-Match"] == nil
        ? .text("whole", headers: ["Cache-Control": "no-cache", "ETag": "\"v\""])
        : .status(304, headers: ["Cache-Control": "max-age=60", "ETag": "\"v\"", "Vary": vary])
    }
    for _ in 0..<3 { #expect(try await !bench.send().isHit) }
    #expect(bench.cache.statistics.stores == 2)
  }

  /// The digests of secrets in the directory are of no use without the salt.
  @Test func filesContainNoPlainDigests() async throws {
    let folder = try ScratchFolder()
    let server = try LoopbackServer()
    server.route("/a") { _ in
      .text("text", headers: ["Cache-Control": "max-age=60", "Vary": "Authorization, X-Api-Key"])
    }
    func send() async throws -> (CacheProbe.Response, HTTPCache) {
      let manager = Wire.automatic.manager(server)
      let cache = HTTPCache(directory: folder.url)
      manager.httpCache = cache
      let probe = CacheProbe(headers: ["X-Api-Key": "secret", "Cookie": "alice"])
      return (try await manager.send(probe, accessToken: { "token" }), cache)
    }
    let (first, _) = try await send()
    #expect(!first.isHit)
    func contents(_ folder: URL) -> [URL] {
      let items = try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil, options: [])
      return (items ?? []).flatMap { [$0] + contents($0) }
    }
    let files = contents(folder.url)
    let names = files.map(\.lastPathComponent)
    #expect(names.filter { $0 == "salt" }.count == 1)
    let all = files.compactMap { try? Data(contentsOf: $0) }.reduce(Data(), +)
    let credentials = "authorization:Bearer token\nx-api-key:secret\n"
    for secret in ["Bearer token", "secret", "alice", credentials] {
      #expect(all.range(of: Data(RequestIdentity.digest(secret).utf8)) == nil, "\(secret)")
    }
    let (second, cache) = try await send()
    #expect(second.isHit)
    // The salt stays, or another process could not find what this one stores.
    let salt = cache.salt
    await cache.removeAll()
    #expect(HTTPCache(directory: folder.url).salt == salt)
    #expect(try await !send().0.isHit)
  }
}
