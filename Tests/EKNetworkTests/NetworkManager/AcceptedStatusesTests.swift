import LoopbackServer
import Testing

@testable import EKNetwork

/// Every status can be a response.
@Suite(.timeLimit(.minutes(5))) struct AcceptedStatusesTests {
  private let server: LoopbackServer
  private let count = Locked(0)

  init() throws { server = try LoopbackServer() }

  private func route(_ path: String = "/item", _ response: @escaping @Sendable (Int) -> LoopbackServer.Response) {
    server.route(path) { [count] _ in
      response(
        count.withLock { count in
          count += 1
          return count
        })
    }
  }

  @Test(arguments: Wire.allCases, [200, 299, 300, 404, 409, 500, 503, 599])
  func anAcceptedStatusIsTheResult(wire: Wire, status: Int) async throws {
    route { _ in .json(#"{"id":7}"#, status: status) }
    var probe = Probe<Numbered>(retryPolicy: RetryPolicy(maxRetryCount: 3, delay: 0), acceptedStatuses: .any)
    probe.errorDecoder = { _ in NetworkError.invalidResponse }
    let manager = wire.manager(server)
    #expect(try await manager.send(probe) == Numbered(id: 7))
    #expect(try await manager.response(to: Probe<Numbered>()).decode(Numbered.self) == Numbered(id: 7))
    let stream = try await manager.stream(probe)
    #expect(stream.statusCode == status)
    #expect(try await stream.body.reduce(into: Data()) { $0 += $1 } == Data(#"{"id":7}"#.utf8))
    #expect(count.withLock { $0 } == 3)
  }

  @Test(arguments: Wire.allCases) func otherStatusesAreErrors(wire: Wire) async throws {
    route { .json("{}", status: $0 < 3 ? 503 : 200) }
    let retries = RetryPolicy(maxRetryCount: 3, delay: 0)
    let manager = wire.manager(server, clock: RecordingClock())
    let error = await #expect(throws: HTTPError.self) {
      try await manager.send(Probe<EmptyResponse>(retryPolicy: retries, acceptedStatuses: [404]))
    }
    // A success that is not accepted was carried out, and is not retried.
    #expect(error?.statusCode == 200)
    #expect(count.withLock { $0 } == 3)
    await #expect(throws: HTTPError.self) { try await manager.response(to: Probe<Numbered>(), accepting: [404]) }
    await #expect(throws: HTTPError.self) { try await manager.stream(Probe<Numbered>(acceptedStatuses: [404])) }
  }

  /// The refresh comes first: it is about who asks, not about what the answer is worth.
  @Test(arguments: Wire.allCases, [true, false]) func acceptedUnauthorized(wire: Wire, hasRefresher: Bool) async throws
  {
    server.route("/item") { request in
      .json(#"{"id":1}"#, status: 401).header("WWW-Authenticate", request.headers["Authorization"] ?? "")
    }
    let tokens = TestTokens("old")
    let manager = wire.manager(server)
    if hasRefresher { manager.tokenRefresher = tokens }
    let token = hasRefresher ? "Bearer new" : "Bearer old"
    let response = try await manager.response(to: Probe<Numbered>()) { tokens.current }
    #expect(response.statusCode == 401 && !response.isSuccess)
    #expect(response.value(forHTTPHeaderField: "www-authenticate") == token)
    #expect(try response.decode(Numbered.self) == Numbered(id: 1))
    let stream = try await manager.stream(Probe<Numbered>(acceptedStatuses: [401])) { tokens.current }
    #expect(stream.value(forHTTPHeaderField: "WWW-Authenticate") == token)
    #expect(try await stream.body.reduce(into: Data()) { $0 += $1 } == Data(#"{"id":1}"#.utf8))
    #expect(tokens.count == (hasRefresher ? 2 : 0))
  }

  private final class Challenged: TokenRefreshProvider {
    let responses = Locked<[NetworkResponse]>([])
    func refreshTokenIfNeeded() async throws { throw NetworkError.invalidResponse }
    func refreshToken(after response: NetworkResponse) async throws { responses.withLock { $0.append(response) } }
  }

  @Test(arguments: Wire.allCases) func refresherSeesTheChallenge(wire: Wire) async throws {
    server.route("/item") { _ in .json("{}", status: 401).header("WWW-Authenticate", #"Bearer scope="a""#) }
    let manager = wire.manager(server)
    let refresher = Challenged()
    manager.tokenRefresher = refresher
    await #expect(throws: NetworkError.unauthorized) { try await manager.send(Probe<Numbered>()) }
    await #expect(throws: NetworkError.unauthorized) { try await manager.stream(Probe<Numbered>()) }
    _ = try await manager.stream(Probe<Numbered>(acceptedStatuses: .any))
    let responses = refresher.responses.withLock { $0 }
    #expect(responses.map(\.statusCode) == [401, 401, 401])
    #expect(
      responses.map { $0.value(forHTTPHeaderField: "WWW-Authenticate") }
        == Array(repeating: #"Bearer scope="a""#, count: 3))
    #expect(responses.map { String(decoding: $0.data, as: UTF8.self) } == ["{}", "{}", ""])
  }

  private final class SameHost: TokenRefreshProvider {
    let manager = Locked<NetworkManager?>(nil)
    func refreshTokenIfNeeded() async throws {
      _ = try await manager.withLock { $0 }?.send(Probe<StatusCodeResponse>(path: "/token"))
    }
  }

  /// The only connection to the host must not be held by the challenge.
  @Test(arguments: Wire.allCases) func refreshDoesNotWaitForTheChallenge(wire: Wire) async throws {
    let isRenewed = Locked(false)
    server.route("/item") { _ in
      isRenewed.withLock { $0 }
        ? .json(#"{"id":9}"#) : .streaming(contentLength: 1 << 20, status: 401, [.send(Data(count: 1 << 10)), .stall])
    }
    server.route("/token") { _ in
      isRenewed.withLock { $0 = true }
      return .status(204)
    }
    let manager = wire.manager(server) { $0.httpMaximumConnectionsPerHost = 1 }
    let refresher = SameHost()
    refresher.manager.withLock { $0 = manager }
    manager.tokenRefresher = refresher
    let response = try await manager.stream(Probe<Numbered>(acceptedStatuses: .any))
    #expect(response.statusCode == 200)
    refresher.manager.withLock { $0 = nil }
  }

  private struct Refusal: Error, Equatable {
    var status: Int
    var challenge: String?
    var body: String
  }

  private struct Refused: NetworkRequest {
    typealias Response = EmptyResponse
    let path = "/item"
    let method = HTTPMethod.get
    var status: Int
    var responseErrorDecoder: ((NetworkResponse) -> Error?)? {
      { response in
        guard response.statusCode == status else { return nil }
        let body = String(decoding: response.data, as: UTF8.self)
        return Refusal(status: status, challenge: response.value(forHTTPHeaderField: "www-authenticate"), body: body)
      }
    }
    var errorDecoder: ((Data) -> Error?)? { { _ in Refusal(status: 0, body: "by its body") } }
  }

  @Test(arguments: Wire.allCases) func errorsAreMadeFromTheWholeResponse(wire: Wire) async throws {
    server.route("/item") { _ in .json("{}", status: 401).header("WWW-Authenticate", "Basic") }
    let manager = wire.manager(server)
    let refusal = Refusal(status: 401, challenge: "Basic", body: "{}")
    await #expect(throws: refusal) { try await manager.send(Refused(status: 401)) }
    await #expect(throws: refusal) { try await manager.stream(Refused(status: 401)) }
    await #expect(throws: refusal) { for try await _ in manager.events(Refused(status: 401)) {} }
    await #expect(throws: Refusal(status: 0, body: "by its body")) { try await manager.send(Refused(status: 404)) }
    await #expect(throws: Refusal(status: 0, body: "by its body")) {
      for try await _ in manager.events(Refused(status: 404)) {}
    }
  }

  @Test(arguments: Wire.allCases) func acceptedBodiesAreCompleteAndLimited(wire: Wire) async throws {
    let manager = wire.manager(server, clock: RecordingClock())
    route { number in
      number < 3
        ? .streaming(contentLength: 100, status: 404, [.sendString("x"), .close]) : .json(#"{"id":2}"#, status: 404)
    }
    let retries = RetryPolicy(maxRetryCount: 3, delay: 0)
    #expect(try await manager.send(Probe<Numbered>(retryPolicy: retries, acceptedStatuses: [404])) == Numbered(id: 2))
    #expect(count.withLock { $0 } == 3)
    let limited = Probe<Numbered>(acceptedStatuses: [404], maximumResponseSize: 5)
    await #expect(throws: ResponseLimitError.self) { try await manager.send(limited) }
    await #expect(throws: ResponseLimitError.self) { try await manager.response(to: limited) }
  }

  @Test(arguments: Wire.allCases) func progressOfAcceptedStatusIsReported(wire: Wire) async throws {
    route { _ in .data(Data(count: 300_000), status: 404) }
    for isAccepted in [true, false] {
      let received = Locked<Int64>(0)
      var request = TransportRequest(
        try Exchange(transport: wire.transport()).hop(HTTPRequest(url: server.baseURL.appendingPathComponent("item"))))
      let accepted: StatusCodes = isAccepted ? [404] : .successful
      request.onReceive = BodyObserver(accepted: accepted) { count, _ in received.withLock { $0 = count } }
      request.collectsBody = true
      _ = try await wire.transport().start(request).collect()
      #expect(received.withLock { $0 } == (isAccepted ? 300_000 : 0))
    }
  }

  @Test(arguments: Wire.allCases) func unfollowedRedirectIsAResponse(wire: Wire) async throws {
    server.route("/item") { _ in .redirect(to: "/there", status: 302) }
    var probe = Probe<Numbered>()
    probe.redirectPolicy = .reject
    let response = try await wire.manager(server).response(to: probe)
    #expect(response.statusCode == 302)
    #expect(response.value(forHTTPHeaderField: "Location") == "/there")
  }

  /// An error page is not the file.
  @Test func downloadsAcceptSuccessOnly() async throws {
    route { _ in .json("{}", status: 404) }
    let folder = try ScratchFolder()
    await #expect(throws: HTTPError.self) {
      try await Wire.automatic.manager(server).download(Probe<Numbered>(acceptedStatuses: .any), to: folder["a"])
    }
    #expect(!FileManager.default.fileExists(atPath: folder["a"].path))
  }

  @Test func subscriptionsAcceptSuccessOnly() async throws {
    server.route("/item") { _ in
      .data(Data("data: 1\n\n".utf8), status: 404).header("Content-Type", "text/event-stream")
    }
    let manager = Wire.automatic.manager(server)
    await #expect(throws: HTTPError.self) {
      for try await _ in manager.events(Probe<Numbered>(acceptedStatuses: .any)) {}
    }
  }

  /// Who accepts a status gets another result than who does not, also of a shared exchange.
  @Test func sharedExchangesDifferInWhatIsAccepted() async throws {
    let gate = Gate()
    server.route("/item") { _ in
      .streaming(contentLength: 100, status: 404, [.sendString("x"), .wait(gate), .close])
    }
    let manager = Wire.automatic.manager(server)
    manager.sharesIdenticalRequests = true
    async let refused: Void = { await #expect(throws: HTTPError.self) { try await manager.send(Probe<Numbered>()) } }()
    async let accepted: Void = {
      await #expect(throws: URLError.self) { try await manager.response(to: Probe<Numbered>()) }
    }()
    await server.expectRequests(2)
    gate.open()
    _ = await (refused, accepted)
  }

  @Test func policiesStoreSuccessOnly() async throws {
    let cache = PrismResponseCache()
    let manager = Wire.automatic.manager(server)
    let probe = AcceptingItem()
    route { _ in .json(#"{"id":3}"#, status: 404) }
    for _ in 0..<2 { #expect(try await manager.send(probe, policy: .cacheFirst, cache: cache) == Numbered(id: 3)) }
    #expect(count.withLock { $0 } == 2)
  }

  private struct AcceptingItem: NetworkRequest, Sendable {
    typealias Response = Numbered
    let path = "/item"
    let method = HTTPMethod.get
    let acceptedStatuses = StatusCodes.any
  }

  private struct Passing: NetworkMiddleware {
    var status: Int?

    func intercept(
      _ request: URLRequest, context: NetworkMiddlewareContext, next: NetworkMiddlewareNext
    ) async throws -> NetworkMiddlewareResponse {
      var response = try await next(request)
      if let status { response.statusCode = status }
      return response
    }
  }

  @Test func middlewareSeesAcceptedStatuses() async throws {
    route { _ in .json(#"{"id":4}"#, status: 404) }
    let manager = Wire.automatic.manager(server)
    manager.middleware = [Passing()]
    #expect(try await manager.send(Probe<Numbered>(acceptedStatuses: [404])) == Numbered(id: 4))
    #expect(try await manager.stream(Probe<Numbered>(acceptedStatuses: [404])).statusCode == 404)
    manager.middleware = [Passing(status: 410)]
    #expect(try await manager.response(to: Probe<Numbered>()).statusCode == 410)
    for accepted: StatusCodes in [[404], .successful] {
      let error = await #expect(throws: HTTPError.self) {
        try await manager.send(Probe<Numbered>(acceptedStatuses: accepted))
      }
      #expect(error?.statusCode == (accepted == [404] ? 410 : 404))
    }
  }
}
