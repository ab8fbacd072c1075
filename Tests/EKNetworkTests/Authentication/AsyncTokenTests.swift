import LoopbackServer
import Testing

@testable import EKNetwork

/// A token that is obtained asynchronously, on every path that sends one.
@Suite(.timeLimit(.minutes(10))) struct AsyncTokenTests {
  private actor Store: TokenRefreshProvider {
    private var token: String? = "old"
    private(set) var reads = 0
    private(set) var refreshes = 0

    func read() -> String? {
      reads += 1
      return token
    }

    func refreshTokenIfNeeded() {
      refreshes += 1
      token = "new"
    }
  }

  enum Path: CaseIterable, Sendable {
    case send, isolated, decoded, isolatedDecoded, response, stream, events, download, upload, cancelUpload, queue
    case cached, responses, query, subscription, socket
    /// Whose failures are a `PrismNetworkFailure`.
    var isGraphQL: Bool { [.query, .subscription, .socket].contains(self) }
  }

  private let server: LoopbackServer
  private let folder: ScratchFolder

  init() throws {
    server = try LoopbackServer()
    folder = try ScratchFolder()
    for method in ["GET", "POST", "DELETE", "HEAD", "PATCH"] {
      for path in ["/item", "/files/1"] {
        server.route(method, path) { request in
          guard request.header("Authorization") == "Bearer new" else { return .status(401) }
          return Self.response(to: request)
        }
      }
    }
  }

  private static func response(to request: LoopbackServer.Request) -> LoopbackServer.Response {
    switch request.method {
    case "PATCH": return .status(204, headers: ["Upload-Offset": "3", "Tus-Resumable": "1.0.0"])
    case "HEAD": return .status(200, headers: ["Upload-Offset": "0", "Upload-Length": "3", "Tus-Resumable": "1.0.0"])
    case "DELETE": return .status(204, headers: ["Tus-Resumable": "1.0.0"])
    default: break
    }
    if request.header("Upgrade") != nil {
      return .webSocket(request, subprotocol: "graphql-transport-ws") { peer in
        _ = peer.readMessage()
        peer.send(#"{"type":"connection_ack"}"#)
        _ = peer.readMessage()
        peer.send(#"{"type":"next","id":"1","payload":{"data":{"a":1}}}"#)
        _ = peer.readMessage()
      }
    }
    if request.header("Upload-Length") != nil {
      return .status(201, headers: ["Location": "/files/1", "Tus-Resumable": "1.0.0"])
    }
    let accept = request.header("Accept") ?? ""
    if accept.hasPrefix("text/event-stream"), request.method == "POST" {
      return .text("event: next\ndata: {\"data\":{\"a\":1}}\n\n", headers: ["Content-Type": "text/event-stream"])
    }
    if accept.hasPrefix("text/event-stream") {
      return .text("data: 1\n\n", headers: ["Content-Type": "text/event-stream"])
    }
    if request.method == "POST" { return .json(#"{"data":{"a":1}}"#) }
    return .json(Item(id: 1))
  }

  /// A request that a cache may send in the background.
  private struct Plain: NetworkRequest, Sendable {
    typealias Response = Item
    let path = "/item"
    let method = HTTPMethod.get
    let totalTimeout: Duration?
  }

  /// Sends a request. Failures of GraphQL are thrown as their causes.
  private func perform(
    _ path: Path, _ manager: NetworkManager, probe: ItemProbe = ItemProbe(),
    token: @escaping @Sendable () async throws -> String?
  ) async throws {
    var graphQL = PrismGraphQLOptions()
    graphQL.accessTokenProvider = token
    // The other closure has no meaning then.
    graphQL.accessToken = { "wrong" }
    let client = PrismGraphQLClient(endpointURL: server.url("/item"), manager: manager, options: graphQL)
    let query = PrismGraphQLQuery(query: "query { a }")
    var upload = Probe<EmptyResponse>(method: .post)
    upload.retryPolicy = probe.retryPolicy
    upload.totalTimeout = probe.totalTimeout
    let cache = PrismResponseCache()
    let plain = Plain(totalTimeout: probe.totalTimeout)
    switch path {
    case .send: #expect(try await manager.send(probe, accessToken: token) == Item(id: 1))
    case .isolated:
      #expect(try await Self.onMainActor(manager, token) == Item(id: 1))
    case .decoded: #expect(try await manager.decodedResponse(to: probe, accessToken: token).value == Item(id: 1))
    case .isolatedDecoded: #expect(try await Self.decoded(manager, probe, token).value == Item(id: 1))
    case .response: #expect(try await manager.response(to: probe, accessToken: token).statusCode == 200)
    case .stream: #expect(try await manager.stream(probe, accessToken: token).statusCode == 200)
    case .events:
      for try await event in manager.events(probe, accessToken: token) {
        #expect(event.data == "1")
        break
      }
    case .download: #expect(try await manager.download(probe, to: folder["a"], accessToken: token).statusCode == 200)
    case .upload:
      try Data("abc".utf8).write(to: folder["up"])
      let uploaded = try await manager.upload(
        upload, fromFile: folder["up"], accessToken: token, options: UploadOptions(using: .tus))
      #expect(uploaded.size == 3)
    case .cancelUpload:
      _ = try await manager.cancelUpload(
        upload, accessToken: token, options: UploadOptions(using: .tus, state: folder["state"]))
    case .queue:
      let queue = try PrismOfflineQueue(
        directory: nil, delivery: .manager(manager, accessToken: token), autoFlush: false,
        options: PrismOfflineQueueOptions())
      try await queue.enqueue(URLRequest(url: server.url("/item")))
      do { try await queue.flush() } catch {
        // Whatever the error is: the request was not sent.
        if !(error is CancellationError) { #expect(await queue.count == 1) }
        throw error
      }
      #expect(await queue.count == 0)
    case .cached:
      let item = try await manager.send(plain, accessToken: token, policy: .networkOnly, cache: cache)
      #expect(item == Item(id: 1))
    case .responses:
      for try await item in manager.responses(plain, accessToken: token, cache: cache) { #expect(item == Item(id: 1)) }
    case .query, .subscription, .socket:
      do {
        try await PrismNetworkFailure.detailed {
          if path == .query {
            let response: PrismGraphQLResponse<[String: Int]> = try await client.execute(query)
            #expect(response.data == ["a": 1])
            return
          }
          let transport: PrismGraphQLTransport = path == .socket ? .webSocket : .serverSentEvents
          for try await response in client.subscribe(query, as: [String: Int].self, over: transport) {
            #expect(response.data == ["a": 1])
            break
          }
        }
      } catch let failure as PrismNetworkFailure {
        throw failure.underlyingError ?? failure
      }
    }
  }

  @MainActor private static func onMainActor(
    _ manager: NetworkManager, _ token: @escaping @Sendable () async throws -> String?
  ) async throws -> Item {
    try await isolated(manager, ItemProbe(), token)
  }

  /// The conformance of a generic request may be isolated: it is decoded here.
  @MainActor private static func isolated<T: NetworkRequest>(
    _ manager: NetworkManager, _ request: T, _ token: @escaping @Sendable () async throws -> String?
  ) async throws -> T.Response {
    try await manager.send(request, accessToken: token)
  }

  private static func decoded<T: NetworkRequest>(
    _ manager: NetworkManager, _ request: T, _ token: @escaping @Sendable () async throws -> String?
  ) async throws -> DecodedResponse<T.Response> {
    try await manager.decodedResponse(to: request, accessToken: token)
  }

  @Test(arguments: Path.allCases) func everyAttemptAsksOnce(path: Path) async throws {
    // Without a state file there is nothing to cancel.
    guard path != .cancelUpload else { return }
    let store = Store()
    let manager = Wire.automatic.manager(server)
    manager.tokenRefresher = store
    try await perform(path, manager) { await store.read() }
    #expect(await store.reads == 2)
    #expect(await store.refreshes == 1)
    let tokens = server.requests.map { $0.header("Authorization") }
    #expect(tokens.first == "Bearer old")
    #expect(tokens.dropFirst().allSatisfy { $0 == "Bearer new" })
  }

  @Test(arguments: Path.allCases, [0, 1, 2]) func errorOfTheClosureEndsTheCall(path: Path, index: Int) async throws {
    guard path != .cancelUpload else { return }
    let errors: [any Error] = [
      URLError(.timedOut), HTTPError(statusCode: 503, data: Data(), headers: [:]),
      DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "token")),
    ]
    let error = errors[index]
    let count = Locked(0)
    let manager = Wire.automatic.manager(server, clock: RecordingClock())
    let probe = ItemProbe(retryPolicy: RetryPolicy(maxRetryCount: 3, delay: 0))
    do {
      try await perform(path, manager, probe: probe) {
        count.withLock { $0 += 1 }
        throw error
      }
      Issue.record("nothing was thrown")
    } catch let thrown {
      #expect(String(reflecting: thrown) == String(reflecting: error))
    }
    #expect(count.withLock { $0 } == 1)
    #expect(server.requests.isEmpty)
  }

  @Test(arguments: Path.allCases) func cancellationEndsTheWait(path: Path) async throws {
    guard path != .cancelUpload else { return }
    let deaf = Deaf()
    defer { deaf.release() }
    let manager = Wire.automatic.manager(server)
    let task = Task {
      try await perform(path, manager) {
        await deaf.wait()
        return "new"
      }
    }
    await deaf.hasBegun.wait()
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(server.requests.isEmpty)
  }

  @Test(arguments: [Path.send, .stream, .download, .upload, .cached]) func totalTimeoutEndsTheWait(path: Path)
    async throws
  {
    let deaf = Deaf()
    defer { deaf.release() }
    var probe = ItemProbe(retryPolicy: RetryPolicy(maxRetryCount: 3, delay: 0))
    probe.totalTimeout = .milliseconds(10)
    let error = await #expect(throws: URLError.self) {
      try await perform(path, Wire.automatic.manager(server), probe: probe) {
        await deaf.wait()
        return "new"
      }
    }
    #expect(error?.code == .timedOut)
    #expect(error?.localizedDescription.contains("access token") == true)
  }

  @Test func aRetryAsksAgain() async throws {
    let session = StubSession()
    session.on(.get, "/item", .status(503), .status(503), .json(#"{"id":1,"name":"teapot"}"#))
    let manager = NetworkManager(baseURL: server.baseURL, session: session)
    let store = Store()
    let probe = ItemProbe(retryPolicy: RetryPolicy(maxRetryCount: 2, delay: 0))
    #expect(try await manager.send(probe) { await store.read() } == Item(id: 1))
    #expect(await store.reads == 3)
    #expect(session.requests.allSatisfy { $0.value(forHTTPHeaderField: "Authorization") == "Bearer old" })
  }

  @Test func middlewareSeesTheToken() async throws {
    let store = Store()
    let manager = Wire.automatic.manager(server)
    manager.tokenRefresher = store
    let seen = Locked<[String?]>([])
    manager.middleware = [
      Intercept { request, _, next in
        seen.withLock { $0.append(request.value(forHTTPHeaderField: "Authorization")) }
        return try await next(request)
      }
    ]
    #expect(try await manager.send(ItemProbe()) { await store.read() } == Item(id: 1))
    #expect(seen.withLock { $0 } == ["Bearer old"])
    #expect(await store.reads == 2)
  }

  /// Errors of the token are thrown, and those of the server that contain a GraphQL response are not.
  @Test func tokenThatMiddlewareObtainsAfterAFailureHasNotFailed() async throws {
    server.route("POST", "/item") { _ in .json(#"{"errors":[{"message":"no"}]}"#, status: 400) }
    let manager = Wire.automatic.manager(server)
    manager.middleware = [
      Intercept { request, _, next in
        for _ in 0..<2 { _ = try? await next(request) }
        return try await next(request)
      }
    ]
    let count = Locked(0)
    var options = PrismGraphQLOptions()
    options.accessTokenProvider = {
      let number = count.withLock { count in
        count += 1
        return count
      }
      guard number != 2 else { throw URLError(.timedOut) }
      return "new"
    }
    let client = PrismGraphQLClient(endpointURL: server.url("/item"), manager: manager, options: options)
    let response: PrismGraphQLResponse<[String: Int]> = try await client.execute(
      PrismGraphQLQuery(query: "query { a }"))
    #expect(response.errors?.map(\.message) == ["no"])
    #expect(count.withLock { $0 } == 3)
    #expect(server.requestCount == 2)
  }

  @Test func cancelledUploadIsDeletedWithTheToken() async throws {
    let manager = Wire.automatic.manager(server)
    let store = Store()
    await store.refreshTokenIfNeeded()
    let options = UploadOptions(using: .tus, state: folder["state"])
    let request = Probe<EmptyResponse>(method: .post)
    try Data("abc".utf8).write(to: folder["up"])
    server.route("PATCH", "/files/1") { _ in .status(500) }
    await #expect(throws: HTTPError.self) {
      try await manager.upload(request, fromFile: folder["up"], accessToken: { await store.read() }, options: options)
    }
    struct Refused: Error {}
    await #expect(throws: Refused.self) {
      try await manager.cancelUpload(request, accessToken: { throw Refused() }, options: options)
    }
    #expect(try await manager.cancelUpload(request, accessToken: { await store.read() }, options: options))
    #expect(server.requests.last?.method == "DELETE")
    #expect(server.requests.last?.header("Authorization") == "Bearer new")
  }

  /// A closure that is not asynchronous remains that of the documented methods: it need not be `Sendable`, and is called on the
  /// caller's actor.
  @Test func documentedMethodsAreStillChosen() async throws {
    final class Counter { var count = 0 }
    let counter = Counter()
    let manager = Wire.automatic.manager(server)
    func token() -> String? {
      counter.count += 1
      return "new"
    }
    _ = try await manager.send(ItemProbe()) { token() }
    _ = try await manager.send(ItemProbe(), accessToken: { token() })
    _ = try await manager.send(ItemProbe(), accessToken: token)
    _ = try await manager.response(to: ItemProbe()) { token() }
    _ = try await manager.decodedResponse(to: ItemProbe()) { token() }
    _ = try await manager.stream(ItemProbe()) { token() }
    _ = try await manager.download(ItemProbe(), to: folder["b"]) { token() }
    _ = try manager.curlCommand(for: ItemProbe()) { token() }
    for try await _ in manager.events(ItemProbe(), accessToken: { token() }) { break }
    #expect(counter.count == 9)
    await #expect(throws: NetworkError.unauthorized) { try await manager.send(ItemProbe(), accessToken: nil) }
    await #expect(throws: NetworkError.unauthorized) { try await manager.send(ItemProbe()) }
    await #expect(throws: NetworkError.unauthorized) { try await manager.send(ItemProbe()) { nil } }
  }

  // MARK: - Reconnecting WebSockets

  private func socket(_ tokens: TestTokens, _ policy: WebSocketReconnectPolicy) throws -> ReconnectingWebSocket {
    let url = try #require(URL(string: "ws://127.0.0.1:\(server.port)/ws"))
    return ReconnectingWebSocket(reconnect: policy) {
      var request = URLRequest(url: url)
      request.setValue("Bearer \(tokens.current)", forHTTPHeaderField: "Authorization")
      return request
    }
  }

  @Test func reconnectingSocketRenewsItsToken() async throws {
    server.route("/ws") { request in
      guard request.header("Authorization") == "Bearer new" else {
        return .text("expired", status: 401, headers: ["WWW-Authenticate": "Bearer error=\"invalid_token\""])
      }
      return .webSocket(request) { peer in
        peer.send("hello")
        peer.close(1000)
        _ = peer.readMessage()
      }
    }
    let tokens = TestTokens("old")
    let challenge = Locked<NetworkResponse?>(nil)
    var policy = WebSocketReconnectPolicy()
    policy.refreshToken = { response in
      challenge.withLock { $0 = response }
      try await tokens.refreshTokenIfNeeded()
    }
    let socket = try socket(tokens, policy)
    var messages: [WebSocketMessage] = []
    for try await message in socket { messages.append(message) }
    #expect(messages == [.text("hello")])
    #expect(tokens.count == 1)
    let response = challenge.withLock { $0 }
    #expect(response?.statusCode == 401)
    #expect(response?.value(forHTTPHeaderField: "WWW-Authenticate") == "Bearer error=\"invalid_token\"")
    #expect(response?.data == Data("expired".utf8))
    // The first refusal was no lost connection.
    var lost = 0
    for await event in socket.events { if case .lost = event { lost += 1 } }
    #expect(lost == 1)
  }

  @Test func tokenThatStaysRefusedEndsTheSocket() async throws {
    server.route("/ws") { _ in .status(401) }
    let tokens = TestTokens("old")
    var policy = WebSocketReconnectPolicy()
    policy.refreshToken = { _ in try await tokens.refreshTokenIfNeeded() }
    let refused = try socket(tokens, policy)
    let error = await #expect(throws: WebSocketError.self) { try await refused.receive() }
    guard case .refused(401, _)? = error else { throw NetworkError.invalidResponse }
    #expect(tokens.count == 1)
    #expect(server.requests.map { $0.header("Authorization") } == ["Bearer old", "Bearer new"])

    struct SignedOut: Error {}
    policy.refreshToken = { _ in throw SignedOut() }
    let signedOut = try socket(tokens, policy)
    await #expect(throws: SignedOut.self) { try await signedOut.receive() }
  }
}
