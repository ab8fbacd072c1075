import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("URLSessionTransport: delegates and session configuration", .timeLimit(.minutes(10)))
struct URLSessionTransportDelegateTests {
  private let server: LoopbackServer

  init() throws { server = try LoopbackServer() }

  private func request(_ path: String, _ change: (inout URLRequest) -> Void = { _ in }) -> TransportRequest {
    var request = URLRequest(url: server.url(path))
    change(&request)
    return TransportRequest(request)
  }

  private func session(_ delegate: any URLSessionDelegate) -> URLSession {
    URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
  }

  // MARK: - Redirects

  @Test("The delegate sees a redirect, and the usual rules apply if it changes nothing")
  func redirectPassed() async throws {
    server.route("/from", .redirect(to: "/to"))
    let delegate = RedirectDelegate { $0 }
    let session = session(delegate)
    let request = request("/from") { $0.timeoutInterval = 7 }
    let fetched = try await URLSessionTransport(session).fetch(request)
    #expect(fetched.head.statusCode == 302)
    guard case .undecided = fetched.redirect else { return #expect(Bool(false), "\(fetched.redirect)") }
    let proposal = try #require(delegate.proposals.withLock { $0.first })
    #expect(proposal.url == server.url("/to"))
    #expect(proposal.timeoutInterval == 7)
    #expect(server.requests(path: "/to").isEmpty)
  }

  @Test("The delegate is called on its own queue")
  func delegateQueue() async throws {
    server.route("/from", .redirect(to: "/to"))
    let delegate = RedirectDelegate { $0 }
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: queue)
    _ = try await URLSessionTransport(session).fetch(request("/from"))
    #expect(delegate.queues.withLock { $0 } == [queue])
  }

  @Test("A redirect that the delegate declines is the response, with its body")
  func redirectDeclined() async throws {
    server.route("/from", .text("moved", status: 302, headers: ["Location": "/to"]))
    let session = session(RedirectDelegate { _ in nil })
    let fetched = try await URLSessionTransport(session).fetch(request("/from"))
    guard case .declined = fetched.redirect else { return #expect(Bool(false), "\(fetched.redirect)") }
    #expect(fetched.data == Data("moved".utf8))
  }

  @Test("The delegate sees the target that is requested", .enabled(if: Platform.isLinux))
  func redirectTargetIsNotEncodedAgain() async throws {
    server.route("/from", .redirect(to: "/t?f[a]=%20"))
    let delegate = RedirectDelegate { $0 }
    _ = try await URLSessionTransport(session(delegate)).fetch(request("/from"))
    #expect(
      delegate.proposals.withLock { $0.map(\.url?.absoluteString) } == [
        server.url("/t").absoluteString + "?f%5Ba%5D=%20"
      ])
  }

