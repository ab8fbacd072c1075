import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(Darwin)
  import Network
#endif

/// Whatever error a user's code throws, inside any kind of request, is the error that the caller receives.
@Suite(.timeLimit(.minutes(10))) struct ThrownErrorsTests {
  private struct Unknown: Error {}

  /// One of each of the library's own errors, and one that it does not know.
  private static let errors: [any Error] =
    PrismNetworkError.allCases + [
      PrismNetworkFailure(.forbidden, because: Unknown()), HTTPError(statusCode: 503, data: Data(), headers: [:]),
      NetworkError.unauthorized, NetworkError.invalidURL, NetworkError.emptyResponse, StreamingError.invalidResponse,
      InvalidHeaderError(field: "x", reason: .invalidName), RequestBodyError.alreadySent, WebSocketError.timedOut,
      WebSocketError.refused(status: 503, headers: [:]), EventStreamError.unexpectedStatus(201),
      DownloadError.incomplete(received: 1, announced: 2),
      StreamLineTooLongError(line: 1, limitBytes: 1), NetworkMiddlewareError.invalidResponse, ConcurrentReadError(),
      PrismGraphQLSubscriptionError.notAcknowledged, PrismOfflineQueueError.noQueue, HARError.tooLarge(limit: 1),
      CircuitBreaker.OpenError(host: "a", retryAfter: .seconds(1)),
      StubSession.UnexpectedRequest(request: "", routes: []),
      RateLimiter.LimitError(host: "a", reason: .waitTooLong, retryAfter: .seconds(1)), URLError(.timedOut),
      DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "")), Unknown(),
    ]

  enum Place: CaseIterable, Sendable {
    case call, attempt, session, refresher, errorDecoder, responseErrorDecoder, decode
  }
  enum Path: CaseIterable, Sendable {
    case send, response, stream, download, events, queue, request, redirect, responses, query, subscription
    var isPrism: Bool { [.request, .redirect, .responses, .query, .subscription].contains(self) }
    var isGraphQL: Bool { self == .query || self == .subscription }
  }

  @Test(arguments: Place.allCases, Path.allCases)
  func errorReachesTheCaller(_ place: Place, _ path: Path) async throws {
    guard Self.exists(place, path) else { return }
    let server = try LoopbackServer()
    for method in ["GET", "POST"] {
      server.route(method, "/item") { _ in
        switch place {
        case .refresher: .status(401)
        case .errorDecoder, .responseErrorDecoder: .status(500)
        default: .json(Teapot(id: 1))
        }
      }
    }
    for error in Self.errors {
      let thrown = await Self.error(of: path, at: server, throwing: error, in: place)
      let cause = (thrown as? PrismNetworkFailure).map { $0.underlyingError ?? $0.error }
      let expected = (error as? PrismNetworkFailure)?.underlyingError ?? error
      #expect(String(reflecting: cause ?? thrown) == String(reflecting: expected), "\(place) \(path)")
      if path.isPrism, let own = error as? PrismNetworkError {
        #expect((thrown as? PrismNetworkFailure)?.error == own, "\(place) \(path)")
      }
    }
  }

  private static func exists(_ place: Place, _ path: Path) -> Bool {
    switch place {
    case .call, .attempt: true
    case .session: !path.isPrism || path.isGraphQL
    // A queue has no errors of its own requests, and an adapter no tokens.
    case .refresher: !path.isPrism || path.isGraphQL
    case .errorDecoder, .responseErrorDecoder: [.send, .response, .stream, .download, .events].contains(path)
    case .decode: [.send, .request, .responses].contains(path)
    }
  }

  private static func error(
    of path: Path, at server: LoopbackServer, throwing error: any Error, in place: Place
  ) async -> any Error {
    do {
      try await perform(path, at: server, throwing: error, in: place)
      return NSError(domain: "nothing was thrown", code: 0)
    } catch { return error }
  }

  private static func perform(
    _ path: Path, at server: LoopbackServer, throwing error: any Error, in place: Place
  ) async throws {
    let manager = manager(server, throwing: error, in: place)
    let request = ThrowingRequest(error: error, place: place)
    let client = PrismNetworkAdapter.forTests()
    let throwing = Intercept { _, _, _ in throw error }
    if place == .call { client.middleware = [throwing] }
    if place == .attempt { client.attemptMiddleware = [throwing] }
    let endpoint = ThrowingEndpointRequest(endpoint: server.endpoint(), error: place == .decode ? error : nil)
    let graphQL = PrismGraphQLClient(endpointURL: server.url("/item"), manager: manager)
    let query = PrismGraphQLQuery(query: "{ a }")
    switch path {
    case .send: _ = try await manager.send(request)
    case .response: _ = try await manager.response(to: request, accepting: .successful)
    case .stream: _ = try await manager.stream(request)
    case .download:
      _ = try await manager.download(
        request, to: FileManager.default.temporaryDirectory.appending(path: UUID().uuidString))
    case .events:
      for try await _ in manager.events(request, reconnect: EventReconnectPolicy(maximumFailures: 0)) {}
    case .queue: try await flush(.manager(manager), server.url("/item"))
    case .request: _ = try await PrismNetworkFailure.detailed { try await client.request(on: endpoint) }
    case .redirect: _ = try await PrismNetworkFailure.detailed { try await client.redirect(from: endpoint) }
    case .responses:
      try await PrismNetworkFailure.detailed { for try await _ in client.responses(on: endpoint) {} }
    case .query:
      _ = try await PrismNetworkFailure.detailed {
        try await graphQL.execute(query) as PrismGraphQLResponse<[String: Int]>
      }
    case .subscription:
      try await PrismNetworkFailure.detailed {
        for try await _ in graphQL.subscribe(query, as: [String: Int].self, over: .serverSentEvents) {}
      }
    }
  }

  private static func manager(
    _ server: LoopbackServer, throwing error: any Error, in place: Place
  ) -> NetworkManager {
    let stub = StubSession()
    for method in [HTTPMethod.get, .post] { stub.on(method, "/item", reply: { _ in throw error }) }
    let manager =
      place == .session ? NetworkManager(baseURL: server.baseURL, session: stub) : Wire.automatic.manager(server)
    let throwing = Intercept { _, _, _ in throw error }
    switch place {
    case .call: manager.middleware = [throwing]
    case .attempt: manager.attemptMiddleware = [throwing]
    case .refresher: manager.tokenRefresher = TestTokens("old", renew: { _ in throw error })
    case .session, .errorDecoder, .responseErrorDecoder, .decode: break
    }
    return manager
  }

  /// Throws the error that the queue reports, or keeps its request because of.
  private static func flush(_ delivery: PrismQueueDelivery, _ url: URL) async throws {
    let undelivered = Locked<(any Error)?>(nil)
    var options = PrismOfflineQueueOptions()
    options.undelivered = { _, error in undelivered.withLock { $0 = error } }
    let queue = try PrismOfflineQueue(directory: nil, delivery: delivery, autoFlush: false, options: options)
    try await queue.enqueue(URLRequest(url: url))
    try await queue.flush()
    if let error = undelivered.withLock({ $0 }) { throw error }
  }

  private struct ThrowingRequest: NetworkRequest {
    typealias Response = Item
    let error: any Error
    let place: Place
    let path = "/item"
    let method = HTTPMethod.get

    var errorDecoder: ((Data) -> Error?)? { place == .errorDecoder ? { _ in error } : nil }
    var responseErrorDecoder: ((NetworkResponse) -> Error?)? {
      place == .responseErrorDecoder ? { _ in error } : nil
    }

    func decodeResponse(data: Data, response: URLResponse) throws -> Item {
      if place == .decode { throw error }
      return Item(id: 1)
    }
  }

  private struct ThrowingEndpointRequest: PrismNetworkRequest {
    typealias Response = Teapot
    let endpoint: LocalEndpoint
    let error: (any Error)?

    func decode(data: Data, with formatter: DateFormatter?) throws -> Teapot {
      if let error { throw error }
      return Teapot(id: 1)
    }
  }

  enum Closure: CaseIterable, Sendable {
    case socketRequest, endpointPort, queueEach, queueBatch, operation, deduplicated, subscribedToken, detailed
  }

  /// A closure or a handler that a user gives to something other than a request.
  @Test(arguments: Closure.allCases) func errorOfAClosureReachesTheCaller(_ closure: Closure) async throws {
    for error in Self.errors {
      let thrown: any Error
      do {
        try await Self.perform(closure, throwing: error)
        thrown = NSError(domain: "nothing was thrown", code: 0)
      } catch { thrown = error }
      let cause = (thrown as? PrismNetworkFailure).map { $0.underlyingError ?? $0.error }
      let expected = (error as? PrismNetworkFailure)?.underlyingError ?? error
      #expect(String(reflecting: cause ?? thrown) == String(reflecting: expected), "\(closure)")
    }
  }

  private static func perform(_ closure: Closure, throwing error: any Error) async throws {
    switch closure {
    case .socketRequest:
      let policy = WebSocketReconnectPolicy(maximumFailures: 0)
      _ = try await ReconnectingWebSocket(reconnect: policy) { throw error }.receive()
    case .endpointPort: _ = try await PrismNetworkSocketAdapter().connect(to: ThrowingSocketEndpoint(error: error))
    case .queueEach: try await flush(.each { _ in throw error }, URL(fileURLWithPath: "/"))
    case .queueBatch:
      let queue = PrismOfflineQueue { _ in throw error }
      try await queue.enqueue(URLRequest(url: URL(fileURLWithPath: "/")))
      try await queue.flush()
      // One that can never be delivered has left the queue.
      #expect(await queue.count == 0)
      throw error
    case .operation:
      let _: Int = try await PrismRetryableRequest(policy: PrismLinearRetry(maxAttempts: 0)) { throw error }.execute()
    case .deduplicated: let _: Int = try await PrismRequestDeduplicator().deduplicate({ throw error }, key: "a")
    case .subscribedToken:
      let server = try LoopbackServer()
      server.route("/item") { _ in .status(401) }
      let manager = Wire.automatic.manager(server)
      manager.tokenRefresher = TestTokens("old", renew: { _ in throw error })
      let client = PrismGraphQLClient(endpointURL: server.url("/item"), manager: manager)
      try await PrismNetworkFailure.detailed {
        for try await _ in client.subscribe(PrismGraphQLQuery(query: "subscription { a }"), as: [String: Int].self) {}
      }
    case .detailed: try await PrismNetworkFailure.detailed { throw error }
    }
  }

  private struct ThrowingSocketEndpoint: PrismNetworkSocketEndpoint {
    let error: any Error

    var host: NWEndpoint.Host { "127.0.0.1" }
    var port: NWEndpoint.Port { get throws { throw error } }
    var parameters: NWParameters { .tcp }
  }

  /// Every kind of failure has a cause, or is one.
  @Test func failureOfAnErrorIsThatError() {
    for error in PrismNetworkError.allCases {
      #expect(PrismNetworkFailure(causedBy: error, url: nil).error == error)
      #expect(PrismNetworkFailure(causedBy: PrismNetworkFailure(error), url: nil).error == error)
    }
  }
}
