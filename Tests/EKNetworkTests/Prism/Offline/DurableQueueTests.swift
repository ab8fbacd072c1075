import LoopbackServer
import Testing

@testable import EKNetwork

@Suite(.timeLimit(.minutes(10))) struct DurableQueueTests {
  private let folder: ScratchFolder
  private let server: LoopbackServer

  init() throws {
    folder = try ScratchFolder()
    server = try LoopbackServer()
  }

  private var directory: URL { folder["queue"] }

  private func open(
    _ delivery: PrismQueueDelivery = .each { _ in throw URLError(.notConnectedToInternet) },
    _ change: (inout PrismOfflineQueueOptions) -> Void = { _ in }
  ) throws -> PrismOfflineQueue {
    var options = PrismOfflineQueueOptions()
    change(&options)
    return try PrismOfflineQueue(directory: directory, delivery: delivery, autoFlush: false, options: options)
  }

  private func request(_ path: String, _ change: (inout URLRequest) -> Void = { _ in }) -> URLRequest {
    var request = URLRequest(url: server.url(path))
    change(&request)
    return request
  }

  @Test func requestsPersistAcrossRuns() async throws {
    let kept = Locked<PrismQueuedRequest?>(nil)
    try await run(.each { _ in throw URLError(.notConnectedToInternet) }) { first in
      let request = try await first.enqueue(
        request("/a?b=c") {
          $0.httpMethod = "POST"
          $0.httpBody = Data("body\n\0".utf8)
          $0.setValue("text/plain", forHTTPHeaderField: "Content-Type")
          $0.timeoutInterval = 12
        })
      kept.withLock { $0 = request }
      try await first.enqueue(self.request("/late"), priority: -1)
      try await first.enqueue(self.request("/urgent"), priority: 3)
      await #expect(throws: URLError.self) { try await first.flush() }
    }
    let first = try #require(kept.withLock { $0 })
    try await run { queue in
      let requests = await queue.dequeueAll()
      #expect(requests.map(\.urlRequest.url?.path) == ["/urgent", "/a", "/late"])
      #expect(requests.map(\.retryCount) == [1, 0, 0])
      try #require(requests.count == 3)
      #expect(requests[1].id == first.id)
      #expect(abs(requests[1].createdAt.timeIntervalSince(first.createdAt)) < 0.001)
      #expect(requests[1].urlRequest.httpMethod == "POST")
      #expect(requests[1].urlRequest.httpBody == Data("body\n\0".utf8))
      #expect(requests[1].urlRequest.value(forHTTPHeaderField: "Content-Type") == "text/plain")
      #expect(requests[1].urlRequest.timeoutInterval == 12)
      #expect(requests[1].urlRequest.url?.query == "b=c")
    }
    #expect(names == [])
  }

  /// The names of the requests and bodies in the folder.
  private var names: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []).filter { $0 != "lock" }.sorted()
  }

  /// Runs with a queue that is released at the end, as at the end of a process.
  private func run(
    _ delivery: PrismQueueDelivery = .each { _ in }, _ change: (inout PrismOfflineQueueOptions) -> Void = { _ in },
    _ body: (PrismOfflineQueue) async throws -> Void
  ) async throws {
    while true {
      do { return try await body(try open(delivery, change)) } catch PrismOfflineQueueError.alreadyOpen {
        // The previous queue is still being released.
        await Task.yield()
      }
    }
  }

  @Test func onlyOneQueueOpensDirectory() async throws {
    try await run { queue in
      #expect(throws: PrismOfflineQueueError.alreadyOpen(directory)) { _ = try open() }
      withExtendedLifetime(queue) {}
    }
    try await run { _ in }
  }

  @Test func extremeFileNamesDoNotOverflow() async throws {
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    for name in ["18446744073709551614-0", "9223372036854775808-0", "9223372036854775807-0"] {
      try Data("x".utf8).write(to: directory.appendingPathComponent(name + ".request"))
    }
    let queue = try open()
    try await queue.enqueue(request("/a"))
    #expect(await queue.count == 1)
  }

  /// A request that is accepted is there in the next run of the program, whatever files lie beside it.
  @Test(arguments: [
    ("18446744073709551615", 3), ("9223372036854775807", 3), ("4611686018427387905", 3),
    // The last position of all: there is none behind it.
    ("4611686018427387904", 0),
  ])
  func extremePositionLosesNoRequest(position: String, expected: Int) async throws {
    try await run { queue in try await queue.enqueue(self.request("/a")) }
    let first = directory.appendingPathComponent("00000000000000000001-0.request")
    let planted = directory.appendingPathComponent("\(position)-0.request")
    try FileManager.default.copyItem(at: first, to: planted)
    let accepted = Locked(0)
    try await run { queue in
      for _ in 0..<3 {
        do {
          try await queue.enqueue(self.request("/b"))
          accepted.withLock { $0 += 1 }
        } catch PrismOfflineQueueError.notWritable(_, code: EOVERFLOW) {}
      }
    }
    #expect(accepted.withLock { $0 } == expected)
    try await run { queue in
      let paths = await queue.dequeueAll().map { $0.urlRequest.url?.path }
      #expect(paths.filter { $0 == "/b" }.count == accepted.withLock { $0 })
      #expect(paths.filter { $0 == "/a" }.count + queue.damagedFiles.count == 2)
    }
  }

  /// As after a rename that was not atomic: the number of retries is part of the name.
  @Test func requestWithTwoCountsIsOne() async throws {
    try await run { queue in
      for path in ["/a", "/b"] { try await queue.enqueue(self.request(path)) }
    }
    let first = directory.appendingPathComponent("00000000000000000001-0.request")
    let again = directory.appendingPathComponent("00000000000000000001-1.request")
    try FileManager.default.copyItem(at: first, to: again)
    try await run { queue in
      #expect(await queue.count == 2)
      #expect(await queue.dequeueAll().map { $0.urlRequest.url?.path } == ["/a", "/b"])
      #expect(await queue.count == 0)
    }
    #expect(!FileManager.default.fileExists(atPath: again.path))
  }

  /// Not even if its last count could not be written.
  @Test(arguments: [true, false]) func removedRequestIsNotStored(isDelivered: Bool) async throws {
    let attempts = Locked(0)
    let queue = try open(
      .each { _ in
        if attempts.withLock({ $0.increment() }) < 2 { throw URLError(.notConnectedToInternet) }
      })
    try await queue.enqueue(request("/a") { $0.httpBody = Data(count: 9) })
    let obstacle = "00000000000000000001-1.request"
    try FileManager.default.createDirectory(
      at: directory.appendingPathComponent(obstacle), withIntermediateDirectories: false)
    await #expect(throws: URLError.self) { try await queue.flush() }
    #expect(names.count == 2)
    if isDelivered { try await queue.flush() } else { #expect(await queue.dequeueAll().map(\.retryCount) == [1]) }
    #expect(names == [obstacle])
    withExtendedLifetime(queue) {}
  }

  @Test func requestOptionsArePersisted() async throws {
    let background = try #require(URLRequest.NetworkServiceType(rawValue: 3))
    try await run { queue in
      try await queue.enqueue(
        self.request("/a") {
          $0.timeoutInterval = .infinity
          $0.cachePolicy = .reloadIgnoringLocalCacheData
          $0.allowsCellularAccess = false
          $0.networkServiceType = background
        })
    }
    let requests = Locked<[PrismQueuedRequest]>([])
    try await run { queue in
      let all = await queue.dequeueAll()
      requests.withLock { $0 = all }
    }
    let loaded = try #require(requests.withLock { $0.first?.urlRequest })
    #expect(loaded.timeoutInterval == .infinity)
    #expect(loaded.cachePolicy == .reloadIgnoringLocalCacheData)
    #expect(!loaded.allowsCellularAccess)
    #expect(loaded.networkServiceType == background)
  }

  @Test func customMethodIsSent() async throws {
    server.route("/item") { _ in .status(204) }
    let queue = try open(.manager(Wire.automatic.manager(server)))
    try await queue.enqueue(request("/item") { $0.httpMethod = "PURGE" })
    try await queue.flush()
    #expect(server.requests.map(\.method) == ["PURGE"])
  }

  @Test func cookieHandlingIsRespected() async throws {
    server.route("/login") { _ in .status(204, headers: ["Set-Cookie": "session=1; Path=/"]) }
    server.route("/item") { _ in .status(204, headers: ["Set-Cookie": "seen=1; Path=/"]) }
    let manager = Wire.automatic.manager(server)
    let queue = try open(.manager(manager))
    for handlesCookies in [false, true] {
      _ = try await manager.send(Probe<EmptyResponse>(path: "/login"))
      var request = URLRequest(url: server.url("/item"))
      request.httpShouldHandleCookies = handlesCookies
      try await queue.enqueue(request)
      try await queue.flush()
    }
    let sent = server.requests.filter { $0.path == "/item" }
    #expect(sent.map { $0.header("Cookie") } == [nil, "session=1"])
  }

  @Test func deliveryUsesCurrentToken() async throws {
    server.route("POST", "/item") { request in
      request.header("Authorization") == "Bearer new" ? .status(201) : .status(401)
    }
    let tokens = TestTokens("old")
    let manager = Wire.automatic.manager(server)
    manager.tokenRefresher = tokens
    manager.offlineQueue = try open(.manager(manager, accessToken: { tokens.current }))
    defer { manager.offlineQueue = nil }
    struct Order: NetworkRequest {
      typealias Response = EmptyResponse
      let path = "/item"
      let method = HTTPMethod.post
      var queryParameters: [String: String]? { ["q": "a b"] }
      var headers: [String: String]? { ["Authorization-Hint": "x", "Cookie": "session=secret"] }
      var body: RequestBody? { RequestBody(encodable: ["size": 3]) }
    }
    let queued = try await manager.enqueue(Order(), priority: 2)
    let file = try Data(contentsOf: directory.appendingPathComponent(try #require(names.first)))
    #expect(file.range(of: Data("secret".utf8)) == nil)
    try await manager.offlineQueue?.flush()
    let requests = server.requests
    #expect(requests.map { $0.header("Authorization") } == ["Bearer old", "Bearer new"])
    #expect(requests.map(\.target) == ["/item?q=a%20b", "/item?q=a%20b"])
    #expect(requests.map(\.text) == [#"{"size":3}"#, #"{"size":3}"#])
    #expect(requests.map { $0.header("Idempotency-Key") } == [queued.id.uuidString, queued.id.uuidString])
    #expect(requests.map { $0.header("Content-Type") } == ["application/json", "application/json"])
    #expect(requests.last?.header("Cookie") == nil)
    #expect(names == [])
  }

  @Test func managerWithoutQueueThrows() async throws {
    await #expect(throws: PrismOfflineQueueError.noQueue) {
      try await Wire.automatic.manager(server).enqueue(ItemProbe())
    }
  }

  @Test func credentialsAreStoredOnlyOnRequest() async throws {
    let url = try #require(URL(string: "https://alice:secret@example.com/a"))
    for stores in [false, true] {
      try await run(.each { _ in }, { $0.storesCredentials = stores }) { queue in
        var urlRequest = URLRequest(url: url)
        urlRequest.setValue("Bearer secret", forHTTPHeaderField: "Authorization")
        urlRequest.setValue("a=secret", forHTTPHeaderField: "Cookie")
        try await queue.enqueue(urlRequest)
        let file = try Data(contentsOf: directory.appendingPathComponent(try #require(names.first)))
        #expect((file.range(of: Data("secret".utf8)) != nil) == stores)
        let kept = await queue.dequeueAll()
        #expect((kept.first?.urlRequest.value(forHTTPHeaderField: "Authorization") == "Bearer secret") == stores)
      }
    }
  }

  @Test func filesAreReadableByOwnerOnly() async throws {
    let queue = try open()
    try await queue.enqueue(request("/a"))
    for path in [directory.path, directory.appendingPathComponent(try #require(names.first)).path] {
      var status = stat()
      #expect(stat(path, &status) == 0)
      #expect(status.st_mode & 0o077 == 0)
    }
    withExtendedLifetime(queue) {}
  }

  @Test(arguments: [true, false])
  func fileBodiesAreDelivered(_ isCopied: Bool) async throws {
    server.route("PUT", "/file") { _ in .status(204) }
    let content = Data.noise(700_000)
    let file = try folder.file("upload.bin", content)
    try await run { queue in
      let put = request("/file") { $0.httpMethod = "PUT" }
      try await queue.enqueue(put, body: isCopied ? .copy(file) : .reference(file))
      #expect(names.count == (isCopied ? 2 : 1))
      #expect((await queue.byteCount > 700_000) == isCopied)
    }
    if isCopied { try FileManager.default.removeItem(at: file) }
    try await run(.manager(Wire.automatic.manager(server))) { try await $0.flush() }
    #expect(server.requests.map(\.body) == [content])
    #expect(server.requests.first?.header("Content-Length") == "700000")
    #expect(names == [])
  }

  @Test func formWithFileIsStoredInFull() async throws {
    server.route("POST", "/item") { _ in .status(204) }
    let file = try folder.file("a.txt", Data("content of the file".utf8))
    var form = MultipartFormData()
    form.addPart(name: "file", fileURL: file, mimeType: "text/plain")
    let manager = Wire.automatic.manager(server)
    manager.offlineQueue = try open(.manager(manager))
    defer { manager.offlineQueue = nil }
    try await manager.enqueue(Probe<EmptyResponse>(method: .post, multipartData: form))
    try FileManager.default.removeItem(at: file)
    try await manager.offlineQueue?.flush()
    let sent = try #require(server.requests.first)
    #expect(sent.text.contains("content of the file"))
    #expect(sent.header("Content-Type") == "multipart/form-data; boundary=\(form.boundary)")
  }

  @Test func missingReferencedFileIsUndelivered() async throws {
    let file = try folder.file("upload.bin", Data([1]))
    let left = Locked<[any Error]>([])
    let queue = try open(.each { _ in }) { $0.undelivered = { _, error in left.withLock { $0.append(error) } } }
    try await queue.enqueue(request("/a") { $0.httpMethod = "PUT" }, body: .reference(file))
    try FileManager.default.removeItem(at: file)
    try await queue.flush()
    #expect(left.withLock { $0.first as? RequestBodyError } == .fileNotFound(file))
    #expect(names == [])
  }

  @Test func oneShotStreamOrMissingFileIsRefused() async throws {
    let queue = try open()
    await #expect(throws: PrismOfflineQueueError.bodyNotRepeatable) {
      try await queue.enqueue(request("/a") { $0.httpBodyStream = InputStream(data: Data([1])) })
    }
    // One that could be made again is not kept either, and the text does not say that it can be read once.
    let manager = Wire.automatic.manager(server)
    manager.offlineQueue = queue
    let error = await #expect(throws: PrismOfflineQueueError.bodyNotRepeatable) {
      var probe = Probe<EmptyResponse>(method: .post)
      probe.body = RequestBody(contentType: "a/b") { AsyncStream<Data> { $0.finish() } }
      try await manager.enqueue(probe)
    }
    #expect(error?.localizedDescription.contains("a sequence: use data") == true)
    await #expect(throws: PrismOfflineQueueError.bodyNotReadable(folder["none"])) {
      try await queue.enqueue(request("/a"), body: .copy(folder["none"]))
    }
    #expect(await queue.count == 0)
    #expect(names == [])
  }

  @Test func leftoversOfKilledProcessAreRemoved() async throws {
    try await run { try await $0.enqueue(request("/a")) }
    try Data("half".utf8).write(to: directory.appendingPathComponent("00000000000000000009-0.request.partial"))
    try Data("body".utf8).write(to: directory.appendingPathComponent("00000000000000000009.body"))
    try await run { queue in
      #expect(await queue.count == 1)
      #expect(names.count == 1)
      #expect(queue.damagedFiles.isEmpty)
    }
  }

  @Test func corruptedFileIsReportedAndOthersAreSent() async throws {
    try await run { queue in
      try await queue.enqueue(request("/a"))
      try await queue.enqueue(request("/b"))
    }
    let first = directory.appendingPathComponent(try #require(names.first))
    let whole = try Data(contentsOf: first)
    // A file truncated anywhere is not read as a request.
    for length in [0, 3, 6, 12, whole.count / 2, whole.count - 1] {
      try whole.prefix(length).write(to: first)
      let loaded = try OfflineStore.load(directory)
      #expect(loaded.damaged.map(\.lastPathComponent) == [first.lastPathComponent])
      #expect(loaded.entries.map(\.request.urlRequest.url?.path) == ["/b"])
    }
    try await run { queue in
      #expect(queue.damagedFiles.map(\.lastPathComponent) == [first.lastPathComponent])
      #expect(await queue.count == 1)
      try await queue.flush()
    }
    #expect(names == [first.lastPathComponent])
  }

  @Test func unwritableFolderThrows() async throws {
    let file = try folder.file("file", Data())
    #expect(throws: PrismOfflineQueueError.self) {
      _ = try PrismOfflineQueue(directory: file, delivery: .each { _ in })
    }
    let remote = try #require(URL(string: "https://example.com/"))
    #expect(throws: PrismOfflineQueueError.notWritable(remote, code: ENOTDIR)) {
      _ = try PrismOfflineQueue(directory: remote, delivery: .each { _ in })
    }
  }

  @Test func byteLimitHoldsOnDisk() async throws {
    let queue = try open(.each { _ in }) { $0.maximumBytes = 2_000 }
    await #expect(throws: PrismOfflineQueueError.tooManyBytes(limit: 2_000)) {
      try await queue.enqueue(request("/a") { $0.httpBody = Data(count: 2_000) })
    }
    let file = try folder.file("large", Data(count: 5_000))
    await #expect(throws: PrismOfflineQueueError.tooManyBytes(limit: 2_000)) {
      try await queue.enqueue(request("/a"), body: .copy(file))
    }
    #expect(names == [])
    try await queue.enqueue(request("/a"), body: .reference(file))
    #expect(names.count == 1)
  }

  /// Sparse files can have any size.
  @Test(arguments: [true, false], 1...3) func extremeSizesAreRefused(isDurable: Bool, count: Int) async throws {
    let file = try folder.file("sparse", Data([1]))
    let opened = try #require(OpenFile(file.path, O_RDONLY | O_CLOEXEC))
    let segment = BodySegment.file(FileSegment(unlinked: opened, name: file, size: .max))
    let body = BodySource.segments(Array(repeating: segment, count: count))
    let queue = try isDurable ? open() : PrismOfflineQueue(directory: nil, delivery: .each { _ in }, autoFlush: false)
    await #expect(throws: PrismOfflineQueueError.tooManyBytes(limit: 64 << 20)) {
      try await queue.enqueue(request("/a") { $0.httpBodyStream = BodyInputStream(body) })
    }
    #expect(await queue.byteCount == 0)
    #expect(names == [])
  }

  @Test func queueDeliversAfterServerReturns() async throws {
    let clock = ManualClock()
    // Not one of the ports that the system gives to the servers of other tests meanwhile.
    let port = Int.random(in: 20_000..<30_000)
    let gone = try LoopbackServer { $0.port = port }
    let manager = NetworkManager(baseURL: gone.baseURL, session: URLSession(configuration: .ephemeral))
    gone.stop()
    var options = PrismOfflineQueueOptions()
    options.clock = clock
    options.backoff = PrismLinearRetry(fixedDelay: .seconds(1))
    let queue = try PrismOfflineQueue(directory: directory, delivery: .manager(manager), options: options)
    for number in 1...3 {
      try await queue.enqueue(
        request("/\(number)") {
          $0.httpMethod = "POST"
          $0.url = gone.url("/\(number)")
        })
    }
    await clock.waitForSleepers()
    #expect(await queue.count == 3)
    let back = try LoopbackServer { $0.port = port }
    back.fallback = { _ in .status(204) }
    clock.advance(by: .seconds(1))
    await back.expectRequests(3)
    #expect(back.requests.map(\.path) == ["/1", "/2", "/3"])
    try await queue.flush()
    #expect(names == [])
  }
}