  @Test("A request that the delegate changed is returned for the redirect")
  func redirectReplaced() async throws {
    server.route("/from", .text("moved", status: 307, headers: ["Location": "/to"]))
    let session = session(
      RedirectDelegate { proposal in
        var request = proposal
        request.setValue("yes", forHTTPHeaderField: "X-Delegate")
        return request
      })
    let fetched = try await URLSessionTransport(session).fetch(request("/from"))
    guard case .request(let next) = fetched.redirect else { return #expect(Bool(false), "\(fetched.redirect)") }
    #expect(next.value(forHTTPHeaderField: "X-Delegate") == "yes")
  }

  @Test(
    "A request that the delegate changed keeps its body if the method is the same", arguments: [307, 308, 303],
    [true, false])
  func redirectReplacedWithBody(status: Int, isStream: Bool) async throws {
    let body = Data.noise(100_000)
    server.route("POST", "/from", .status(status, headers: ["Location": "/to"]))
    for method in ["GET", "POST"] { server.route(method, "/to", .text("there")) }
    let session = session(
      RedirectDelegate { proposal in
        var request = proposal
        request.setValue("yes", forHTTPHeaderField: "X-Delegate")
        return request
      })
    let request = request("/from") {
      $0.httpMethod = "POST"
      if isStream {
        $0.httpBodyStream = BodyInputStream(.segments([.data(body)]))
        $0.setValue("100000", forHTTPHeaderField: "Content-Length")
      } else {
        $0.httpBody = body
      }
    }
    let response = try await Exchange(transport: URLSessionTransport(session)).load(request.sent)
    #expect(response.data == Data("there".utf8))
    let sent = try #require(server.requests(path: "/to").first)
    #expect(sent.headers["X-Delegate"] == "yes")
    #expect(sent.method == (status == 303 ? "GET" : "POST"))
    #expect(sent.body == (status == 303 ? Data() : body))
  }

  @Test("A request whose delegate does not answer can be cancelled, and late answers do no harm")
  func redirectUnanswered() async throws {
    server.route("/from", .redirect(to: "/to"))
    let delegate = SilentDelegate()
    let session = session(delegate)
    let task = Task { try await URLSessionTransport(session).fetch(request("/from")) }
    #expect(await delegate.asked.wait())
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    delegate.answerTwice()
    #expect(try await URLSessionTransport(session).fetch(request("/missing")).head.statusCode == 404)
  }

  // MARK: - Challenges

  @Test("The delegate's credentials are sent, and the 401 is discarded", arguments: [true, false])
  func credentials(atTaskLevel: Bool) async throws {
    server.route("/secret") { request in
      guard request.header("Authorization") == "Basic dXNlcjpwYXNz" else {
        return .text("no", status: 401, headers: ["WWW-Authenticate": "Basic realm=\"x\""])
      }
      return .text("secret")
    }
    let answer = ChallengeAnswer(
      .useCredential, URLCredential(user: "user", password: "pass", persistence: .none))
    let delegate: any URLSessionDelegate =
      atTaskLevel ? TaskChallengeDelegate(answer) : SessionChallengeDelegate(answer)
    let fetched = try await URLSessionTransport(session(delegate)).fetch(request("/secret"))
    #expect(fetched.head.statusCode == 200)
    #expect(fetched.data == Data("secret".utf8))
  }

  @Test("Credentials that are always wrong return the 401")
  func wrongCredentials() async throws {
    server.route("/secret", .text("no", status: 401, headers: ["WWW-Authenticate": "Basic realm=\"x\""]))
    let delegate = TaskChallengeDelegate(
      ChallengeAnswer(.useCredential, URLCredential(user: "user", password: "wrong", persistence: .none)))
    let fetched = try await URLSessionTransport(session(delegate)).fetch(request("/secret"))
    #expect(fetched.head.statusCode == 401)
    #expect(fetched.data == Data("no".utf8))
    #expect(server.requestCount <= SessionTask.challengeLimit + 1)
  }

  @Test("Default handling, rejection and missing credentials return the 401", arguments: [0, 1, 2])
  func noCredentials(index: Int) async throws {
    server.route("/secret", .text("no", status: 401, headers: ["WWW-Authenticate": "Basic realm=\"x\""]))
    let answers = [
      ChallengeAnswer(.performDefaultHandling), ChallengeAnswer(.rejectProtectionSpace),
      ChallengeAnswer(.useCredential),
    ]
    let delegate = TaskChallengeDelegate(answers[index])
    let fetched = try await URLSessionTransport(session(delegate)).fetch(request("/secret"))
    #expect(fetched.head.statusCode == 401)
    #expect(fetched.data == Data("no".utf8))
  }

  @Test("Cancelling a challenge cancels the request")
  func cancelledChallenge() async throws {
    server.route("/secret", .text("no", status: 401, headers: ["WWW-Authenticate": "Basic realm=\"x\""]))
    let delegate = TaskChallengeDelegate(ChallengeAnswer(.cancelAuthenticationChallenge))
    let error = await #expect(throws: URLError.self) {
      try await URLSessionTransport(session(delegate)).fetch(request("/secret"))
    }
    #expect(error?.code == .cancelled)
  }

  @Test("A body is complete with the credentials", .enabled(if: Platform.isLinux))
  func credentialsForBody() async throws {
    let folder = try ScratchFolder()
    let data = Data.noise(200_000)
    let file = try FileSegment(try folder.file("a", data))
    server.route("POST", "/secret") { request in
      guard request.header("Authorization") != nil else {
        return .text("no", status: 401, headers: ["WWW-Authenticate": "Basic realm=\"x\""])
      }
      return .text("secret")
    }
    let bodies: [InputStream] = [
      BodyInputStream(.segments([.data(data)])), BodyInputStream(.segments([.file(file)])),
      BodyInputStream(.stream(SizedStream(stream: InputStream(data: data), length: 200_000))), InputStream(data: data),
    ]
    for body in bodies {
      let fetched = try await URLSessionTransport(session(basicDelegate())).fetch(
        request("/secret") {
          $0.httpMethod = "POST"
          $0.httpBodyStream = body
        })
      #expect(fetched.head.statusCode == 200)
    }
    #expect(server.requests.enumerated().allSatisfy { ($1.header("Authorization") != nil) == ($0 % 2 == 1) })
    #expect(server.requests.map(\.body) == Array(repeating: data, count: 8))
  }

