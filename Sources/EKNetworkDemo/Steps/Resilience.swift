import EKNetwork
import LoopbackServer

/// A token store as in an app: it holds the token, and refreshes it with a request of the same manager.
actor TokenStore: TokenRefreshProvider {
  struct Token: Codable, Sendable { let value: String }

  struct RefreshToken: NetworkRequest {
    typealias Response = Token
    let path = "/token"
    let method = HTTPMethod.post
  }

  nonisolated let current: Holder
  private let manager: NetworkManager

  init(_ manager: NetworkManager, expired token: String) {
    self.manager = manager
    current = Holder(token)
  }

  func refreshTokenIfNeeded() async throws {
    current.value = try await manager.send(RefreshToken(), accessToken: nil).value
  }
}

/// A string that any thread may read and write. Unchecked: `lock` guards it.
final class Holder: @unchecked Sendable {
  private let lock = NSLock()
  private var stored: String

  init(_ value: String) { stored = value }

  var value: String {
    get { lock.withLock { stored } }
    set { lock.withLock { stored = newValue } }
  }
}

extension Step {
  static let tokenRefresh = Step(
    title: "200 requests, one expired token",
    code: """
      manager.tokenRefresher = tokens  // refreshTokenIfNeeded() is called once
      try await withThrowingTaskGroup(of: User.self) { group in
        for _ in 0..<200 {
          group.addTask {
            try await manager.send(
              GetUser(id: 1), accessToken: { tokens.current.value })
          }
        }
      }
      """
  ) { stage in
    stage.server.route("POST", "/token") { _ in .json(TokenStore.Token(value: "fresh")) }
    stage.server.route("GET", "/users/1") { request in
      request.headers["Authorization"] == "Bearer fresh" ? .json(User(id: 1, name: "Alice")) : .status(401)
    }
    let manager = stage.manager()
    let tokens = TokenStore(manager, expired: "expired")
    manager.tokenRefresher = tokens
    let served = try await withThrowingTaskGroup(of: User.self) { group in
      for _ in 0..<200 {
        group.addTask { try await manager.send(GetUser(id: 1), accessToken: { tokens.current.value }) }
      }
      return try await group.reduce(into: 0) { count, _ in count += 1 }
    }
    let refreshes = stage.server.requests(path: "/token").count
    let refused = stage.server.requests(path: "/users/1").filter { $0.headers["Authorization"] == "Bearer expired" }
    stage.note("\(refused.count) responses were 401, \(refreshes) request went to /token")
    try expect(served == 200, "\(served) of 200 were served")
    try expect(refreshes == 1, "the token was refreshed \(refreshes) times")
    return "200 served, 1 refresh"
  }

  static let retry = Step(
    title: "A flaky endpoint",
    code: """
      var retryPolicy: RetryPolicy {
        .exponentialBackoff(maxRetryCount: 4, baseDelay: 0.1)
      }
      """
  ) { stage in
    struct Flaky: NetworkRequest {
      typealias Response = User
      let path = "/flaky"
      let method = HTTPMethod.get
      var retryPolicy: RetryPolicy { .exponentialBackoff(maxRetryCount: 4, baseDelay: 0.1) }
    }
    stage.server.route(
      "GET", "/flaky", .raw([.close]), .status(503, headers: ["Retry-After": "1"]), .status(500),
      .json(User(id: 7, name: "Grace")))
    let manager = stage.manager()
    let terminal = stage.terminal
    manager.logHandler = { entry in
      guard entry.message.hasPrefix("Retrying") else { return }
      terminal.line(
        "  " + terminal.styled("\(entry.metadata["error"] ?? ""): again in \(entry.metadata["delay"] ?? "?") s", .dim))
    }
    let start = ContinuousClock.now
    let user = try await manager.send(Flaky(), accessToken: nil)
    let attempts = stage.server.requests(path: "/flaky").count
    try expect(user.id == 7, "the user came back as \(user)")
    try expect(ContinuousClock.now - start >= .seconds(1), "Retry-After was not honoured")
    return "\(attempts) attempts; Retry-After: 1 was honoured"
  }

  static let redirect = Step(
    title: "A redirect to another origin",
    code: """
      let user = try await manager.send(GetUser(id: 5), accessToken: { "secret" })
      """
  ) { stage in
    let other = try LoopbackServer()
    defer { other.stop() }
    other.route("GET", "/moved/5") { _ in .json(User(id: 5, name: "Eve")) }
    let target = other.url("/moved/5").absoluteString
    stage.server.route("GET", "/users/5") { _ in .redirect(to: target, status: 302) }
    let user = try await stage.manager().send(GetUser(id: 5), accessToken: { "secret" })
    stage.showWire(stage.server.requests)
    stage.showWire(other.requests)
    try expect(user.id == 5, "the user came back as \(user)")
    try expect(stage.server.requests.first?.headers["Authorization"] == "Bearer secret", "the token was not sent")
    try expect(other.requests.first?.headers["Authorization"] == nil, "the token went to the other origin")
    return "followed; the token stayed at home"
  }

  static let cancellation = Step(
    title: "A cancelled request",
    code: """
      let task = Task { try await manager.send(GetUser(id: 9), accessToken: nil) }
      task.cancel()                          // the connection is closed at once
      """
  ) { stage in
    stage.server.route("GET", "/users/9") { _ in .raw([.stall]) }
    let manager = stage.manager()
    let task = Task { try await manager.send(GetUser(id: 9), accessToken: nil) }
    _ = await stage.server.waitForRequests(count: 1, path: "/users/9")
    let start = ContinuousClock.now
    task.cancel()
    do {
      _ = try await task.value
    } catch is CancellationError {
      let latency = Int((ContinuousClock.now - start) / .microseconds(1))
      guard await stage.server.waitForOpenConnections(0) else {
        throw Unexpected(description: "the connection stayed open")
      }
      return "CancellationError after \(latency) µs; the server saw the connection close"
    }
    throw Unexpected(description: "the request was not cancelled")
  }
}
