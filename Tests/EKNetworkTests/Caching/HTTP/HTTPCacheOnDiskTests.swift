import LoopbackServer
import Testing

@testable import EKNetwork

struct HTTPCacheOnDiskTests {
  private let folder: ScratchFolder
  private let server: LoopbackServer
  private let date = TestDate()

  init() throws {
    folder = try ScratchFolder()
    server = try LoopbackServer()
    server.fallback = { request in
      let size = Int(request.path.split(separator: "/").last ?? "") ?? 10
      guard request.headers["If-None-Match"] == nil else {
        return .status(304, headers: ["Cache-Control": "max-age=60", "ETag": "\"v\"", "A": "new"])
      }
      return .data(
        .noise(size),
        headers: ["Cache-Control": "max-age=60", "ETag": "\"v\"", "A": "old", "Set-Cookie": "session=s3cret; Path=/x"])
    }
  }

  private func bench(disk: Int = 100_000_000, memory: Int = 1_000_000) -> (NetworkManager, HTTPCache) {
    let cache = HTTPCache(memoryCapacity: memory, directory: folder.url, diskCapacity: disk, now: date.now)
    let manager = Wire.automatic.manager(server)
    manager.httpCache = cache
    return (manager, cache)
  }

  private func files() -> [String] {
    let root = "EKNetworkHTTPCache-1"
    func names(_ path: String) -> [String] {
      let names = try? FileManager.default.contentsOfDirectory(atPath: folder[path].path)
      return (names ?? []).map { "\(path)/\($0)" }
    }
    return names(root).flatMap(names).sorted()
  }

  private func read(_ manager: NetworkManager, _ path: String, token: String? = nil) async throws -> (Data, Bool) {
    let response = try await manager.stream(
      CacheProbe(path: path), accessToken: token.map { token in { token } })
    var data = Data()
    for try await chunk in response.body { data.append(chunk) }
    let status = response.headers.first { $0.key.lowercased() == "cache-status" }?.value ?? ""
    return (data, status.contains("; hit"))
  }

  @Test(arguments: [0, 10, 32 * 1024, 32 * 1024 + 1, 65536, 65537, 300_000, 5_000_000])
  func storedResponseSurvivesRestart(_ size: Int) async throws {
    for isSecond in [false, true] {
      let (data, isHit) = try await read(bench().0, "/\(size)")
      #expect(data == .noise(size) && isHit == isSecond)
    }
    #expect(server.requestCount == 1)
  }

  @Test func revalidationRenewsStoredResponse() async throws {
    for size in [10, 100_000] {
      _ = try await read(bench().0, "/\(size)")
      date.advance(by: 61)
      #expect(try await bench().0.send(CacheProbe(path: "/\(size)")).fields["A"] == "new")
      let again = try await bench().0.send(CacheProbe(path: "/\(size)"))
      #expect(again.isHit && again.fields["A"] == "new")
      #expect(try await read(bench().0, "/\(size)").0 == .noise(size))
    }
    #expect(server.requestCount == 4)
  }

  /// RFC 9111 §4: the most recent response, even if another one that is selected as well is in memory.
  @Test func largeResponseWithVaryIsUsedInsteadOfEarlierOneWithoutIt() async throws {
    server.route("/list") { request in
      request.headers["Pragma"] == nil
        ? .text("short", headers: ["Cache-Control": "max-age=3600"])
        : .data(.noise(300_000), headers: ["Cache-Control": "max-age=3600", "Vary": "X-Kind"])
    }
    let (manager, cache) = bench()
    #expect(try await manager.send(CacheProbe(path: "/list")).text == "short")
    date.advance(by: 1)
    _ = try await manager.send(CacheProbe(path: "/list", cacheMode: .reload))
    #expect(cache.statistics.memoryCount == 0)
    let (data, isHit) = try await read(manager, "/list")
    #expect(data == .noise(300_000) && isHit)
  }

