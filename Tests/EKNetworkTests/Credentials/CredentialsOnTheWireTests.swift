import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Every kind of credential over every kind of redirect, on every path and both transports: what arrives at the end.
struct CredentialsOnTheWireTests {
  /// A credential, or a trace: how it is given, and as which field it is sent.
  enum Kind: CaseIterable {
    case ownAuthorization, ownCookie, ownProxyAuthorization, ownSecret, ownTrace, ownPlain, token, userOfURL
    case sessionAuthorization, sessionCookie, sessionSecret, sessionTrace, sessionPlain, storedCookie

    var field: String {
      switch self {
      case .ownAuthorization, .token, .userOfURL, .sessionAuthorization: "Authorization"
      case .ownCookie, .sessionCookie, .storedCookie: "Cookie"
      case .ownProxyAuthorization: "Proxy-Authorization"
      case .ownSecret, .sessionSecret: "X-Api-Key"
      case .ownTrace, .sessionTrace: "tracestate"
      case .ownPlain, .sessionPlain: "X-Plain"
      }
    }

    /// What is sent.
    var value: String {
      switch self {
      case .token: "Bearer secret"
      case .userOfURL: "Basic " + Data("me:secret".utf8).base64EncodedString()
      case .ownCookie, .sessionCookie, .storedCookie: "sid=secret"
      default: "secret"
      }
    }

    var own: [String: String] {
      switch self {
      case .ownAuthorization, .ownCookie, .ownProxyAuthorization, .ownSecret, .ownTrace, .ownPlain: [field: value]
      default: [:]
      }
    }

    func configure(_ configuration: URLSessionConfiguration) {
      switch self {
      case .sessionAuthorization, .sessionCookie, .sessionSecret, .sessionTrace, .sessionPlain:
        configuration.httpAdditionalHeaders = [field: value]
      case .storedCookie:
        let cookie = HTTPCookie(properties: [.name: "sid", .value: "secret", .domain: "127.0.0.1", .path: "/"])
        if let cookie { configuration.httpCookieStorage?.setCookie(cookie) }
      default: break
      }
    }
  }

  enum Redirect: CaseIterable {
    case none, sameOrigin, sameOriginAbsolute, otherPort, otherHost, otherPortAndBack, otherHostAndBack

    /// Whether the credential is sent to where the redirect ends.
    func sends(_ kind: Kind) -> Bool {
      switch (self, kind) {
      case (_, .ownPlain), (_, .sessionPlain), (.none, _), (.sameOrigin, _), (.sameOriginAbsolute, _): true
      // RFC 6265 §8.5: cookies know hosts, not ports.
      case (.otherPort, .storedCookie), (.otherPortAndBack, .storedCookie), (.otherHostAndBack, .storedCookie): true
      default: false
      }
    }
  }

  enum Path: CaseIterable { case send, stream, download, events, adapter }

  private let home: LoopbackServer
  private let other: LoopbackServer

  init() throws {
    home = try LoopbackServer()
    other = try LoopbackServer()
  }

  /// The routes of a redirect, and what the final response is.
  private func serve(_ redirect: Redirect) {
    let end: LoopbackServer.Handler = {
      $0.header("Accept") == "text/event-stream" ? .status(204) : .json(Item(id: 1))
    }
    home.reset()
    other.reset()
    home.fallback = end
    other.fallback = end
    let back = home.url("/end").absoluteString
    switch redirect {
    case .none: home.route("/item", end)
    case .sameOrigin: home.route("/item") { _ in .redirect(to: "/end", status: 307) }
    case .sameOriginAbsolute: home.route("/item") { _ in .redirect(to: back, status: 307) }
    case .otherPort, .otherHost:
      let host = redirect == .otherHost ? "localhost" : "127.0.0.1"
      let target = "http://\(host):\(other.port)/end"
      home.route("/item") { _ in .redirect(to: target, status: 307) }
    case .otherPortAndBack, .otherHostAndBack:
      let host = redirect == .otherHostAndBack ? "localhost" : "127.0.0.1"
      let target = "http://\(host):\(other.port)/away"
      home.route("/item") { _ in .redirect(to: target, status: 307) }
      other.route("/away") { _ in .redirect(to: back, status: 307) }
    }
  }

  /// Sends the request with the credential along the path.
  private func send(_ kind: Kind, _ path: Path, _ wire: Wire) async throws {
    let user = kind == .userOfURL ? "me:secret@" : ""
    let url = try #require(URL(string: "http://\(user)127.0.0.1:\(home.port)"))
    let manager = wire.manager(url, kind.configure)
    let probe = ItemProbe(headers: kind.own)
    let token: (@Sendable () -> String?)? = kind == .token ? { @Sendable () -> String? in "secret" } : nil
    switch path {
    case .send: _ = try await manager.send(probe, accessToken: token)
    case .stream:
      for try await _ in try await manager.stream(probe, accessToken: token).body {}
    case .download:
      let folder = try ScratchFolder()
      _ = try await manager.download(probe, to: folder["file"], accessToken: token)
    case .events:
      for try await _ in manager.events(probe, accessToken: token) {}
    case .adapter:
      let adapter = PrismNetworkAdapter.forTests(
        transport: wire == .automatic ? .automatic : .urlSession, configure: kind.configure)
      _ = try await adapter.request(on: home.teapot { $0.headers = kind.own })
    }
  }

