import EKNetwork
import LoopbackServer
import Testing

/// The code blocks of "Network Client" as printed. The hosts are rerouted to the server of the test.
struct ClientPageTests {
  enum UserEndpoint: PrismNetworkEndpoint {
    case list
    case get(id: String)
    case create(name: String, email: String)

    var host: String { "api.example.com" }

    var path: String {
      switch self {
      case .list: return "/v1/users"
      case .get(let id): return "/v1/users/\(id)"
      case .create: return "/v1/users"
      }
    }

    var method: PrismNetworkMethod {
      switch self {
      case .list, .get: return .get
      case .create: return .post
      }
    }

    var headers: [String: String] {
      ["Content-Type": PrismNetworkHeaderType.json.rawValue]
    }

    var body: (any Encodable)? {
      switch self {
      case .create(let name, let email):
        return ["name": name, "email": email]
      default:
        return nil
      }
    }
  }

  struct User: PrismEntity, Sendable {
    let id: String
    let name: String
    let email: String
  }

  struct ListUsersRequest: PrismNetworkRequest {
    typealias Response = [User]
    let endpoint: UserEndpoint = .list
  }

  struct GetUserRequest: PrismNetworkRequest {
    typealias Response = User
    let endpoint: UserEndpoint

    init(id: String) {
      self.endpoint = .get(id: id)
    }
  }

  actor MockNetworkClient: PrismNetworkClient {
    var mockResponse: Any?

    func request<Request: PrismNetworkRequest>(
      on request: Request,
      with formatter: DateFormatter?
    ) async throws -> Request.Response {
      guard let response = mockResponse as? Request.Response else {
        throw PrismNetworkError.invalidResponse
      }
      return response
    }

    func redirect<Request: PrismNetworkRequest>(
      from request: Request
    ) async throws -> URL {
      throw PrismNetworkError.invalidResponse
    }
  }

  typealias PrismNetworkAdapter = LoopbackClient

  private let alice = User(id: "42", name: "Alice", email: "alice@example.com")

  private func withServer(_ body: (LoopbackServer) async throws -> Void) async throws {
    let server = try LoopbackServer()
    server.route("GET", "/v1/users") { [alice] _ in .json([alice]) }
    server.route("GET", "/v1/users/42") { [alice] _ in .json(alice) }
    try await PrintedHosts.$server.withValue(server) { try await body(server) }
  }

  @Test func fetchingUsers() async throws {
    try await withServer { _ in
      let client = PrismNetworkAdapter()

      // List all users
      let users = try await client.request(on: ListUsersRequest())

      // Get a single user
      let user = try await client.request(on: GetUserRequest(id: "42"))
      print(user.name)  // "Alice"

      #expect(users == [alice])
      #expect(user == alice)
    }
  }

  @Test func customDateDecoding() async throws {
    try await withServer { _ in
      let client = PrismNetworkAdapter()
      let formatter = DateFormatter()
      formatter.dateFormat = "yyyy-MM-dd'T'HH:mm:ss.SSSZ"

      let user = try await client.request(
        on: GetUserRequest(id: "42"),
        with: formatter
      )
      #expect(user == alice)
    }
  }

  @Test func captureRedirect() async throws {
    try await withServer { server in
      server.route("/v1/users/42") { _ in .redirect(to: "/v2/users/42", status: 301) }
      let client = PrismNetworkAdapter()
      let redirectURL = try await client.redirect(
        from: GetUserRequest(id: "42")
      )
      print(redirectURL)  // https://api.example.com/v2/users/42
      #expect(redirectURL == server.url("/v2/users/42"))
      #expect(server.requestCount == 1)
    }
  }

  @Test func customAdapter() async throws {
    try await withServer { _ in
      let config = URLSessionConfiguration.default
      config.timeoutIntervalForRequest = 30

      let cache = URLCache(
        memoryCapacity: 10 * 1024 * 1024,  // 10 MB
        diskCapacity: 50 * 1024 * 1024  // 50 MB
      )

      let client = PrismNetworkAdapter(
        configuration: config,
        cache: cache
      )
      let user = try await client.request(on: GetUserRequest(id: "42"))
      #expect(user == alice)
      #expect(cache.memoryCapacity == 10 * 1024 * 1024 && config.timeoutIntervalForRequest == 30)
    }
  }

  @Test(arguments: [
    (400, "Invalid request"), (401, "Auth required"), (403, "Access denied"), (429, "Server error"),
    (500, "Server error"), (404, "Unexpected response"),
  ])
  func handlingErrors(_ status: Int, _ expected: String) async throws {
    var printed: [String] = []
    func print(_ text: String) { printed.append(text) }
    try await withServer { server in
      server.route("/v1/users/42") { _ in .status(status) }
      let client = PrismNetworkAdapter()
      do {
        let user = try await client.request(on: GetUserRequest(id: "42"))
        Issue.record("\(user)")
      } catch let error as PrismNetworkError {
        switch error {
        case .invalidURL: print("Bad URL")
        case .noConnectivity: print("No network")
        case .unauthorized: print("Auth required")
        case .forbidden: print("Access denied")
        case .badRequest: print("Invalid request")
        case .serverError: print("Server error")
        case .invalidResponse: print("Unexpected response")
        case .noCache: print("No cached data")
        }
      }
    }
    #expect(printed == [expected])
  }

  @Test func mockClient() async throws {
    let mock = MockNetworkClient()
    await mock.respond(with: alice)
    #expect(try await mock.request(on: GetUserRequest(id: "42")) == alice)
    let client: any PrismNetworkClient = mock
    await #expect(throws: PrismNetworkError.invalidResponse) { _ = try await client.request(on: ListUsersRequest()) }
    await #expect(throws: PrismNetworkError.invalidResponse) { _ = try await client.redirect(from: ListUsersRequest()) }
  }

  @Test func createSendsBody() async throws {
    struct CreateUserRequest: PrismNetworkRequest {
      typealias Response = User
      let endpoint: UserEndpoint
    }
    try await withServer { server in
      server.route("POST", "/v1/users") { [alice] _ in .json(alice, status: 201) }
      let request = CreateUserRequest(endpoint: .create(name: "Alice", email: "alice@example.com"))
      let user = try await PrismNetworkAdapter().request(on: request)
      #expect(user == alice)
      #expect(server.requests.first?.text == #"{"email":"alice@example.com","name":"Alice"}"#)
    }
  }
}

extension ClientPageTests.MockNetworkClient {
  func respond(with response: some Sendable) { mockResponse = response }
}