  /// A body that is read slowly does not replace what was requested after it, whether by this process or by another.
  @Test(arguments: [10, 300_000], [false, true])
  func laterRequestPrevailsOverOneThatEndsAfterIt(_ size: Int, inOtherProcess: Bool) async throws {
    let gate = Gate()
    server.route("/list") { request in
      guard request.headers["Pragma"] == nil else {
        return .text("second", headers: ["Cache-Control": "max-age=3600"])
      }
      let head = "HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\nCache-Control: max-age=3600\r\n\r\n"
      return .raw([.sendString(head), .wait(gate), .sendString(String(repeating: "1", count: size))])
    }
    let (manager, _) = bench()
    let first = try await manager.stream(CacheProbe(path: "/list"))
    date.advance(by: 1)
    let later = inOtherProcess ? bench().0 : manager
    #expect(try await later.send(CacheProbe(path: "/list", cacheMode: .reload)).text == "second")
    gate.open()
    for try await _ in first.body {}
    for client in [manager, bench().0] {
      let found = try await client.send(CacheProbe(path: "/list"))
      #expect(found.isHit && found.text == "second")
    }
  }

  @Test func secretsAreNotReadableOnDisk() async throws {
    _ = try await read(bench().0, "/10?key=qu3ry", token: "t0ken")
    for name in files() {
      let text = String(decoding: try Data(contentsOf: folder[name]), as: UTF8.self)
      for secret in ["s3cret", "t0ken", "qu3ry"] { #expect(!text.contains(secret)) }
    }
    let root = folder["EKNetworkHTTPCache-1"].path
    let mode = try FileManager.default.attributesOfItem(atPath: root)[.posixPermissions] as? NSNumber
    #expect(mode?.intValue == 0o700 && files().count == 1)
  }

  @Test func usersDoNotShareEntries() async throws {
    #expect(try await read(bench().0, "/10", token: "a").1 == false)
    #expect(try await read(bench().0, "/10", token: "b").1 == false)
    #expect(try await read(bench().0, "/10").1 == false)
    #expect(try await read(bench().0, "/10", token: "a").1)
  }

  @Test func corruptedFileIsMissAndReported() async throws {
    for size in [10, 100_000] {
      for damage in ["cut", "flip", "empty", "long"] {
        _ = try await read(bench().0, "/\(size)")
        for name in files() {
          var bytes = try Data(contentsOf: folder[name])
          switch damage {
          case "cut": bytes = bytes.dropLast(3)
          case "flip": bytes[bytes.count - 5] ^= 0x10
          case "empty": bytes = Data()
          default: bytes.append(1)
          }
          try bytes.write(to: folder[name])
        }
        let (manager, cache) = bench()
        let failures = Locked<[HTTPCache.StorageFailure]>([])
        cache.storageFailureHandler = { failure in failures.withLock { $0.append(failure) } }
        let (data, isHit) = try await read(manager, "/\(size)")
        #expect(data == .noise(size) && !isHit, "\(size) \(damage)")
        #expect(failures.withLock { $0 }.first?.code == 0)
        await cache.removeAll()
        #expect(files().isEmpty)
      }
    }
  }

  @Test func anyBitFlipIsDetected() async throws {
    _ = try await read(bench().0, "/10")
    let name = try #require(files().first)
    let good = try Data(contentsOf: folder[name])
    for index in stride(from: Int.random(in: 0..<7), to: good.count, by: 7) {
      var bytes = good
      bytes[index] ^= 1 << UInt8.random(in: 0..<8)
      try bytes.write(to: folder[name])
      let (data, isHit) = try await read(bench().0, "/10")
      #expect(data == .noise(10) && !isHit, "\(index)")
      try good.write(to: folder[name])
    }
  }

  @Test func unusableFolderDoesNotFailRequests() async throws {
    let file = try folder.file("file", Data())
    let cache = HTTPCache(memoryCapacity: 1_000_000, directory: file, now: date.now)
    let failures = Locked(0)
    cache.storageFailureHandler = { _ in failures.withLock { $0 += 1 } }
    let manager = Wire.automatic.manager(server)
    manager.httpCache = cache
    #expect(try await read(manager, "/10").0 == .noise(10))
    #expect(try await read(manager, "/500000").0 == .noise(500_000))
    #expect(try await read(manager, "/10").1)
    #expect(failures.withLock { $0 } > 0)
  }

  @Test func diskCapacityIsRespected() async throws {
    let (manager, cache) = bench(disk: 1_000_000, memory: 0)
    for index in 0..<60 { _ = try await read(manager, "/\(index)/50000") }
    cache.settle()
    #expect(DiskSurvey(DiskFolder(in: folder.url) { _ in }).bytes <= 1_500_000)
    // The newest entry is stored, the oldest evicted.
    #expect(try await read(manager, "/59/50000").1)
    #expect(try await read(manager, "/0/50000").1 == false)
    // A body over a quarter of the capacity is delivered, but not stored.
    #expect(try await read(manager, "/300000").0 == .noise(300_000))
    #expect(try await read(manager, "/300000").1 == false)
  }

  /// Bodies that are being received cannot be evicted: of several at once, only those are stored that fit together.
  @Test func bodiesBeingReceivedCountForDiskCapacity() async throws {
    let (size, gate) = (290_000, Gate())
    for index in 0..<5 {
      server.route("/stream/\(index)") { _ in
        let head = "HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\nCache-Control: max-age=60\r\n\r\n"
        return .raw([.sendString(head), .send(.noise(280_000)), .wait(gate), .send(.noise(size - 280_000))])
      }
    }
    let (manager, cache) = bench(disk: 1_600_000, memory: 0)
    for index in 0..<26 {
      _ = try await read(manager, "/\(index)/50000")
      cache.settle()
    }
    var streams: [(body: StreamingSequence<Data>.AsyncIterator, count: Int)] = []
    for index in 0..<5 {
      var (body, count) = (try await manager.stream(CacheProbe(path: "/stream/\(index)")).body.makeAsyncIterator(), 0)
      while count < 270_000, let chunk = try await body.next() { count += chunk.count }
      streams.append((body, count))
    }
    let root = "EKNetworkHTTPCache-1"
    let names = try FileManager.default.contentsOfDirectory(atPath: folder[root].path)
    #expect(names.filter { DiskFolder.isTemporary($0) }.count == 2)
    gate.open()
    for (body, count) in streams {
      var (body, count) = (body, count)
      while let chunk = try await body.next() { count += chunk.count }
      #expect(count == size)
    }
    for index in 0..<3 { #expect(try await read(manager, "/stream/\(index)").1 == (index < 2)) }
  }

  @Test func removingDeletesFiles() async throws {
    let (manager, cache) = bench(memory: 0)
    for path in ["/a/10", "/b/10"] { _ = try await read(manager, path) }
    _ = try await read(manager, "/a/10", token: "t")
    await cache.remove(server.url("/a/10"))
    #expect(files().count == 1)
    #expect(try await read(manager, "/b/10").1)
    await cache.removeAll()
    #expect(files().isEmpty)
  }

  /// In a directory that is none nothing can be stored.
  @Test(arguments: [0, 1_000_000]) func whatIsNotStoredIsNotCounted(memory: Int) async throws {
    let file = try folder.file("file", Data())
    let cache = HTTPCache(memoryCapacity: memory, directory: file)
    let manager = Wire.automatic.manager(server)
    manager.httpCache = cache
    #expect(try await read(manager, "/10").0 == .noise(10))
    #expect(cache.statistics.stores == (memory > 0 ? 1 : 0))
  }

  @Test func abandonedStreamLeavesNoFiles() async throws {
    let (manager, cache) = bench()
    let root = folder["EKNetworkHTTPCache-1"].path
    func names() -> [String] {
      (try? FileManager.default.contentsOfDirectory(atPath: root))?.filter { $0 != "salt" } ?? []
    }
    do {
      let response = try await manager.stream(CacheProbe(path: "/20000000"))
      var iterator = response.body.makeAsyncIterator()
      while names().isEmpty { #expect(try await iterator.next() != nil) }
      #expect(names().allSatisfy { DiskFolder.isTemporary($0) })
    }
    // The stream releases its body asynchronously.
    let patience = ContinuousClock.now + .seconds(60)
    while !names().isEmpty, ContinuousClock.now < patience { await Task.yield() }
    #expect(names().isEmpty && cache.statistics.stores == 0)
  }

  @Test func changesByOtherProcessAreSeen() async throws {
    let (manager, _) = bench(memory: 0)
    let (other, otherCache) = bench(memory: 0)
    _ = try await read(manager, "/10")
    #expect(try await read(other, "/10").1)
    await otherCache.remove(server.url("/10"))
    #expect(try await read(manager, "/10").1 == false)
    date.advance(by: 61)
    #expect(try await other.send(CacheProbe(path: "/10")).fields["A"] == "new")
    #expect(try await manager.send(CacheProbe(path: "/10")).fields["A"] == "new")
    #expect(server.requestCount == 3)
  }

  @Test func variantsAreStoredSideBySide() async throws {
    server.fallback = {
      .text($0.headers["Accept-Language"] ?? "-", headers: ["Cache-Control": "max-age=60", "Vary": "accept-language"])
    }
    let languages = (0..<10).map { "l\($0)" }
    for language in languages {
      _ = try await bench().0.send(CacheProbe(path: "/v", headers: ["Accept-Language": language]))
      date.advance(by: 1)
    }
    // The last eight variants are kept.
    for language in languages.suffix(8) {
      let response = try await bench().0.send(CacheProbe(path: "/v", headers: ["Accept-Language": language]))
      #expect(response.isHit && response.text == language)
    }
    #expect(files().count == 8)
    // Without the first file, the others stay usable.
    try FileManager.default.removeItem(at: folder[try #require(files().first)])
    var hits = 0
    for language in languages.suffix(8) {
      let probe = CacheProbe(path: "/v", headers: ["Accept-Language": language], cacheMode: .onlyIfCached)
      if let response = try? await bench().0.send(probe) { hits += response.text == language ? 1 : 10 }
    }
    #expect(hits == 7)
  }

  @Test func corruptedBodyIsCompletedFromServer() async throws {
    let size = 6_000_000
    server.fallback = { request in
      let whole = Data.noise(size)
      guard let range = request.headers["Range"] else {
        return .data(whole, headers: ["Cache-Control": "max-age=60", "ETag": "\"v\""])
      }
      let numbers = range.dropFirst(6).split(separator: "-").compactMap { Int($0) }
      guard request.headers["If-Range"] == "\"v\"", numbers.count == 2 else { return .status(400) }
      return .data(
        whole[numbers[0]...numbers[1]], status: 206,
        headers: ["Content-Range": "bytes \(numbers[0])-\(numbers[1])/\(size)", "ETag": "\"v\""])
    }
    _ = try await read(bench().0, "/6000000")
    let body = try #require(files().first { $0.contains(".") })
    var bytes = try Data(contentsOf: folder[body])
    bytes[3_000_000] ^= 1
    try bytes.write(to: folder[body])
    let (data, isHit) = try await read(bench().0, "/6000000")
    #expect(isHit && data == .noise(size))
    #expect(server.requestCount == 2 && server.requests[1].headers["Range"]?.hasPrefix("bytes=2949120-") == true)
    #if os(Linux)
      // The stored body has no coding.
      #expect(server.requests[1].headers["Accept-Encoding"] == "identity")
    #endif
    // The corrupted entry was removed when it was detected.
    #expect(try await read(bench().0, "/6000000").1 == false)
  }

  @Test func symbolicLinkIsNotFollowed() async throws {
    let elsewhere = try ScratchFolder()
    try FileManager.default.createSymbolicLink(at: folder["EKNetworkHTTPCache-1"], withDestinationURL: elsewhere.url)
    let (manager, cache) = bench(memory: 0)
    let failures = Locked<[HTTPCache.StorageFailure]>([])
    cache.storageFailureHandler = { failure in failures.withLock { $0.append(failure) } }
    for _ in 0..<2 { #expect(try await read(manager, "/10").1 == false) }
    #expect(elsewhere.names.isEmpty && failures.withLock { $0 }.first?.code == ENOTDIR)
  }

  @Test func removedFolderIsRecreated() async throws {
    let (manager, _) = bench(memory: 0)
    _ = try await read(manager, "/10")
    try FileManager.default.removeItem(at: folder["EKNetworkHTTPCache-1"])
    #expect(try await read(manager, "/10").1 == false)
    #expect(try await read(manager, "/10").1)
    #expect(try await read(manager, "/300000").1 == false)
    #expect(try await read(manager, "/300000").1)
  }

  @Test func memoryHitsKeepEntryOnDisk() async throws {
    let (manager, cache) = bench(disk: 400_000, memory: 400_000)
    _ = try await read(manager, "/hot/20000")
    for index in 0..<40 {
      #expect(try await read(manager, "/hot/20000").1)
      _ = try await read(manager, "/\(index)/20000")
      cache.settle()
    }
    #expect(try await read(bench().0, "/0/20000").1 == false)
    #expect(try await read(bench().0, "/hot/20000").1)
  }
}
