import EKNetwork

// The twelve tasks of a new user's first hour, as short as the documents say. Never run: the recipes and the tests are.
// In a module that is isolated to the main actor, what is decoded elsewhere says `nonisolated`.

enum FirstHour {
  nonisolated struct User: Codable, Sendable {
    let id: Int
    let name: String
  }

  nonisolated struct ServerError: Error, Decodable { let message: String }

  // 1. A client for an API, whose requests have something in common.
  static func client(_ url: URL) -> NetworkManager {
    var defaults = RequestDefaults()
    defaults.headers = ["Accept-Language": "en"]
    defaults.timeout = .seconds(10)
    defaults.retryPolicy = .transientFailures
    defaults.errorDecoder = { try? JSONDecoder().decode(ServerError.self, from: $0) }
    return NetworkManager(baseURL: url, defaults: defaults)
  }

  // 2. Tokens that an actor owns, renewed once for all requests.
  actor Tokens: TokenRefreshProvider {
    private(set) var current: String?
    func refreshTokenIfNeeded() async throws { current = "new" }
  }

  static func me(_ manager: NetworkManager, _ tokens: Tokens) async throws -> User {
    manager.tokenRefresher = tokens
    return try await manager.send(.user(1), accessToken: { await tokens.current })
  }

  // 3. Several requests at once.
  static func users(_ manager: NetworkManager, _ ids: [Int]) async throws -> [User] {
    try await withThrowingTaskGroup(of: User.self) { group in
      for id in ids { group.addTask { try await manager.send(.user(id)) } }
      var users: [User] = []
      for try await user in group { users.append(user) }
      return users
    }
  }

  // 4. A form with a large file, and its progress.
  struct SendFilm: NetworkRequest {
    typealias Response = User
    let file: URL
    var progress: NetworkProgress?
    var path: String { "/films" }
    var method: HTTPMethod { .post }
    var multipartData: MultipartFormData? {
      var form = MultipartFormData()
      form.addPart(name: "title", data: Data("A film".utf8), mimeType: "text/plain")
      form.addPart(name: "film", fileURL: file, mimeType: "video/mp4")
      return form
    }
  }

  // 5. A download that goes on where it was interrupted, also in the next run.
  static func download(_ manager: NetworkManager, to file: URL) async throws -> Int64 {
    try await manager.download(Endpoint<EmptyResponse>("films/1"), to: file).size
  }

  // 6. An upload that does.
  static func upload(_ manager: NetworkManager, _ file: URL, state: URL) async throws {
    try await manager.upload(
      Endpoint<EmptyResponse>(.post, "files"), fromFile: file, options: UploadOptions(using: .tus, state: state))
  }

  // 7. The stream of a language model's reply.
  static func chat(_ manager: NetworkManager, _ prompt: String) async throws -> String {
    let request = Endpoint<EmptyResponse>(
      .post, "chat",
      body: RequestBody(json: ["stream": true, "messages": [["role": "user", "content": .string(prompt)]]]))
    var reply = ""
    for try await event in try await manager.stream(request).body.events() where event.data != "[DONE]" {
      let piece = try JSONDecoder().decode(JSONValue.self, from: Data(event.data.utf8))
      reply += piece["choices"]?[0]?["delta"]?["content"]?.stringValue ?? ""
    }
    return reply
  }

  // 8. A WebSocket that reconnects.
  static func listen(_ url: URL) async throws {
    let socket = ReconnectingWebSocket(to: url)
    try await socket.send("hello")
    for try await message in socket { print(message) }
  }

  // 9. A cache on disk, and a certificate authority of one's own.
  static func careful(_ url: URL, cache: URL, authorities: URL) -> NetworkManager {
    let tls = TLSOptions(certificateAuthorityFile: authorities)
    let manager = NetworkManager(baseURL: url, transport: .secured(by: tls))
    manager.httpCache = HTTPCache(directory: cache)
    return manager
  }

  // 10. A program that acts for several users.
  static func server(_ url: URL) -> NetworkManager {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpCookieStorage = nil
    return NetworkManager(baseURL: url, session: URLSession(configuration: configuration))
  }

  // 11. Requests for later.
  static func order(_ manager: NetworkManager, _ folder: URL) async throws {
    manager.offlineQueue = try PrismOfflineQueue(directory: folder, delivery: .manager(manager))
    try await manager.enqueue(Endpoint<EmptyResponse>(.post, "orders", body: RequestBody(json: ["item": 1])))
  }

  // 12. A test without a network.
  static func test(_ url: URL) async throws -> Bool {
    let session = StubSession()
    session.on(.get, "/users/1", .status(503), .json(#"{"id":1,"name":"Ann"}"#))
    let manager = NetworkManager(baseURL: url, session: session)
    manager.defaults.retryPolicy = .transientFailures
    let user = try await manager.send(.user(1))
    return user.name == "Ann" && session.requests.count == 2
  }
}

nonisolated extension NetworkRequest where Self == Endpoint<FirstHour.User> {
  static func user(_ id: Int) -> Self { Endpoint("users/\(id)") }
}