  @Test(arguments: Wire.allCases, Path.allCases)
  func eachCredentialOverEachRedirect(_ wire: Wire, _ path: Path) async throws {
    for kind in Kind.allCases {
      // An endpoint has no token of its own, and its host is not a URL.
      if path == .adapter, kind == .token || kind == .userOfURL { continue }
      for redirect in Redirect.allCases {
        serve(redirect)
        try await send(kind, path, wire)
        let first = try #require(home.requests.first)
        #expect(first.header(kind.field) == kind.value, "\(kind) over \(redirect), first hop")
        let requests = home.requests + other.requests
        let last = try #require(requests.first { $0.path == (redirect == .none ? "/item" : "/end") })
        #expect(last.header(kind.field) == (redirect.sends(kind) ? kind.value : nil), "\(kind) over \(redirect)")
        for request in other.requests where kind != .ownPlain && kind != .sessionPlain && kind != .storedCookie {
          #expect(!String(decoding: request.head, as: UTF8.self).contains(kind.value), "\(kind) over \(redirect)")
        }
      }
    }
  }

  /// A delegate that edits Foundation's proposal, which on Linux has the credentials for any target.
  @Test(arguments: [false, true])
  func delegateDoesNotSendCredentialsElsewhere(_ choosesTarget: Bool) async throws {
    serve(choosesTarget ? .sameOrigin : .otherPort)
    let target = other.url("/end")
    let delegate = RedirectDelegate { proposal in
      var request = proposal
      request.setValue("1", forHTTPHeaderField: "X-Delegate")
      if choosesTarget { request.url = target }
      return request
    }
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpAdditionalHeaders = ["X-Api-Key": "secret", "X-App": "1"]
    let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    let manager = NetworkManager(baseURL: home.baseURL, session: session)
    let probe = ItemProbe(headers: ["Cookie": "sid=secret", "Proxy-Authorization": "secret"])
    _ = try await manager.send(probe) { "secret" }
    let sent = try #require(other.requests.first)
    #expect(sent.path == "/end")
    #expect(!String(decoding: sent.head, as: UTF8.self).contains("secret"))
    #expect(sent.header("X-Delegate") == "1")
    #expect(sent.header("X-App") == "1")
  }

  private func manager(_ decide: @escaping @Sendable (URLRequest) -> URLRequest?) -> NetworkManager {
    let session = URLSession(configuration: .ephemeral, delegate: RedirectDelegate(decide), delegateQueue: nil)
    return NetworkManager(baseURL: home.baseURL, session: session)
  }

  /// Unless they are those of the request.
  @Test(arguments: [("Bearer other", "Bearer other"), ("Bearer secret", nil)])
  func delegateSendsCredentialsThatItSets(_ credentials: String, _ expected: String?) async throws {
    serve(.otherPort)
    let manager = manager { proposal in
      var request = proposal
      request.setValue(credentials, forHTTPHeaderField: "Authorization")
      return request
    }
    _ = try await manager.send(ItemProbe()) { "secret" }
    #expect(other.requests.map { $0.header("Authorization") } == [expected])
  }

  /// It sees them in its task. Copied at its own origin, they would be the request's own from there on.
  @Test(arguments: [1, 2], [true, false])
  func delegateDoesNotCopyCredentialsElsewhere(_ hops: Int, _ isOfSession: Bool) async throws {
    serve(.otherPort)
    let target = other.url("/end").absoluteString
    if hops == 2 { home.route("/item") { _ in .redirect(to: "/next", status: 307) } }
    home.route("/next") { _ in .redirect(to: target, status: 307) }
    let configuration = URLSessionConfiguration.ephemeral
    if isOfSession { configuration.httpAdditionalHeaders = ["Authorization": "Bearer secret"] }
    let delegate = RedirectDelegate(copiesTask: true) { proposal in
      var request = proposal
      request.setValue("1", forHTTPHeaderField: "X-Delegate")
      return request
    }
    let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    let manager = NetworkManager(baseURL: home.baseURL, session: session)
    manager.attemptMiddleware = [
      Intercept { request, context, next in
        var request = request
        if !isOfSession, !context.hasLeftOrigin {
          request.setValue("Bearer secret", forHTTPHeaderField: "Authorization")
        }
        return try await next(request)
      }
    ]
    _ = try await manager.send(ItemProbe())
    #expect(home.requests.map { $0.header("Authorization") } == Array(repeating: "Bearer secret", count: hops))
    #expect(other.requests.map { $0.header("Authorization") } == [nil])
    #expect(other.requests.map { $0.header("X-Delegate") } == ["1"])
  }

  @Test func delegateDoesNotSendCredentialsOfMiddlewareElsewhere() async throws {
    serve(.sameOrigin)
    let target = other.url("/end")
    let manager = manager { proposal in
      var request = proposal
      request.url = target
      return request
    }
    manager.attemptMiddleware = [
      Intercept { request, context, next in
        var request = request
        if !context.hasLeftOrigin { request.setValue("Bearer other", forHTTPHeaderField: "Authorization") }
        return try await next(request)
      }
    ]
    _ = try await manager.send(ItemProbe()) { "secret" }
    #expect(home.requests.map { $0.header("Authorization") } == ["Bearer other"])
    #expect(other.requests.map { $0.header("Authorization") } == [nil])
  }

  @Test func aHandshakeFollowsNoRedirect() async throws {
    let target = other.url("/end").absoluteString
    home.route("/item") { _ in .redirect(to: target, status: 307) }
    var request = URLRequest(url: try #require(URL(string: "ws://me:secret@127.0.0.1:\(home.port)/item")))
    request.setValue("sid=1", forHTTPHeaderField: "Cookie")
    await #expect(throws: WebSocketError.self) { _ = try await WebSocket.connect(to: request) }
    #expect(home.requests.first?.header("Authorization") == Kind.userOfURL.value)
    #expect(home.requests.first?.header("Cookie") == "sid=1")
    #expect(other.requestCount == 0)
  }
}
