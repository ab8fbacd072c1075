import EKNetwork

struct User: Decodable {
  let id: Int
  /// Whether the value was decoded on the main thread.
  let wasDecodedOnMainThread: Bool

  init(from decoder: Decoder) throws {
    id = try decoder.singleValueContainer().decode([String: Int].self)["id"] ?? 0
    wasDecodedOnMainThread = Thread.isMainThread
  }
}

struct GetUser: NetworkRequest {
  typealias Response = User
  var path: String { "/users/42" }
  var method: HTTPMethod { .get }
}

/// A session that accepts the token "new" and rejects any other.
class Server: URLSessionProtocol {
  var requestCount = 0

  func data(for request: URLRequest) async throws -> (Data, URLResponse) {
    requestCount += 1
    let isAuthorized = request.value(forHTTPHeaderField: "Authorization") == "Bearer new"
    guard let url = request.url,
      let response = HTTPURLResponse(
        url: url, statusCode: isAuthorized ? 200 : 401, httpVersion: "HTTP/1.1", headerFields: nil)
    else { throw URLError(.badURL) }
    return (Data(#"{"id":42}"#.utf8), response)
  }
}

class Tokens: TokenRefreshProvider {
  var token = "old"
  func refreshTokenIfNeeded() async throws { token = "new" }
}

@main
enum Swift5App {
  @MainActor static func main() async throws {
    let server = Server()
    let tokens = Tokens()
    let manager = NetworkManager(baseURL: { URL(fileURLWithPath: "/") }, session: server)
    do {
      _ = try await manager.send(GetUser(), accessToken: { tokens.token })
      exit(1)
    } catch NetworkError.invalidURL {}

    guard let url = URL(string: "http://127.0.0.1") else { exit(1) }
    let users = NetworkManager(baseURL: url, session: server)
    users.tokenRefresher = tokens
    let user = try await users.send(GetUser(), accessToken: { tokens.token })
    guard user.id == 42, !user.wasDecodedOnMainThread, server.requestCount == 2 else { exit(1) }
    print("Swift 5: runs")
  }
}
