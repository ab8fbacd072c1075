import LoopbackServer
import Testing

@testable import EKNetwork

/// Code of the user that never returns and ignores cancellation does not keep the caller, whose task is cancelled.
@Suite(.timeLimit(.minutes(10))) struct NeverReturningCodeTests {
  private let server: LoopbackServer
  private let deaf = Deaf()

  init() throws {
    server = try LoopbackServer()
    server.route("/item") { $0.headers["Authorization"] == "Bearer old" ? .status(401) : .json(Item(id: 1)) }
  }

  enum Code: CaseIterable, Sendable {
    case call, attempt, attemptOfAnsweredCall, refresher, flight, sharedFlight, flush, undelivered, body
  }

  enum Kind: CaseIterable, Sendable { case send, stream, download, adapter }

  private var deafMiddleware: Intercept {
    Intercept { [deaf] request, _, next in
      await deaf.wait()
      return try await next(request)
    }
  }

  @Test(arguments: Kind.allCases, [Code.call, .attempt, .attemptOfAnsweredCall])
  func middleware(_ kind: Kind, _ code: Code) async throws {
    let deaf = deaf
    defer { deaf.release() }
    let impatient = Intercept { request, _, next in
      let task = Task { try await next(request) }
      await deaf.hasBegun.wait()
      task.cancel()
      return NetworkMiddlewareResponse(statusCode: 200, data: Data(#"{"id":2,"name":"own"}"#.utf8))
    }
    let calls: [any NetworkMiddleware] =
      switch code {
      case .call: [deafMiddleware]
      case .attempt: []
      default: [impatient]
      }
    let attempts: [any NetworkMiddleware] = code == .call ? [] : [deafMiddleware]
    let work: @Sendable () async throws -> Int
    if kind == .adapter {
      let adapter = PrismNetworkAdapter.forTests()
      (adapter.middleware, adapter.attemptMiddleware) = (calls, attempts)
      let request = LocalRequest<Item>(server.endpoint())
      work = { try await adapter.request(on: request, with: nil).id }
    } else {
      let manager = Wire.automatic.manager(server)
      (manager.middleware, manager.attemptMiddleware) = (calls, attempts)
      let folder = try ScratchFolder()
      work = {
        switch kind {
        case .stream: try await manager.stream(ItemProbe()).statusCode == 200 ? 2 : 0
        case .download: try await manager.download(ItemProbe(), to: folder["a"]).statusCode == 200 ? 2 : 0
        default: try await manager.send(ItemProbe()).id
        }
      }
    }
    if code == .attemptOfAnsweredCall {
      #expect(try await ending(work)?.get() == 2)
    } else {
      #expect(await endingWhenCancelled(once: deaf.hasBegun, work)?.failure is CancellationError)
    }
  }

  @Test(arguments: [Code.refresher, .flight, .sharedFlight, .flush, .undelivered, .body])
  func otherCode(_ code: Code) async throws {
    let (deaf, server) = (deaf, server)
    defer { deaf.release() }
    let manager = Wire.automatic.manager(server)
    let deduplicator = PrismRequestDeduplicator()
    var options = PrismOfflineQueueOptions()
    options.undelivered = { _, _ in await deaf.wait() }
    let queue = try PrismOfflineQueue(
      directory: nil,
      delivery: .each { _ in
        if code == .undelivered { throw NetworkError.invalidURL }
        await deaf.wait()
      }, autoFlush: false, options: options)
    try await queue.enqueue(URLRequest(url: server.url("/item")))
    manager.tokenRefresher = TestTokens("old") { _ in
      await deaf.wait()
      return "new"
    }
    defer { manager.tokenRefresher = nil }
    let result = await endingWhenCancelled(once: deaf.hasBegun) {
      switch code {
      case .refresher: _ = try await manager.send(ItemProbe()) { "old" }
      case .flight: try await deduplicator.deduplicate({ await deaf.wait() }, key: "a")
      case .sharedFlight:
        try await deduplicator.deduplicate(
          { try await deduplicator.deduplicate({ await deaf.wait() }, key: "a") }, key: "a")
      case .body:
        let pieces = AsyncThrowingStream<Data, any Error> {
          await deaf.wait()
          return nil
        }
        let body = RequestBody(sequence: pieces, contentType: "a/b")
        _ = try await manager.send(ItemProbe(method: .post, body: body))
      default: try await queue.flush()
      }
    }
    #expect(result?.failure is CancellationError)
  }

  // MARK: - Bodies and sessions

  /// A stream whose other end is silent blocks the thread that reads it.
  @Test(arguments: Wire.allCases, [nil, 10]) func streamOfBody(_ wire: Wire, length: Int64?) async throws {
    let (folder, manager, hasBegun) = (try ScratchFolder(), wire.manager(server), Gate())
    let pipe = folder["pipe"].path
    #expect(mkfifo(pipe, 0o600) == 0)
    let stream = try #require(InputStream(fileAtPath: pipe))
    let body =
      length.map { RequestBody(stream: stream, contentType: "a/b", length: $0) }
      ?? RequestBody(stream: stream, contentType: "a/b")
    nonisolated(unsafe) let probe = ItemProbe(method: .post, body: body)
    async let result = endingWhenCancelled(once: hasBegun) { _ = try await manager.send(probe) }
    // Opens once the other end is open.
    var end = open(pipe, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
    while end < 0 {
      await Task.yield()
      end = open(pipe, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
    }
    defer { close(end) }
    // Nor does it block others.
    let other = RequestBody(data: Data([1]), contentType: "a/b")
    #expect(try await manager.send(ItemProbe(method: .post, body: other)).id == 1)
    hasBegun.open()
    #expect(await result?.failure is CancellationError)
  }

  private struct DeafSession: URLSessionProtocol, URLSessionStreamingProtocol {
    let deaf: Deaf
    func data(for request: URLRequest) async throws -> (Data, URLResponse) {
      await deaf.wait()
      throw URLError(.unknown)
    }
    func dataStream(for request: URLRequest) async throws -> (AsyncThrowingStream<Data, Error>, URLResponse) {
      await deaf.wait()
      throw URLError(.unknown)
    }
  }

  @Test(arguments: Kind.allCases, [false, true]) func bodyOfMiddleware(_ kind: Kind, isAttempt: Bool) async throws {
    let deaf = deaf
    defer { deaf.release() }
    let own = Intercept { _, _, _ in
      let chunks = AsyncThrowingStream<Data, any Error> {
        await deaf.wait()
        return nil
      }
      return NetworkMiddlewareResponse(statusCode: 200, chunks: chunks)
    }
    let (calls, attempts) = isAttempt ? ([], [own]) : ([own], [])
    let adapter = PrismNetworkAdapter.forTests()
    (adapter.middleware, adapter.attemptMiddleware) = (calls, attempts)
    let manager = Wire.automatic.manager(server)
    (manager.middleware, manager.attemptMiddleware) = (calls, attempts)
    let (folder, request) = (try ScratchFolder(), LocalRequest<Item>(server.endpoint()))
    // The file of a download is in place before its call middleware responds.
    guard isAttempt || kind != .download else { return }
    let result = await endingWhenCancelled(once: deaf.hasBegun) {
      switch kind {
      case .send: _ = try await manager.send(ItemProbe())
      case .stream: for try await _ in try await manager.stream(ItemProbe()).body {}
      case .download: _ = try await manager.download(ItemProbe(), to: folder["a"])
      case .adapter: _ = try await adapter.request(on: request, with: nil)
      }
    }
    // A loop over a body ends when its task is cancelled.
    #expect(result != nil && (kind == .stream || result?.failure is CancellationError))
  }

  @Test func streamingSession() async throws {
    let deaf = deaf
    defer { deaf.release() }
    let manager = NetworkManager(baseURL: server.baseURL, session: DeafSession(deaf: deaf))
    let result = await endingWhenCancelled(once: deaf.hasBegun) {
      _ = try await manager.stream(ItemProbe())
    }
    #expect(result?.failure is CancellationError)
  }

  // MARK: - Reconnecting WebSockets

  enum SocketCall: CaseIterable, Sendable { case close, closeInside, receive, events, release }

  @Test(arguments: SocketCall.allCases) func requestOfSocket(_ call: SocketCall) async throws {
    let deaf = deaf
    defer { deaf.release() }
    let box = Locked<ReconnectingWebSocket?>(nil)
    let isStored = Gate()
    let url = try #require(URL(string: "ws://127.0.0.1:9/"))
    let socket = ReconnectingWebSocket {
      await isStored.wait()
      if call == .closeInside { try await box.withLock { $0 }?.close() }
      await deaf.wait()
      return URLRequest(url: url)
    }
    box.withLock { $0 = socket }
    defer { box.withLock { $0 = nil } }
    isStored.open()
    let events = socket.events
    async let hasEnded = ending {
      var last: WebSocketEvent?
      for await event in events { last = event }
      return last
    }
    switch call {
    case .close:
      await deaf.hasBegun.wait()
      #expect(await ending { try await socket.close() } != nil)
      #expect(try await ending { try await socket.receive() }?.get() == .some(nil))
    case .closeInside, .events:
      if call == .events { await deaf.hasBegun.wait(); Task { try await socket.close() } }
    case .receive:
      let received = await endingWhenCancelled(once: deaf.hasBegun) { try await socket.receive() }
      #expect(received?.failure is CancellationError)
    case .release:
      await deaf.hasBegun.wait()
      box.withLock { $0 = nil }
      Task { try await socket.close() }
    }
    guard case .ended(nil)? = try await hasEnded?.get() else {
      Issue.record("The events do not end")
      return
    }
  }
}
