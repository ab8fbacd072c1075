import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A server that asks for passwords. ``PasswordPeerTests`` shows that another server takes the answers.
@Suite(.timeLimit(.minutes(5))) struct PasswordsOnTheWireTests {
  struct Ask: NetworkRequest {
    typealias Response = StatusCodeResponse
    var path = "/item"
    var method = HTTPMethod.get
    var body: RequestBody?
    var credential: PasswordCredential? = PasswordCredential(user: "u", password: "p")
  }

  let server: LoopbackServer

  init() throws { server = try LoopbackServer() }

  /// Asks for Digest, and takes any answer.
  func asksForDigest(_ path: String = "/item") {
    server.route(path) { request in
      request.headers["Authorization"]?.hasPrefix("Digest ") == true ? .status(200) : Self.challenge
    }
  }

  private static let digest = "Digest realm=\"r\", qop=\"auth\", nonce=\"n\""

  static var challenge: LoopbackServer.Response { .status(401, headers: ["WWW-Authenticate": digest]) }

  /// Whether a request proves the password, as it was received.
  private static func isProven(_ request: LoopbackServer.Request) -> Bool {
    guard let field = request.headers["Authorization"],
      let parameters = AuthenticationChallenge.all(in: field).first?.parameters, let clientNonce = parameters["cnonce"],
      let count = parameters["nc"].flatMap({ UInt32($0, radix: 16) }),
      let challenge = DigestChallenge.best(of: AuthenticationChallenge.all(in: digest))
    else { return false }
    return field
      == challenge.authorization(
        as: PasswordCredential(user: "u", password: "p"), method: request.method, target: request.target, count: count,
        clientNonce: clientNonce)
  }

  /// The schemes of the answers that the server has received.
  var schemes: [String?] {
    server.requests.map { $0.headers["Authorization"].map { String($0.prefix { $0 != " " }) } }
  }

  @Test(arguments: Wire.allCases) func serverIsAskedOnceAndThenAnsweredInAdvance(_ wire: Wire) async throws {
    asksForDigest()
    let manager = wire.manager(server)
    for _ in 0..<3 { #expect(try await manager.send(Ask()).statusCode == 200) }
    #expect(schemes == [nil, "Digest", "Digest", "Digest"])
    let answers = server.requests.dropFirst().map { AuthenticationChallenge.all(in: $0.headers["Authorization"] ?? "") }
    #expect(answers.map { $0.first?.parameters["nc"] } == ["00000001", "00000002", "00000003"])
    #expect(Set(answers.map { $0.first?.parameters["cnonce"] }).count == 3)
  }

  @Test(arguments: Wire.allCases) func bodyIsSentAgain(_ wire: Wire) async throws {
    asksForDigest()
    let body = RequestBody(data: Data("abc".utf8), contentType: "a/b")
    #expect(try await wire.manager(server).send(Ask(method: .post, body: body)).statusCode == 200)
    #expect(server.requests.map(\.text) == ["abc", "abc"])
  }

  @Test func bodyThatIsUsedUpIsNot() async throws {
    asksForDigest()
    let body = RequestBody(sequence: Pieces([[1]]), contentType: "a/b")
    await #expect(throws: NetworkError.unauthorized) {
      _ = try await Wire.automatic.manager(server).send(Ask(method: .post, body: body))
    }
    #expect(schemes == [nil])
  }

  @Test func wrongPasswordIsSentOnce() async throws {
    server.route("/item") { _ in Self.challenge }
    for _ in 0..<2 {
      let manager = Wire.automatic.manager(server)
      await #expect(throws: NetworkError.unauthorized) { _ = try await manager.send(Ask()) }
    }
    #expect(schemes == [nil, "Digest", nil, "Digest"])
  }

  /// The server may count the failures.
  @Test func eachRequestSendsWrongPasswordOnce() async throws {
    let count = Locked(0)
    server.route("/item") { _ in
      let nonce = count.withLock { count in
        count += 1
        return count
      }
      return .status(401, headers: ["WWW-Authenticate": "Digest realm=\"r\", qop=\"auth\", nonce=\"\(nonce)\""])
    }
    let manager = Wire.automatic.manager(server)
    for _ in 0..<3 { await #expect(throws: NetworkError.unauthorized) { _ = try await manager.send(Ask()) } }
    #expect(schemes == [nil, "Digest", nil, "Digest", nil, "Digest"])
  }

  @Test(arguments: Wire.allCases) func redirectsTakeItToTheSameOriginOnly(_ wire: Wire) async throws {
    let other = try LoopbackServer()
    other.route("/item") { _ in Self.challenge }
    server.route("/item", .redirect(to: "/here", status: 307))
    asksForDigest("/here")
    server.route("/away", .redirect(to: other.url("/item").absoluteString, status: 307))
    let manager = wire.manager(server)
    #expect(try await manager.send(Ask()).statusCode == 200)
    #expect(schemes == [nil, nil, "Digest"])
    await #expect(throws: NetworkError.unauthorized) { _ = try await manager.send(Ask(path: "/away")) }
    #expect(other.requests.map { $0.headers["Authorization"] } == [nil])
  }

  @Test(arguments: Wire.allCases) func middlewareDoesNotTakeItToAnotherOrigin(_ wire: Wire) async throws {
    let other = try LoopbackServer()
    other.route("/item") { _ in .status(401, headers: ["WWW-Authenticate": "Basic realm=\"r\""]) }
    let manager = wire.manager(server)
    manager.middleware = [
      Intercept { request, _, next in
        var request = request
        request.url = other.url("/item")
        return try await next(request)
      }
    ]
    await #expect(throws: NetworkError.unauthorized) { _ = try await manager.send(Ask()) }
    #expect(other.requests.map { $0.headers["Authorization"] } == [nil])
    #expect(server.requestCount == 0)
  }

  @Test(arguments: Wire.allCases) func requestThatMiddlewareSendsIsProven(_ wire: Wire) async throws {
    server.route("/item") { Self.isProven($0) ? .status(200) : Self.challenge }
    let manager = wire.manager(server)
    let url = try #require(URL(string: server.url("/item").absoluteString + "?signature=1"))
    manager.attemptMiddleware = [
      Intercept { request, _, next in
        var request = request
        request.url = url
        request.httpMethod = "DELETE"
        return try await next(request)
      }
    ]
    for _ in 0..<2 { #expect(try await manager.send(Ask()).statusCode == 200) }
    #expect(schemes == [nil, "Digest", "Digest"])
  }

  /// RFC 7616 §3.4: the server may take the same number for a replay.
  @Test(arguments: Wire.allCases) func requestThatMiddlewareSendsTwiceHasTwoNumbers(_ wire: Wire) async throws {
    server.route("/item") { Self.isProven($0) ? .status(200) : Self.challenge }
    let manager = wire.manager(server)
    manager.attemptMiddleware = [
      Intercept { request, _, next in
        _ = try await next(request)
        return try await next(request)
      }
    ]
    for _ in 0..<2 { #expect(try await manager.send(Ask()).statusCode == 200) }
    let counts = server.requests.map { request in
      AuthenticationChallenge.all(in: request.headers["Authorization"] ?? "").first?.parameters["nc"]
    }
    #expect(counts == [nil, nil, "00000001", "00000002", "00000003", "00000004"])
    #expect(server.requests.dropFirst(2).allSatisfy { Self.isProven($0) })
  }

  /// The challenge is about the token, whose server is not sent the password instead.
  @Test(arguments: Wire.allCases, [true, false])
  func credentialsOfAttemptMiddlewareComeFirst(_ wire: Wire, _ changesResponse: Bool) async throws {
    server.route("/item") { _ in .status(401, headers: ["WWW-Authenticate": "Basic realm=\"r\""]) }
    let manager = wire.manager(server)
    manager.attemptMiddleware = [
      Intercept { request, _, next in
        var request = request
        if request.value(forHTTPHeaderField: "Authorization") == nil {
          request.setValue("Bearer t", forHTTPHeaderField: "Authorization")
        }
        var response = try await next(request)
        if changesResponse { response.headers["X-Seen"] = "1" }
        return response
      }
    ]
    await #expect(throws: NetworkError.unauthorized) { _ = try await manager.send(Ask()) }
    #expect(schemes == ["Bearer"])
  }

  /// A server that fails, or limits requests, may not have looked at it, and a cache does not.
  private static let proofs: [(Int, age: String, Bool)] = [
    (403, "", true), (404, "", true), (412, "", true), (400, "", false), (429, "", false), (503, "", false),
    (404, "1", false),
  ]

  @Test(arguments: proofs)
  func passwordIsRememberedAfterAnyStatusThatProvesIt(
    _ status: Int, _ age: String, _ isProof: Bool
  ) async throws {
    server.route("/item") {
      guard $0.headers["Authorization"] != nil else { return Self.challenge }
      return .status(status, headers: age.isEmpty ? [:] : ["Age": age])
    }
    let manager = Wire.automatic.manager(server)
    for _ in 0..<2 { #expect(try await manager.response(to: Ask()).statusCode == status) }
    let second: [String?] = isProof ? ["Digest"] : [nil, "Digest"]
    #expect(schemes == [nil, "Digest"] + second)
  }

  @Test(.enabled(if: Platform.isLinux), arguments: [false, true], [false, true])
  func realmThatIsNotUTF8IsSentBackAsItCame(hasCache: Bool, changesResponse: Bool) async throws {
    let realm = Data("realm=\"B".utf8) + Data([0xFC]) + Data("cher\"".utf8)
    server.route("/item") { request in
      guard request.headers["Authorization"] == nil else {
        return .status(request.head.range(of: realm) == nil ? 400 : 200)
      }
      let head = "HTTP/1.1 401 X\r\nContent-Length: 0\r\nWWW-Authenticate: Digest nonce=n, qop=auth, "
      return .raw([.send(Data(head.utf8) + realm + Data("\r\n\r\n".utf8))])
    }
    let manager = Wire.automatic.manager(server)
    if hasCache { manager.httpCache = HTTPCache() }
    if changesResponse {
      manager.attemptMiddleware = [
        Intercept { request, _, next in
          var response = try await next(request)
          response.headers["X-Seen"] = "1"
          return response
        }
      ]
    }
    #expect(try await manager.send(Ask()).statusCode == 200)
  }

  @Test func ownAuthorizationComesFirst() async throws {
    asksForDigest()
    let manager = Wire.automatic.manager(server)
    await #expect(throws: NetworkError.unauthorized) { _ = try await manager.send(Ask()) { "token" } }
    #expect(schemes == ["Bearer"])
  }

  @Test(arguments: Wire.allCases) func userOfURLIsBasicUntilDigestIsAskedFor(_ wire: Wire) async throws {
    asksForDigest()
    let url = try #require(URL(string: server.baseURL.absoluteString.replacing("//", with: "//u:p@")))
    let manager = wire.manager(url)
    for _ in 0..<2 { _ = try await manager.send(Ask(credential: nil)) }
    #expect(schemes == ["Basic", "Digest", "Digest"])
    // The password was changed: nothing is sent in advance, and never in the clear.
    server.route("/item") { _ in Self.challenge }
    for _ in 0..<2 {
      await #expect(throws: NetworkError.unauthorized) { _ = try await manager.send(Ask(credential: nil)) }
    }
    #expect(schemes == ["Basic", "Digest", "Digest", "Digest", nil, "Digest"])
  }

  @Test func passwordIsNotRevealedAfterDigest() async throws {
    asksForDigest()
    server.route("/other") { _ in .status(401, headers: ["WWW-Authenticate": "Basic realm=\"r\""]) }
    let manager = Wire.automatic.manager(server)
    _ = try await manager.send(Ask())
    await #expect(throws: NetworkError.unauthorized) { _ = try await manager.send(Ask(path: "/other")) }
    #expect(schemes == [nil, "Digest", "Digest"])
  }

  @Test(arguments: [TransportChoice.automatic, .urlSession], [true, false])
  func transportsOfASessionKnowWhatOneWasAskedFor(_ choice: TransportChoice, isOneManager: Bool) async throws {
    asksForDigest()
    server.route("/other") { _ in .status(401, headers: ["WWW-Authenticate": "Basic realm=\"r\""]) }
    let session = URLSession(configuration: .ephemeral)
    let manager = NetworkManager(baseURL: server.baseURL, session: session, transport: choice)
    let other =
      isOneManager ? manager : NetworkManager(baseURL: server.baseURL, session: session, transport: choice)
    _ = try await manager.send(Ask())
    for try await _ in try await other.stream(Ask()).chunks {}
    await #expect(throws: NetworkError.unauthorized) { _ = try await other.stream(Ask(path: "/other")) }
    #expect(schemes == [nil, "Digest", "Digest", "Digest"])
  }

  @Test(.enabled(if: Platform.isLinux), arguments: [TransportChoice.automatic, .urlSession])
  func nothingIsKnownOfAReleasedSession(_ choice: TransportChoice) async throws {
    asksForDigest()
    weak var released: URLSession?
    func make(_ manager: inout NetworkManager?) -> ObjectIdentifier {
      let session = URLSession(configuration: .ephemeral)
      released = session
      manager = NetworkManager(baseURL: server.baseURL, session: session, transport: choice)
      return ObjectIdentifier(session)
    }
    var manager: NetworkManager?
    let session = make(&manager)
    _ = try await manager?.send(Ask())
    #expect(SessionRecord.all.contains(session))
    manager = nil
    // The last tasks of the session may still be ending, and another session may have got its address.
    let end = ContinuousClock.now + .seconds(10)
    while SessionRecord.all.contains(session), ContinuousClock.now < end { await Task.yield() }
    #expect(released == nil)
    #expect(!SessionRecord.all.hasReleased(session))
  }

  /// It may follow redirects itself, and take the fields of the request along.
  @Test(arguments: [true, false], [true, false])
  func customSessionIsNotGivenItForAnotherOrigin(isElsewhere: Bool, hasCache: Bool) async throws {
    final class Session: URLSessionProtocol, Sendable {
      let url: URL
      let sent = Locked<[String?]>([])

      init(respondingFrom url: URL) { self.url = url }

      func data(for request: URLRequest) async throws -> (Data, URLResponse) {
        sent.withLock { $0.append(request.value(forHTTPHeaderField: "Authorization")) }
        let fields = ["WWW-Authenticate": "Basic realm=\"r\""]
        let response = HTTPURLResponse(url: url, statusCode: 401, httpVersion: nil, headerFields: fields)
        return (Data(), try #require(response))
      }
    }
    let other = try #require(URL(string: "http://other.example/item"))
    let session = Session(respondingFrom: isElsewhere ? other : server.url("/moved"))
    let manager = NetworkManager(baseURL: server.baseURL, session: session)
    if hasCache { manager.httpCache = HTTPCache() }
    await #expect(throws: NetworkError.unauthorized) { _ = try await manager.send(Ask()) }
    let expected: [String?] = isElsewhere ? [nil] : [nil, "Basic dTpw"]
    #expect(session.sent.withLock { $0 } == expected)
  }

  /// The system may send the request over https instead, as the server has asked for earlier (RFC 6797 §8.3). It reports no
  /// redirect then.
  @Test func requestThatTheSystemSendsOverTLSIsGivenIt() async throws {
    struct System: Transport {
      let sent = Locked<[String?]>([])
      let sessionSettings = SessionSettings(.ephemeral)
      var resolvesRedirects: Bool { false }
      var resourceTimeout: Duration? { nil }

      func start(_ request: TransportRequest) async throws -> TransportResponse {
        sent.withLock { $0.append(request.sent.urlRequest.value(forHTTPHeaderField: "Authorization")) }
        let head = ResponseHead.make(
          status: 401, reason: "", fields: HeaderFieldList([("WWW-Authenticate", "Basic realm=\"r\"")]),
          url: try #require(URL(string: "https://example.com/")))
        return TransportResponse(head: try #require(head), body: BufferedBody(Data()))
      }
    }
    let system = System()
    let exchange = Exchange(transport: system, credential: PasswordCredential(user: "u", password: "p"))
    let url = try #require(URL(string: "http://example.com/"))
    let response = try await exchange.load(URLRequest(url: url))
    #expect(response.head.statusCode == 401)
    #expect(system.sent.withLock { $0 } == [nil, "Basic dTpw"])
  }

  @Test func cacheKeepsUsersApart() async throws {
    server.route("/item") { request in
      guard request.headers["Authorization"] != nil else { return Self.challenge }
      return .status(200, headers: ["Cache-Control": "max-age=600"])
    }
    let manager = Wire.automatic.manager(server)
    manager.httpCache = HTTPCache()
    for user in ["u", "u", "v", "v"] {
      _ = try await manager.send(Ask(credential: PasswordCredential(user: user, password: "p")))
    }
    #expect(schemes == [nil, "Digest", nil, "Digest"])
    await #expect(throws: NetworkError.unauthorized) { _ = try await manager.send(Ask(credential: nil)) }
  }

  /// The credentials of Digest differ for each request: what counts is whose they are.
  @Test(arguments: [true, false]) func requestsOfOneUserAreShared(_ hasCache: Bool) async throws {
    asksForDigest("/first")
    let gate = Gate()
    server.route("/item") { _ in
      gate.waitBlocking()
      return .status(200, headers: ["Cache-Control": "max-age=60"])
    }
    let manager = Wire.automatic.manager(server)
    let cache = HTTPCache()
    if hasCache { manager.httpCache = cache } else { manager.sharesIdenticalRequests = true }
    let users = ["u", "v"].map { PasswordCredential(user: $0, password: "p") }
    for user in users { _ = try await manager.send(Ask(path: "/first", credential: user)) }
    let tasks = (0..<10).map { number in
      Task { try await manager.send(Ask(credential: users[number % 2])).statusCode }
    }
    func waiting() -> Int {
      hasCache ? cache.flights.waiting : manager.sharedExchanges.waiterCount(CollectedResponse.self)
    }
    while waiting() < 10 { await Task.yield() }
    gate.open()
    for task in tasks { #expect(try await task.value == 200) }
    #expect(server.requests(path: "/item").count == 2)
  }

  @Test func storedResponseThatDependsOnThePasswordIsUsed() async throws {
    server.route("/item") { request in
      guard request.headers["Authorization"] != nil else { return Self.challenge }
      return .status(200, headers: ["Cache-Control": "max-age=600", "Vary": "Authorization"])
    }
    let manager = Wire.automatic.manager(server)
    manager.httpCache = HTTPCache()
    for user in ["u", "u", "v", "v"] {
      _ = try await manager.send(Ask(credential: PasswordCredential(user: user, password: "p")))
    }
    #expect(schemes == [nil, "Digest", nil, "Digest"])
  }

  /// The server has not seen the password with this nonce.
  @Test func storedResponseDoesNotProveThePassword() async throws {
    asksForDigest("/other")
    server.route("/item") { request in
      guard request.headers["Authorization"] != nil else { return Self.challenge }
      return .status(200, headers: ["Cache-Control": "max-age=600", "Vary": "Authorization"])
    }
    let date = Date()
    let cache = HTTPCache(memoryCapacity: 1_000_000, now: { date })
    for path in ["/item", "/other"] {
      let manager = Wire.automatic.manager(server)
      manager.httpCache = cache
      _ = try await manager.send(Ask())
      _ = try await manager.send(Ask(path: path))
    }
    #expect(cache.statistics.hits == 2)
    #expect(schemes == [nil, "Digest", nil, nil, "Digest"])
  }

  @Test func hundredAtOnceHaveCountsOfTheirOwn() async throws {
    asksForDigest()
    let manager = Wire.automatic.manager(server)
    _ = try await manager.send(Ask())
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<100 { group.addTask { _ = try await manager.send(Ask()) } }
      try await group.waitForAll()
    }
    let counts = server.requests.compactMap { request in
      request.headers["Authorization"].flatMap { AuthenticationChallenge.all(in: $0).first?.parameters["nc"] }
    }
    #expect(counts.count == 101 && Set(counts).count == 101)
  }
}
