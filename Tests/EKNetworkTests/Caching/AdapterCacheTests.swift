import LoopbackServer
import Testing

@testable import EKNetwork

/// The documented caching rules, and the isolation of users.
struct AdapterCacheTests {
  private let server: LoopbackServer
  private let cache = URLCache(memoryCapacity: 4_000_000, diskCapacity: 0)
  private let client: PrismNetworkAdapter

  init() throws {
    server = try LoopbackServer()
    client = .forTests(cache: cache)
    server.countTeapots()
  }

  private func kept(_ change: (inout LocalEndpoint) -> Void = { _ in }) -> LocalRequest<Teapot> {
    server.teapot {
      $0.cacheInterval = 60
      change(&$0)
    }
  }

  @Test func freshEntryIsServed() async throws {
    for _ in 1...3 { #expect(try await client.request(on: kept()).id == 1) }
    #expect(server.requestCount == 1)
  }

  @Test func adapterWithoutCacheCreatesItsOwn() async throws {
    let client = PrismNetworkAdapter.forTests()
    for _ in 1...2 { #expect(try await client.request(on: kept()).id == 1) }
    #expect(try await PrismNetworkAdapter.forTests().request(on: kept()).id == 2)
  }

  @Test(arguments: [nil, 0, -5, Double.nan]) func withoutIntervalNothingIsStored(_ interval: Double?) async throws {
    for number in 1...2 { #expect(try await client.request(on: kept { $0.cacheInterval = interval }).id == number) }
    #expect(cache.cachedResponse(for: try kept().endpoint.request) == nil)
  }

  /// The key does not depend on what a streamed body contains.
  @Test func streamedBodyBypassesCache() async throws {
    struct Search: PrismNetworkEndpoint {
      let scheme = PrismNetworkScheme.http
      let host = "127.0.0.1"
      let port: Int?
      let path = "/item"
      let method = PrismNetworkMethod.get
      let queryItems: [URLQueryItem]? = nil
      let headers: [String: String] = [:]
      let cacheInterval: TimeInterval? = 60
      let form: PrismMultipartFormData
      var body: (any Encodable)? { form }
    }
    struct Find: PrismNetworkRequest {
      typealias Response = Teapot
      let endpoint: Search
    }
    let empty = PrismMultipartFormData()
    for number in 1...2 {
      var form = empty
      form.append(string: "\(number)", name: "q")
      let request = Find(endpoint: Search(port: server.port, form: form))
      #expect(try await client.request(on: request).id == number)
      await #expect(throws: PrismNetworkError.noCache) { _ = try await client.cachedResponse(on: request) }
    }
  }

  @Test(arguments: [PrismNetworkMethod.post, .put, .patch, .delete])
  func otherMethodsBypassCache(_ method: PrismNetworkMethod) async throws {
    _ = try await client.request(on: kept())
    for number in 2...3 { #expect(try await client.request(on: kept { $0.method = method }).id == number) }
    #expect(try await client.request(on: kept()).id == 1)
  }

  @Test func storedEntryCarriesExpiration() async throws {
    let before = Date().timeIntervalSince1970
    _ = try await client.request(on: kept())
    let entry = try #require(cache.cachedResponse(for: try kept().endpoint.request))
    let expiration = try #require(entry.userInfo?["prism.network.cache.expiration"] as? Double)
    #expect(expiration >= before + 60 && expiration <= Date().timeIntervalSince1970 + 60)
    #expect(try JSONDecoder().decode(Teapot.self, from: entry.data).id == 1)
    #expect((entry.response as? HTTPURLResponse)?.statusCode == 200)
  }

  @Test func expiredEntryIsFetchedAgain() async throws {
    let now = Locked(Date())
    let client = PrismNetworkAdapter.forTests(cache: cache, now: { now.withLock { $0 } })
    #expect(try await client.request(on: kept()).id == 1)
    now.withLock { $0 += 59 }
    #expect(try await client.request(on: kept()).id == 1)
    now.withLock { $0 += 2 }
    #expect(try await client.request(on: kept()).id == 2)
  }

  @Test func externallyStoredEntryServesAnonymousRequests() async throws {
    try plant(#"{"id":50,"name":"a"}"#, expires: 100)
    #expect(try await client.request(on: kept()).id == 50)
    try plant(#"{"id":51,"name":"a"}"#, expires: -1)
    #expect(try await client.request(on: kept()).id == 1)
    try plant(#"{"id":50,"name":"a"}"#, expires: 100)
    #expect(try await client.request(on: kept { $0.queryItems = [URLQueryItem(name: "a", value: "b")] }).id == 2)
    #expect(try await client.request(on: kept { $0.headers = ["Authorization": "Bearer x"] }).id == 3)
    // The owner of the entry is unknown: a session with credentials does not get it.
    try plant(#"{"id":50,"name":"a"}"#, expires: 100)
    let anna = PrismNetworkAdapter.forTests(
      cache: cache, configure: { $0.httpAdditionalHeaders = ["Authorization": "Bearer anna"] })
    #expect(try await anna.request(on: kept()).id == 4)
  }

  /// Foundation's session would serve from it by itself, regardless of query and token.
  @Test(arguments: [TransportChoice.automatic, .urlSession])
  func configurationCacheIsNotUsed(_ transport: TransportChoice) async throws {
    try plant(#"{"id":50,"name":"a"}"#, expires: 100)
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = cache
    configuration.timeoutIntervalForRequest = 600
    let client = PrismNetworkAdapter(configuration: configuration, transport: transport)
    #expect(try await client.request(on: server.teapot()).id == 1)
    #expect(try await client.request(on: kept()).id == 2)
    #expect(configuration.urlCache === cache, "the caller's configuration is left as it is")
  }

  @Test func undecodableEntryIsReplaced() async throws {
    try plant("no json", expires: 100)
    #expect(try await client.request(on: kept()).id == 1)
    let entry = try #require(cache.cachedResponse(for: try kept().endpoint.request))
    #expect(try JSONDecoder().decode(Teapot.self, from: entry.data).id == 1)
  }

  @Test func undecodableAndErrorResponsesAreNotStored() async throws {
    server.route("/item") { _ in .text("no json") }
    await #expect(throws: PrismNetworkError.invalidResponse) { _ = try await client.request(on: kept()) }
    #expect(cache.cachedResponse(for: try kept().endpoint.request) == nil)
    server.route("/item") { _ in .json(Teapot(id: 1), status: 500) }
    await #expect(throws: PrismNetworkError.serverError) { _ = try await client.request(on: kept()) }
    #expect(cache.cachedResponse(for: try kept().endpoint.request) == nil)
  }

  @Test func eachPageOfListIsStored() async throws {
    func page(_ number: Int) -> LocalRequest<Teapot> {
      kept { $0.queryItems = [URLQueryItem(name: "page", value: "\(number)")] }
    }
    for number in 1...5 { #expect(try await client.request(on: page(number)).id == number) }
    for _ in 1...2 {
      for number in [3, 1, 5, 2, 4] { #expect(try await client.request(on: page(number)).id == number) }
    }
    #expect(server.requestCount == 5)
    cache.removeAllCachedResponses()
    #expect(try await client.request(on: page(1)).id == 6)
  }

  @Test func usersDoNotShareEntries() async throws {
    server.route("/item") { request in
      .json(Teapot(id: request.header("Authorization") == "Bearer anna" ? 1 : 2, name: request.header("Cookie") ?? ""))
    }
    func asUser(_ name: String) -> LocalRequest<Teapot> { kept { $0.headers = ["Authorization": "Bearer \(name)"] } }
    for _ in 1...3 {
      #expect(try await client.request(on: asUser("anna")).id == 1)
      #expect(try await client.request(on: asUser("berta")).id == 2)
    }
    #expect(server.requestCount == 2)
    // Session-level tokens, with adapters that share a cache.
    let anna = PrismNetworkAdapter.forTests(
      cache: cache, configure: { $0.httpAdditionalHeaders = ["Authorization": "Bearer anna"] })
    let berta = PrismNetworkAdapter.forTests(
      cache: cache, configure: { $0.httpAdditionalHeaders = ["Authorization": "Bearer berta"] })
    #expect(try await anna.request(on: kept()).id == 1)
    #expect(try await berta.request(on: kept()).id == 2)
    #expect(try await anna.request(on: kept()).id == 1)
    // Session cookies.
    for name in ["anna", "berta"] {
      let storage = try #require(URLSessionConfiguration.ephemeral.httpCookieStorage)
      let cookie = HTTPCookie(properties: [.name: "sid", .value: name, .domain: "127.0.0.1", .path: "/"])
      storage.setCookie(try #require(cookie))
      let client = PrismNetworkAdapter.forTests(cache: cache, configure: { $0.httpCookieStorage = storage })
      #expect(try await client.request(on: kept()).name == "sid=\(name)")
    }
  }

  @Test func acceptSeparatesEntries() async throws {
    #expect(try await client.request(on: kept { $0.headers = ["Accept": "a/b"] }).id == 1)
    #expect(try await client.request(on: kept { $0.headers = ["Accept": "c/d"] }).id == 2)
    #expect(try await client.request(on: kept { $0.headers = ["accept": "a/b"] }).id == 1)
  }

  @Test func noStoreResponseIsNotStored() async throws {
    server.route("/item", .json(Teapot(id: 1), headers: ["Cache-Control": "no-store"]), .json(Teapot(id: 2)))
    #expect(try await client.request(on: kept()).id == 1)
    #expect(try await client.request(on: kept()).id == 2)
  }

  @Test func cachedResponseIsServedOffline() async throws {
    await #expect(throws: PrismNetworkError.noCache) { _ = try await client.cachedResponse(on: kept()) }
    _ = try await client.request(on: kept())
    server.stop()
    #expect(try await client.cachedResponse(on: kept()).id == 1)
  }

  /// It may be older than the reason for the removal, or belong to a user who has signed out.
  @Test(arguments: [false, true], [false, true])
  func responseRequestedBeforeRemovalIsNotStored(removesAll: Bool, hasMiddleware: Bool) async throws {
    let gate = Gate()
    server.route("/item") { _ in
      gate.waitBlocking()
      return .json(Teapot(id: 1))
    }
    if hasMiddleware { client.middleware = [Intercept { request, _, next in try await next(request) }] }
    let early = Task { [client, request = kept()] in try await client.request(on: request, policy: .networkOnly) }
    await server.expectRequests(1)
    if removesAll {
      // Of all the adapters that share the cache.
      PrismNetworkAdapter.forTests(cache: cache).removeAllCachedResponses()
    } else {
      try await client.removeCachedResponse(on: kept())
    }
    gate.open()
    #expect(try await early.value.id == 1)
    await #expect(throws: PrismNetworkError.noCache) { _ = try await client.cachedResponse(on: kept()) }
    // What is requested afterwards is stored.
    #expect(try await client.request(on: kept()).id == 1)
    #expect(try await client.cachedResponse(on: kept()).id == 1)
    #expect(server.requestCount == 2)
  }

  /// Neither that of another response nor one from another cache.
  @Test func otherRemovalsDoNotPreventStoring() async throws {
    let gate = Gate()
    server.route("/item") { _ in
      gate.waitBlocking()
      return .json(Teapot(id: 1))
    }
    let early = Task { [client, request = kept()] in try await client.request(on: request) }
    await server.expectRequests(1)
    try await client.removeCachedResponse(on: kept { $0.path = "/other" })
    let other = PrismNetworkAdapter.forTests()
    try await other.removeCachedResponse(on: kept())
    other.removeAllCachedResponses()
    gate.open()
    #expect(try await early.value.id == 1)
    #expect(try await client.cachedResponse(on: kept()).id == 1)
  }

  @Test func diskCacheServesOtherAdapters() async throws {
    let disk = URLCache(memoryCapacity: 0, diskCapacity: 4_000_000)
    let other = URLCache(memoryCapacity: 0, diskCapacity: 4_000_000)
    for _ in 1...2 {
      #expect(try await PrismNetworkAdapter.forTests(cache: disk).request(on: kept()).id == 1)
    }
    #expect(try await PrismNetworkAdapter.forTests(cache: other).request(on: kept()).id == 2)
    for number in [3, 4, 3, 4] {
      let page = kept { $0.queryItems = [URLQueryItem(name: "page", value: "\(number)")] }
      #expect(try await PrismNetworkAdapter.forTests(cache: disk).request(on: page).id == number)
    }
    disk.removeAllCachedResponses()
  }

  #if os(Linux)
    @Test func diskDirectoryIsPrivate() throws {
      let temporary = FileManager.default.temporaryDirectory.path
      let own = "EKNetwork-URLCache-\(getpid())-"
      _ = URLCache(memoryCapacity: 0, diskCapacity: 1_000)
      let names = try FileManager.default.contentsOfDirectory(atPath: temporary).filter { $0.hasPrefix(own) }
      let directory = temporary + "/" + (try #require(names.first))
      #expect(names.count == 1)
      let attributes = try FileManager.default.attributesOfItem(atPath: directory)
      #expect(attributes[.posixPermissions] as? Int == 0o700)
      let before = try FileManager.default.contentsOfDirectory(atPath: directory)
      _ = URLCache(memoryCapacity: 0, diskCapacity: 1_000)
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory).count > before.count)
    }

    enum Leftover: CaseIterable, Sendable {
      case released, locked, withoutLock, readableByOthers, ofAnotherUser, linked, linkedLock, file
    }

    /// Anybody may put something into the temporary directory under the name of a cache.
    @Test(arguments: Leftover.allCases) func onlyOwnUnusedDirectoriesAreRemoved(_ leftover: Leftover) throws {
      let (temporary, elsewhere) = (try ScratchFolder(), try ScratchFolder())
      try elsewhere.file("precious", Data([1]))
      var parent = CacheDirectories.makeParent(in: temporary.url)
      let url = try #require(parent?.url)
      #expect(parent?.lock != nil)
      for name in ["a", "a/b"] {
        try FileManager.default.createDirectory(
          at: url.appendingPathComponent(name), withIntermediateDirectories: false)
      }
      try Data([1]).write(to: url.appendingPathComponent("a/b/file"))
      for (name, target) in [("link", "precious"), ("a/folder", "")] {
        try FileManager.default.createSymbolicLink(
          at: url.appendingPathComponent(name), withDestinationURL: elsewhere[target])
      }
      if leftover != .locked { parent = nil }
      let lock = url.appendingPathComponent(CacheDirectories.lockName)
      switch leftover {
      case .released, .locked: break
      case .withoutLock: unlink(lock.path)
      case .readableByOthers: chmod(url.path, 0o750)
      case .ofAnotherUser:
        if geteuid() != 0 { try Test.cancel("only root can give a directory away") }
        chown(url.path, 12_345, gid_t.max)
      case .linked:
        try FileManager.default.moveItem(at: url, to: elsewhere["moved"])
        try FileManager.default.createSymbolicLink(at: url, withDestinationURL: elsewhere["moved"])
      case .linkedLock:
        unlink(lock.path)
        try FileManager.default.createSymbolicLink(at: lock, withDestinationURL: elsewhere["precious"])
      case .file:
        try FileManager.default.removeItem(at: url)
        try Data([1]).write(to: url)
      }
      CacheDirectories.removeThoseLeftBehind(in: temporary.url)
      #expect(temporary.names.isEmpty == (leftover == .released))
      #expect(elsewhere.names.contains("precious"))
      if leftover == .linked { #expect(FileManager.default.fileExists(atPath: elsewhere["moved/a/b/file"].path)) }
      withExtendedLifetime(parent) {}
    }

    /// The lock of a directory is held as long as the process lives: another process does not remove it.
    @Test func directoryOfARunningProcessIsKept() throws {
      let cache = URLCache(memoryCapacity: 0, diskCapacity: 1_000)
      CacheDirectories.removeThoseLeftBehind(in: FileManager.default.temporaryDirectory)
      let own = "EKNetwork-URLCache-\(getpid())-"
      let names = try FileManager.default.contentsOfDirectory(atPath: FileManager.default.temporaryDirectory.path)
      #expect(names.contains { $0.hasPrefix(own) })
      withExtendedLifetime(cache) {}
    }
  #endif

  /// Replacing and evicting entries concurrently crashes a careless implementation.
  @Test(arguments: [(20_000, 0), (20_000, 60_000), (0, 60_000)])
  func concurrentStoresRespectCapacity(_ memory: Int, _ disk: Int) async throws {
    let little = URLCache(memoryCapacity: memory, diskCapacity: disk)
    let clients = (1...2).map { _ in PrismNetworkAdapter.forTests(cache: little) }
    server.fallback = { request in .json(Teapot(id: 1, name: String(repeating: request.path, count: 100))) }
    try await withThrowingTaskGroup { group in
      for task in 0..<4 {
        group.addTask {
          for index in 0..<40 {
            let page = kept {
              $0.path = "/p\((index + task) % 7)"
              $0.queryItems = [URLQueryItem(name: "q", value: "\(index % 3)")]
            }
            let policy = index % 2 == 0 ? PrismCachePolicy.networkOnly : .cacheFirst
            let teapot = try await clients[task % 2].request(on: page, policy: policy)
            #expect(teapot.name.hasSuffix("/p\((index + task) % 7)"))
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(little.currentMemoryUsage <= memory)
    #expect(little.currentDiskUsage <= disk)
    little.removeAllCachedResponses()
  }

  private func plant(_ body: String, expires: TimeInterval) throws {
    let request = try kept().endpoint.request
    let url = try #require(request.url)
    let response = try #require(HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil))
    cache.removeCachedResponse(for: request)
    cache.storeCachedResponse(
      CachedURLResponse(
        response: response, data: Data(body.utf8),
        userInfo: ["prism.network.cache.expiration": Date().timeIntervalSince1970 + expires], storagePolicy: .allowed),
      for: request)
  }
}
