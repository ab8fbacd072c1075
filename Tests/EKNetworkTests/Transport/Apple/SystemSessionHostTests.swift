import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A session that behaves like Apple's, with tasks over real sockets.
private final class SessionDouble: SystemSession {
  let port: Int
  let isBackground: Bool
  let requests = Locked<[URLRequest]>([])
  let isInvalidated = Locked(false)
  let hasFinished = Locked(false)

  init(port: Int, isBackground: Bool = false) {
    self.port = port
    self.isBackground = isBackground
  }

  func makeTask(_ request: URLRequest, for task: SessionTask, caching: SessionCaching) -> (any GatedTask)? {
    // Foundation raises an exception here.
    if isInvalidated.withLock({ $0 }) { return nil }
    #expect(!isBackground)
    requests.withLock { $0.append(request) }
    return SystemTask(task.taskResponse, port: port, target: "/")
  }

  func makeStream(_ body: BodyInputStream, for taskResponse: TaskResponseStream) -> InputStream? {
    InputStream(data: Data())
  }
  func finishTasksAndInvalidate() { hasFinished.withLock { $0 = true } }
}

@Suite("System session host", .timeLimit(.minutes(10)))
struct SystemSessionHostTests {
  private func request(_ server: LoopbackServer) throws -> TransportRequest {
    TransportRequest(URLRequest(url: try #require(URL(string: "\(server.baseURL)"))))
  }

  @Test("A request is sent and bypasses the local cache")
  func sends() async throws {
    let server = try LoopbackServer()
    server.route("/") { _ in .text("hello") }
    let session = SessionDouble(port: server.port)
    let taskResponse = try SystemSessionHost(session, .default) { _ in SessionDouble(port: 1) }.start(
      request(server), limit: 1_000)
    _ = try await taskResponse.head()
    #expect(try await taskResponse.next() == Data("hello".utf8))
    #expect(try await taskResponse.next() == nil)
    #expect(session.requests.withLock { $0.map(\.cachePolicy) } == [.reloadIgnoringLocalCacheData])
    server.stop()
  }

  @Test("All hosts of a session know how its servers ask for passwords, also one that has a session of its own")
  func sharedAuthenticator() throws {
    let (session, other) = (SessionDouble(port: 1), SessionDouble(port: 1))
    func host(_ session: SessionDouble, source: SessionDouble? = nil) -> SystemSessionHost {
      SystemSessionHost(session, .default, source: source) { _ in SessionDouble(port: 1) }
    }
    let hosts = [host(session), host(session), host(other, source: session), host(other)]
    let url = try #require(URL(string: "http://127.0.0.1/"))
    let key = PasswordAuthenticator.Key(
      credential: PasswordCredential(user: "u", password: "p"), origin: try #require(Origin(url)), trust: nil)
    let challenges = AuthenticationChallenge.all(in: "Digest realm=\"r\", qop=\"auth\", nonce=\"n\"")
    let asked = hosts[0].settings.authenticator.withLock {
      $0.scheme(after: challenges, for: key, at: "/", sent: nil, retryCount: 0, clientNonce: "c")
    }
    #expect(asked != nil)
    let basic = AuthenticationChallenge.all(in: "Basic realm=\"r\"")
    let isBasicSent = hosts.map { host in
      let scheme = host.settings.authenticator.withLock {
        $0.scheme(after: basic, for: key, at: "/", sent: nil, retryCount: 0, clientNonce: "c")
      }
      return scheme != nil
    }
    #expect(isBasicSent == [false, false, false, true])
  }

  @Test("The length that is announced is that of the body which is sent")
  func contentLength() async throws {
    let server = try LoopbackServer()
    server.route("/") { _ in .text("hello") }
    let session = SessionDouble(port: server.port)
    let host = SystemSessionHost(session, .default) { _ in SessionDouble(port: 1) }
    let bodies: [InputStream?] = [
      BodyInputStream(.segments([.data(Data(count: 9))])), InputStream(data: Data(count: 9)), nil,
    ]
    for body in bodies {
      var changed = try request(server).sent.urlRequest
      changed.httpMethod = "POST"
      changed.setValue("5", forHTTPHeaderField: "Content-Length")
      changed.setValue("chunked", forHTTPHeaderField: "Transfer-Encoding")
      if let body { changed.httpBodyStream = body }
      _ = try await host.start(TransportRequest(changed), limit: 1_000).head()
    }
    let sent = session.requests.withLock { $0 }
    #expect(sent.map { $0.value(forHTTPHeaderField: "Content-Length") } == ["9", nil, nil])
    #expect(sent.allSatisfy { $0.value(forHTTPHeaderField: "Transfer-Encoding") == nil })
    server.stop()
  }

  @Test("The session receives the password of a URL in Authorization only")
  func passwordOfURL() async throws {
    let server = try LoopbackServer()
    server.route("/") { _ in .text("hello") }
    let session = SessionDouble(port: server.port)
    let host = SystemSessionHost(session, .default) { _ in SessionDouble(port: 1) }
    let url = try #require(URL(string: "http://alice:secret@127.0.0.1:\(server.port)/"))
    let hop = try HopRequest(URLRequest(url: url), session: host.settings)
    _ = try await host.start(TransportRequest(hop), limit: 1_000).head()
    let sent = try #require(session.requests.withLock { $0.first })
    #expect(sent.url?.absoluteString == "http://127.0.0.1:\(server.port)/")
    #expect(sent.value(forHTTPHeaderField: "Authorization") == "Basic YWxpY2U6c2VjcmV0")
    #expect(hop.own.url == url, "a redirect starts from it")
    server.stop()
  }

  @Test("A transfer coding that the session does not apply is refused")
  func transferEncoding() throws {
    var request = HTTPRequest(url: try #require(URL(string: "http://127.0.0.1:1/")))
    request.set("Transfer-Encoding", "gzip, chunked")
    #expect(throws: InvalidHeaderError(field: "Transfer-Encoding", reason: .managedByLibrary)) {
      try request.checkIsSendable()
    }
    request.set("Transfer-Encoding", "chunked")
    try request.checkIsSendable()
  }

  @Test("Background and invalidated sessions throw an error instead of ending the process")
  func unusable() async throws {
    let server = try LoopbackServer()
    let background = SystemSessionHost(
      SessionDouble(port: server.port, isBackground: true), .default
    ) { _ in SessionDouble(port: 1) }
    let one = #expect(throws: URLError.self) { try background.start(request(server), limit: 1) }
    #expect(one?.code == .resourceUnavailable)
    let session = SessionDouble(port: server.port)
    session.isInvalidated.withLock { $0 = true }
    let other = #expect(throws: URLError.self) {
      try SystemSessionHost(session, .default) { _ in SessionDouble(port: 1) }.start(
        request(server), limit: 1)
    }
    #expect(other?.code == .resourceUnavailable)
    #expect(other.map(RetryPolicy.isTransient) == false)
    server.stop()
  }

  @Test("A session's Authorization header is not sent to another origin")
  func foreignOrigin() async throws {
    let server = try LoopbackServer()
    server.route("/") { _ in .text("hello") }
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpAdditionalHeaders = ["Authorization": "Bearer secret", "X-Version": "1"]
    let (session, foreign) = (SessionDouble(port: server.port), SessionDouble(port: server.port))
    let kept = Locked<[[String]]>([])
    let host = SystemSessionHost(session, configuration) { configuration in
      kept.withLock { $0.append((configuration.httpAdditionalHeaders ?? [:]).keys.map { "\($0)" }) }
      return foreign
    }
    #expect(kept.withLock { $0.isEmpty }, "a session has the user's delegate, and is made when it is needed")
    let hop = try HopRequest(
      try request(server).sent.urlRequest, session: host.settings, hasLeftOrigin: true)
    for _ in 1...2 { _ = try await host.start(TransportRequest(hop), limit: 1_000).head() }
    #expect(kept.withLock { $0 } == [["X-Version"]])
    #expect(session.requests.withLock { $0.isEmpty })
    #expect(foreign.requests.withLock { $0.first?.value(forHTTPHeaderField: "Authorization") == nil && $0.count == 2 })
    server.stop()
  }

  /// At its own origin it would be the request's own from there on.
  @Test("A redirect delegate takes no cookie along that the system has added", arguments: ["http://b/", "http://a/b"])
  func cookieOfSystem(_ target: String) throws {
    let configuration = URLSessionConfiguration.ephemeral
    let cookie = HTTPCookie(properties: [.name: "sid", .value: "secret", .domain: "a", .path: "/"])
    configuration.httpCookieStorage?.setCookie(try #require(cookie))
    let settings = SessionSettings(configuration, systemSendsCookies: true)
    let hop = try HopRequest(URLRequest(url: try #require(URL(string: "http://a/"))), session: settings)
    let taskResponse = TaskResponseStream(
      TransportRequest(hop), idleTimeout: nil, limit: 1, overflow: .suspend,
      queue: DispatchQueue(label: "SystemSessionHostTests"))
    let task = SessionTask(taskResponse: taskResponse, cookies: nil, addedFields: hop.addedFields)
    let proposal = URLRequest(url: try #require(URL(string: target)))
    let cookies: [(String, expected: String?)] = [("sid=secret", nil), ("own=1", "own=1")]
    for (cookie, expected) in cookies {
      var copied = proposal
      copied.setValue(cookie, forHTTPHeaderField: "Cookie")
      guard case .request(let request) = task.decision(copied, on: proposal) else { return #expect(Bool(false)) }
      #expect(request.value(forHTTPHeaderField: "Cookie") == expected)
    }
  }

  @Test("A host invalidates its own session, but not the user's", arguments: [true, false])
  func endOfSession(isOwn: Bool) throws {
    let session = SessionDouble(port: 1)
    let source = isOwn ? SessionDouble(port: 1) : nil
    _ = SystemSessionHost(session, .default, source: source) { _ in SessionDouble(port: 1) }
    #expect(session.hasFinished.withLock { $0 } == isOwn)
  }
}

@Suite("Session registry")
struct SessionRegistryTests {
  private final class Host: Sendable {}

  @Test("Each session has one value, which is released with the session")
  func hosts() async throws {
    let registry = SessionRegistry<Host>()
    let session = URLSession(configuration: .ephemeral)
    let first = registry.value(for: session) { Host() }
    #expect(registry.value(for: session) { Host() } === first)
    weak var gone: Host?
    do {
      let short = URLSession(configuration: .ephemeral)
      gone = registry.value(for: short) { Host() }
      #expect(gone != nil)
      short.invalidateAndCancel()
    }
    // Foundation releases an invalidated session on a queue of its own.
    while gone != nil {
      await Task.yield()
      _ = registry.value(for: URLSession(configuration: .ephemeral)) { Host() }
    }
    #expect(registry.value(for: session) { Host() } === first)
  }

  @Test("The value of a released session is removed when its last reference has gone, and no other")
  func release() {
    let registry = SessionRegistry<Host>()
    let other = Host()
    let kept = registry.value(for: other) { Host() }
    weak var gone: Host?
    func use() -> ObjectIdentifier {
      let session = Host()
      gone = registry.value(for: session) { Host() }
      return ObjectIdentifier(session)
    }
    let session = use()
    #expect(registry.hasReleased(session))
    registry.sessionMayBeGone(session)
    #expect(gone == nil)
    #expect(!registry.contains(session))
    #expect(registry.value(for: other) { Host() } === kept)
  }

  @Test("A session whose last reference is that of the registry's own look is not missed")
  func lastReference() {
    final class Holder: Sendable {
      let held: Host?
      init(_ held: Host? = nil) { self.held = held }
    }
    let registry = SessionRegistry<Holder>()
    weak var gone: Holder?
    func use() {
      let session = Host()
      gone = registry.value(for: session) { Holder() }
      // Its value holds the other session until it is removed.
      _ = registry.value(for: Host()) { Holder(session) }
    }
    use()
    #expect(gone != nil)
    _ = registry.value(for: Host()) { Holder() }
    #expect(gone == nil)
  }
}
