// Declarations for the code blocks of the documentation that do not compile on their own.
import EKNetwork

nonisolated struct User: Codable, Sendable {
  var id: Int
  var name: String
}

nonisolated struct GetUser: NetworkRequest {
  typealias Response = User
  let id: Int
  var path: String { "/users/\(id)" }
  var method: HTTPMethod { .get }
}

nonisolated struct SignInRequest: NetworkRequest {
  typealias Response = User
  let email: String
  let password: String
  var path: String { "/sign-in" }
  var method: HTTPMethod { .post }
  var body: RequestBody? { RequestBody(encodable: ["email": email, "password": password]) }
}

nonisolated struct RefreshTokenRequest: NetworkRequest {
  struct Response: Decodable, Sendable { let accessToken: String }
  let refreshToken: String
  var path: String { "/token" }
  var method: HTTPMethod { .post }
}

nonisolated struct MyEventsRequest: NetworkRequest {
  typealias Response = EmptyResponse
  var path: String { "/events" }
  var method: HTTPMethod { .get }
}

nonisolated struct MyCustomResponse: Decodable, Sendable {
  let status: Int
  let customHeader: String?
}

nonisolated enum SearchEvent: Decodable, Sendable {
  case player(User)
  case end
}

nonisolated struct UsersEndpoint: PrismNetworkEndpoint {
  var host: String { "api.example.com" }
  var path: String { "/users" }
}

nonisolated struct ListUsers: PrismNetworkRequest {
  typealias Response = [User]
  let endpoint = UsersEndpoint()
}

nonisolated enum DeviceHeaders {
  static func current() -> [String: String] { ["X-Device-ID": "42"] }
}

// Unchecked, because it is never used concurrently. An app protects its token store with a lock or an actor.
nonisolated final class TokenStore: @unchecked Sendable {
  static let shared = TokenStore()
  var accessToken = ""
  var refreshToken = ""
}

nonisolated struct AppSettings: Sendable {
  static let shared = AppSettings()
  var apiBaseURL: URL { URL(fileURLWithPath: "/") }
}

let manager = NetworkManager(baseURL: URL(string: "https://api.example.com")!)
let networkManager = manager

func handle(_ event: SearchEvent) {}
func process(_ payload: String) {}
