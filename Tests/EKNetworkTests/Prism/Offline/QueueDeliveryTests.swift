import LoopbackServer
import Testing

@testable import EKNetwork

/// How a queue handles the responses of its manager.
@Suite(.timeLimit(.minutes(10))) struct QueueDeliveryTests {
  private let folder: ScratchFolder
  private let server: LoopbackServer

  init() throws {
    folder = try ScratchFolder()
    server = try LoopbackServer()
  }

  private func open(
    _ manager: NetworkManager, undelivered: Locked<[any Error]> = Locked([])
  ) throws -> PrismOfflineQueue {
    var options = PrismOfflineQueueOptions()
    options.undelivered = { _, error in undelivered.withLock { $0.append(error) } }
    return try PrismOfflineQueue(
      directory: folder["queue"], delivery: .manager(manager), autoFlush: false, options: options)
  }

  private struct Order: NetworkRequest {
    typealias Response = EmptyResponse
    let path = "/order"
    let method = HTTPMethod.post
    var redirectPolicy = RedirectPolicy.reject
    var credential: PasswordCredential?
  }

  /// A queue that sent the request without its password would repeat it for ever.
  @Test func requestWithPasswordIsRefused() async throws {
    let manager = Wire.automatic.manager(server)
    let queue = try open(manager)
    manager.offlineQueue = queue
    defer { manager.offlineQueue = nil }
    let order = Order(credential: PasswordCredential(user: "u", password: "p"))
    let refusal = TransportOptionError(option: "credential", library: "An offline queue")
    await #expect(throws: refusal) { try await manager.enqueue(order) }
    #expect(await queue.count == 0)
  }

  /// The policy is stored with the request, which is all that the next run of the program has.
  @Test(arguments: Wire.allCases) func rejectedRedirectIsNotFollowed(wire: Wire) async throws {
    server.route("/order") { _ in .status(307, headers: ["Location": "/elsewhere"]) }
    server.route("/elsewhere") { _ in .status(204) }
    let manager = wire.manager(server)
    manager.offlineQueue = try open(manager)
    defer { manager.offlineQueue = nil }
    #expect(try await manager.enqueue(Order()).redirectPolicy == .reject)
    let files = try FileManager.default.contentsOfDirectory(atPath: folder["queue"].path)
    #expect(files.count == 2)
    manager.offlineQueue = nil
    let undelivered = Locked<[any Error]>([])
    let queue = try await reopened(manager, undelivered: undelivered)
    try await queue.flush()
    #expect(undelivered.withLock { $0.map { ($0 as? HTTPError)?.statusCode } } == [307])
    try await queue.enqueue(URLRequest(url: server.url("/order")))
    try await queue.flush()
    #expect(server.requests.map(\.path) == ["/order", "/order", "/elsewhere"])
  }

  /// As with a request that is sent directly.
  @Test func sessionAcceptOverridesDefault() async throws {
    server.route("POST", "/order") { _ in .status(204) }
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpAdditionalHeaders = ["Accept": "application/vnd.example+json"]
    for session in [URLSession(configuration: configuration), nil] {
      let manager = NetworkManager(baseURL: server.url("/"), session: session ?? URLSession.shared)
      manager.offlineQueue = try PrismOfflineQueue(directory: nil, delivery: .manager(manager), autoFlush: false)
      try await manager.enqueue(Order())
      try await manager.offlineQueue?.flush()
      manager.offlineQueue = nil
    }
    #expect(server.requests.map { $0.header("Accept") } == ["application/vnd.example+json", "application/json"])
  }

  private final class Refresher: TokenRefreshProvider, Sendable {
    let count = Locked(0)
    func refreshTokenIfNeeded() async throws { count.withLock { $0 += 1 } }
  }

  /// One that the manager has not made, or whose base URL has changed since.
  @Test func credentialsAreNotSentToAnotherOrigin() async throws {
    let other = try LoopbackServer()
    for server in [server, other] { server.route("POST", "/order") { _ in .status(401) } }
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpAdditionalHeaders = ["X-Api-Key": "secret", "X-App": "app"]
    let manager = NetworkManager(baseURL: server.baseURL, session: URLSession(configuration: configuration))
    manager.defaults.headers = ["X-Default": "own"]
    let refresher = Refresher()
    manager.tokenRefresher = refresher
    let queue = try PrismOfflineQueue(
      directory: nil, delivery: .manager(manager) { "token" }, autoFlush: false)
    for (url, count) in [(other.url("/order"), 0), (server.url("/order"), 1)] {
      var request = URLRequest(url: url)
      request.httpMethod = "POST"
      try await queue.enqueue(request)
      try? await queue.flush()
      #expect(refresher.count.withLock { $0 } == count)
      _ = await queue.dequeueAll()
    }
    #expect(server.requests.first?.header("Authorization") == "Bearer token")
    #expect(server.requests.first?.header("X-Api-Key") == "secret")
    #expect(server.requests.first?.header("X-Default") == "own")
    let request = try #require(other.requests.first)
    #expect(other.requestCount == 1 && request.header("X-App") == "app")
    #expect(request.header("Authorization") == nil && request.header("X-Api-Key") == nil)
    #expect(request.header("X-Default") == nil)
  }

  /// The server has not refused the orders: the user can sign in again.
  @Test(arguments: Wire.allCases, [400, 403, 200, 0])
  func failedRefreshKeepsRequests(wire: Wire, status: Int) async throws {
    struct SignedOut: NonRetriableError {}
    server.route("POST", "/order") { _ in .status(401) }
    server.route("POST", "/token") { _ in .text("<html>", status: status) }
    let manager = wire.manager(server)
    manager.tokenRefresher = TestTokens("old") { _ in
      guard status != 0 else { throw SignedOut() }
      return try await manager.send(Probe<Item>(path: "/token", method: .post)).name
    }
    defer { manager.tokenRefresher = nil }
    let undelivered = Locked<[any Error]>([])
    let queue = try open(manager, undelivered: undelivered)
    for _ in 0..<2 {
      var request = URLRequest(url: server.url("/order"))
      request.httpMethod = "POST"
      try await queue.enqueue(request)
    }
    let error = await #expect(throws: (any Error).self) { try await queue.flush() }
    #expect(!(error is TokenError))
    #expect(await queue.count == 2)
    #expect(undelivered.withLock { $0.isEmpty })
    #expect(server.requests.filter { $0.path == "/order" }.count == 1)
  }

  /// The user signs in later.
  @Test func failedTokenDoesNotEndAutomaticFlushes() async throws {
    struct SignedOut: NonRetriableError {}
    server.route("/order") { _ in .status(204) }
    let clock = ManualClock()
    let isSignedIn = Locked(false)
    let token: @Sendable () async throws -> String? = {
      guard isSignedIn.withLock({ $0 }) else { throw SignedOut() }
      return "token"
    }
    var options = PrismOfflineQueueOptions()
    options.clock = clock
    options.backoff = PrismLinearRetry(fixedDelay: .seconds(10))
    let queue = try PrismOfflineQueue(
      directory: nil, delivery: .manager(Wire.automatic.manager(server), accessToken: token), options: options)
    try await queue.enqueue(URLRequest(url: server.url("/order")))
    await clock.waitForSleepers()
    isSignedIn.withLock { $0 = true }
    clock.advance(by: .seconds(10))
    await server.expectRequests(1)
    try await queue.flush()
    #expect(await queue.count == 0)
    #expect(server.requests.map { $0.header("Authorization") } == ["Bearer token"])
  }

  /// Nothing would have been sent.
  @Test(arguments: Wire.allCases) func storedResponseDeliversNothing(wire: Wire) async throws {
    server.route("/a") { _ in .text("a", headers: ["Cache-Control": "max-age=1000"]) }
    let manager = wire.manager(server)
    manager.httpCache = HTTPCache()
    for _ in 0..<2 { _ = try await manager.send(CacheProbe()) }
    #expect(server.requestCount == 1)
    let queue = try open(manager)
    try await queue.enqueue(URLRequest(url: server.url("/a")))
    try await queue.flush()
    #expect(await queue.count == 0)
    #expect(server.requestCount == 2 && server.requests.last?.header("Cache-Control") == "no-cache")
  }

  /// Its body is discarded.
  @Test func limitOfTheClientDoesNotFailWhatTheServerHasAccepted() async throws {
    server.route("POST", "/order") { _ in .data(Data(count: 2_000), status: 201) }
    try await expectDelivery { $0.maximumResponseSize = 1_000 }
  }

  /// It would cut off a long upload each time.
  @Test func totalTimeoutOfTheClientDoesNotApply() async throws {
    server.route("POST", "/order") { _ in .status(201) }
    try await expectDelivery { $0.totalTimeout = .zero }
  }

  private func expectDelivery(with change: (inout RequestDefaults) -> Void) async throws {
    let manager = Wire.automatic.manager(server)
    change(&manager.defaults)
    let undelivered = Locked<[any Error]>([])
    manager.offlineQueue = try open(manager, undelivered: undelivered)
    defer { manager.offlineQueue = nil }
    try await manager.enqueue(Order())
    try await manager.offlineQueue?.flush()
    #expect(server.requestCount == 1 && undelivered.withLock { $0.isEmpty })
    #expect(await manager.offlineQueue?.count == 0)
  }

  /// They are sent one by one right away: that is the attempt that counts.
  @Test func failedBatchDoesNotCountAsRetry() async throws {
    let batches = Locked<[[Int]]>([])
    var options = PrismOfflineQueueOptions()
    options.undelivered = { _, _ in }
    let queue = try PrismOfflineQueue(directory: folder["queue"], options: options) { requests in
      batches.withLock { $0.append(requests.map { $0.retryCount }) }
      if requests.contains(where: { $0.urlRequest.url?.path == "/bad" }) { throw URLError(.badURL) }
    }
    for path in ["/a", "/bad", "/b"] { try await queue.enqueue(URLRequest(url: server.url(path))) }
    try await queue.flush()
    #expect(await queue.count == 0)
    #expect(batches.withLock { $0 } == [[0, 0, 0], [0], [0], [0]])
  }

  /// The previous queue releases the folder with its last reference.
  private func reopened(
    _ manager: NetworkManager, undelivered: Locked<[any Error]>
  ) async throws -> PrismOfflineQueue {
    while true {
      do { return try open(manager, undelivered: undelivered) } catch PrismOfflineQueueError.alreadyOpen {
        await Task.yield()
      }
    }
  }

  /// The status alone decides; another attempt would not change it.
  @Test(arguments: ["Content-Length: 100\r\n\r\nshort", "Content-Length: 3000000\r\n\r\n"])
  func errorStatusCountsWhateverItsBody(rest: String) async throws {
    let body = rest.hasSuffix("short") ? "" : String(repeating: "x", count: 3_000_000)
    server.route("/order", .raw([.sendString("HTTP/1.1 400 Bad Request\r\n" + rest + body)]))
    let undelivered = Locked<[any Error]>([])
    let queue = try open(Wire.automatic.manager(server), undelivered: undelivered)
    try await queue.enqueue(URLRequest(url: server.url("/order")))
    try await queue.flush()
    #expect(undelivered.withLock { $0.map { ($0 as? HTTPError)?.statusCode } } == [400])
    #expect(await queue.count == 0)
  }

  /// The server has accepted the request, whatever its response contains.
  @Test(arguments: Wire.allCases, ["UTF-8", "gzip"])
  func undecodableResponseIsDelivered(wire: Wire, coding: String) async throws {
    server.route("/order") { _ in .data(Data("plain text".utf8), headers: ["Content-Encoding": coding]) }
    let queue = try open(wire.manager(server))
    try await queue.enqueue(URLRequest(url: server.url("/order")))
    try await queue.flush()
    #expect(await queue.count == 0)
    #expect(server.requests.map { $0.header("Accept-Encoding") } == ["identity"])
  }

  /// The head of a success says that the server has done what was requested (RFC 9110 §15.3). No body keeps the queue
  /// from sending what follows.
  @Test(
    arguments: Wire.allCases,
    [
      [.sendString("Content-Length: 100\r\n\r\nshort")],
      [.sendString("Transfer-Encoding: chunked\r\n\r\n"), .chunk(Data("x".utf8)), .stall],
      [.sendString("Content-Length: 1000\r\n\r\n"), .trickle(Data(count: 1_000), chunk: 1, every: .milliseconds(400))],
      [.sendString("Content-Length: \(96 << 20)\r\n\r\n"), .flood(bytes: 96 << 20)],
      [.sendString("\r\n"), .flood(bytes: 96 << 20)],
    ] as [[LoopbackServer.Response.Step]])
  func headOfSuccessDelivers(wire: Wire, rest: [LoopbackServer.Response.Step]) async throws {
    server.route("/order") { _ in .raw([.sendString("HTTP/1.1 200 OK\r\n")] + rest) }
    let manager = wire.manager(server)
    let ends = Locked<[Int64?]>([])
    manager.eventHandler = { event in
      switch event.kind {
      case .finished(_, let received, _): ends.withLock { $0.append(received) }
      case .failed: ends.withLock { $0.append(nil) }
      default: break
      }
    }
    let queue = try open(manager)
    for _ in 0..<2 { try await queue.enqueue(URLRequest(url: server.url("/order"))) }
    try await queue.flush()
    #expect(await queue.count == 0)
    #expect(server.requestCount == 2)
    let received = ends.withLock { $0 }
    #expect(received.count == 2 && received.allSatisfy { $0.map { $0 <= 1 << 20 } == true }, "\(received)")
  }

  /// A server that withholds the body of an error does not withhold its status.
  @Test(arguments: [400, 503]) func errorStatusDoesNotWaitForItsBody(status: Int) async throws {
    server.route("/order") { _ in .streaming(status: status, [.chunk(Data("x".utf8)), .stall]) }
    let clock = ManualClock()
    let undelivered = Locked<[any Error]>([])
    let queue = try open(Wire.automatic.manager(server, clock: clock), undelivered: undelivered)
    try await queue.enqueue(URLRequest(url: server.url("/order")))
    let flush = Task { try await queue.flush() }
    await clock.waitForSleepers()
    clock.advance(by: .seconds(10))
    if status == 400 {
      try await flush.value
      #expect(undelivered.withLock { $0.map { ($0 as? HTTPError)?.statusCode } } == [400])
    } else {
      let error = await #expect(throws: HTTPError.self) { try await flush.value }
      #expect(error?.statusCode == 503)
    }
  }

  private func orderWithFile() throws -> (URLRequest, URL) {
    server.route("POST", "/order") { _ in .status(204) }
    var order = URLRequest(url: server.url("/order"))
    order.httpMethod = "POST"
    return (order, try folder.file("body", Data("content".utf8)))
  }

  /// A body stored in a separate file moves with its request, into another queue too.
  @Test(arguments: [true, false]) func dequeuedRequestKeepsItsBody(goesIntoAnotherQueue: Bool) async throws {
    let (order, file) = try orderWithFile()
    let manager = Wire.automatic.manager(server)
    let first = try PrismOfflineQueue(directory: folder["first"])
    try await first.enqueue(PrismQueuedRequest(urlRequest: order), body: .copy(file))
    let taken = try #require(await first.dequeueAll().first)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder["first"].path) == ["lock"])
    let queue = try PrismOfflineQueue(
      directory: goesIntoAnotherQueue ? folder["second"] : nil, delivery: .manager(manager), autoFlush: false)
    try await queue.enqueue(taken, body: .ofRequest)
    try await queue.flush()
    #expect(server.requests.map(\.text) == ["content"])
  }

  /// The `undelivered` handler may do so while the first queue still holds the request.
  @Test(arguments: [PrismQueuedBody.copy, PrismQueuedBody.reference], [true, false])
  func requestEnqueuedAgainKeepsItsBody(kind: @Sendable (URL) -> PrismQueuedBody, inMemory: Bool) async throws {
    let (order, file) = try orderWithFile()
    let second = try PrismOfflineQueue(
      directory: inMemory ? nil : folder["second"], delivery: .manager(Wire.automatic.manager(server)),
      autoFlush: false)
    var options = PrismOfflineQueueOptions()
    options.undelivered = { request, _ in await second.enqueue(request) }
    let first = try PrismOfflineQueue(
      directory: folder["first"], delivery: .each { _ in throw URLError(.badURL) }, autoFlush: false, options: options)
    try await first.enqueue(PrismQueuedRequest(urlRequest: order), body: kind(file))
    try await first.flush()
    #expect(await first.count == 0)
    try await second.flush()
    #expect(server.requests.map(\.text) == ["content"])
  }

  @Test(arguments: [true, false]) func requestPassedOnByHandlerKeepsItsBody(inMemory: Bool) async throws {
    let (order, file) = try orderWithFile()
    let second = try PrismOfflineQueue(
      directory: inMemory ? nil : folder["second"], delivery: .manager(Wire.automatic.manager(server)),
      autoFlush: false)
    let first = try PrismOfflineQueue(
      directory: folder["first"], delivery: .each { try await second.enqueue($0, body: .ofRequest) }, autoFlush: false)
    try await first.enqueue(order, body: .copy(file))
    try await first.flush()
    try await second.flush()
    #expect(server.requests.map(\.text) == ["content"])
  }

  /// On Apple's platforms, Foundation's `URLSession` cannot read a subclass of `InputStream`.
  @Test func handlerReceivesStreamThatItsSessionCanRead() async throws {
    let file = try folder.file("body", Data("content".utf8))
    let queue = try PrismOfflineQueue(
      directory: folder["queue"],
      delivery: .each { request in
        let stream = try #require(request.urlRequest.httpBodyStream)
        #expect((stream is BodyInputStream) == Platform.isLinux)
        stream.open()
        defer { stream.close() }
        var buffer = [UInt8](repeating: 0, count: 100)
        let count = stream.read(&buffer, maxLength: buffer.count)
        #expect(String(decoding: buffer.prefix(max(0, count)), as: UTF8.self) == "content")
      }, autoFlush: false)
    try await queue.enqueue(URLRequest(url: server.url("/order")), body: .copy(file))
    try await queue.flush()
    #expect(await queue.count == 0)
  }
}