  @Test("A body of which a part was sent is complete with the credentials", .enabled(if: Platform.isLinux))
  func credentialsForBodyRefusedEarly() async throws {
    server.route(
      "POST", "/secret",
      onHead: { request in
        guard request.header("Authorization") == nil else { return .readBody }
        return .respond(
          .text("no", status: 401, headers: ["WWW-Authenticate": "Basic realm=\"x\""]).then(.close))
      }
    ) { .text("\($0.bodyByteCount)") }
    // More than the system's buffers hold.
    let segments = [BodySegment](repeating: .data(Data.noise(1 << 20)), count: 32)
    let fetched = try await URLSessionTransport(session(basicDelegate())).fetch(
      request("/secret") {
        $0.httpMethod = "POST"
        $0.httpBodyStream = BodyInputStream(.segments(segments))
      })
    #expect(fetched.head.statusCode == 200)
    #expect(fetched.data == Data("\(32 << 20)".utf8))
  }

  private func basicDelegate() -> TaskChallengeDelegate {
    TaskChallengeDelegate(
      ChallengeAnswer(.useCredential, URLCredential(user: "user", password: "pass", persistence: .none)))
  }

  // MARK: - Everything else

  @Test("The delegate receives upload progress")
  func progress() async throws {
    server.route("/upload", .text("ok"))
    let delegate = ProgressDelegate()
    _ = try await URLSessionTransport(session(delegate)).fetch(
      request("/upload") {
        $0.httpMethod = "PUT"
        $0.httpBody = Data(count: 100_000)
      })
    #expect(delegate.sent.withLock { $0 } == 100_000)
  }

  @Test("A custom URLProtocol responds instead of the server")
  func urlProtocol() async throws {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.protocolClasses = [CannedProtocol.self]
    let fetched = try await URLSessionTransport(URLSession(configuration: configuration)).fetch(request("/canned"))
    #expect(fetched.head.statusCode == 203)
    #expect(fetched.data == Data("canned".utf8))
    #expect(server.acceptedConnections == 0)
  }

  @Test("Additional headers are sent, and the request's own take precedence")
  func additionalHeaders() async throws {
    server.route("/", .text("ok"))
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpAdditionalHeaders = ["X-One": "session", "X-Two": "session"]
    let transport = URLSessionTransport(URLSession(configuration: configuration))
    _ = try await transport.fetch(request("/") { $0.setValue("request", forHTTPHeaderField: "x-two") })
    let received = try #require(server.requests.first)
    #expect(received.header("X-One") == "session")
    #expect(received.header("X-Two") == "request")
  }

  @Test("A proxy that Foundation ignores fails the request", .enabled(if: Platform.isLinux))
  func proxyOfConfiguration() async throws {
    server.route("/", .text("ok"))
    for kind in ["HTTP", "HTTPS"] {
      let configuration = URLSessionConfiguration.ephemeral
      configuration.connectionProxyDictionary = ["\(kind)Enable": 1, "\(kind)Proxy": "127.0.0.1", "\(kind)Port": 1]
      let error = await #expect(throws: TransportOptionError.self) {
        try await URLSessionTransport(URLSession(configuration: configuration)).fetch(request("/"))
      }
      #expect(error?.option == "connectionProxyDictionary")
    }
    #expect(server.acceptedConnections == 0)
  }

  @Test("Cookies of every Set-Cookie line are sent back; an explicit field takes precedence")
  func cookies() async throws {
    server.route(
      "/login",
      .text(
        "", status: 302,
        headers: ["Location": "/", "Set-Cookie": "a=1; Path=/; Expires=Wed, 21 Oct 2099 07:28:00 GMT"]
      ).header("Set-Cookie", "b=2; Path=/"))
    server.route("/", .text("ok"))
    let transport = URLSessionTransport(URLSession(configuration: .ephemeral))
    _ = try await transport.fetch(request("/login"))
    _ = try await transport.fetch(request("/"))
    _ = try await transport.fetch(request("/") { $0.setValue("own=1", forHTTPHeaderField: "Cookie") })
    #expect(server.requests(path: "/").map { $0.header("Cookie") } == ["a=1; b=2", "own=1"])
  }

  @Test("Transports of one session share its connections and do not retain it")
  func sharing() async throws {
    server.route("/", .text("ok"))
    var session: URLSession? = URLSession(configuration: .ephemeral)
    weak let gone = session
    for _ in 0..<5 {
      let transport = URLSessionTransport(try #require(session))
      _ = try await transport.fetch(request("/"))
    }
    #expect(server.acceptedConnections == 1)
    session = nil
    if Platform.isLinux { #expect(gone == nil) }
  }
}
