// What surrounds the code blocks of the documentation that cannot stand alone.
import EKNetwork

struct User: Codable, Sendable {
  var id: Int
  var name: String
}

struct GetUser: NetworkRequest {
  typealias Response = User
  let id: Int
  var path: String { "/users/\(id)" }
  var method: HTTPMethod { .get }
}

struct RefreshToken: NetworkRequest {
  struct Response: Decodable, Sendable { let accessToken: String }
  var path: String { "/token" }
  var method: HTTPMethod { .post }
}

final class Tokens: @unchecked Sendable {
  // Unchecked: never run.
  var accessToken = ""
}

let tokens = Tokens()
let region = "eu"
let manager = NetworkManager(baseURL: URL(string: "https://api.example.com")!)
