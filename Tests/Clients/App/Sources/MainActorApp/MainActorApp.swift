import EKNetwork

struct User: Decodable {
  let id: Int
}

struct GetUser: NetworkRequest {
  typealias Response = User
  var path: String { "/users/42" }
  var method: HTTPMethod { .get }
}

nonisolated struct GetStatus: NetworkRequest {
  nonisolated struct Response: Decodable {
    let wasDecodedOnMainThread: Bool
    init(from decoder: Decoder) throws { wasDecodedOnMainThread = Thread.isMainThread }
  }

  var path: String { "/status" }
  var method: HTTPMethod { .get }
}

final class Server: URLSessionProtocol {
  var tokens: [String?] = []

  func data(for request: URLRequest) async throws -> (Data, URLResponse) {
    tokens.append(request.value(forHTTPHeaderField: "Authorization"))
    guard let url = request.url,
      let response = HTTPURLResponse(url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: nil)
    else { throw URLError(.badURL) }
    return (Data(#"{"id":42}"#.utf8), response)
  }
}

final class Model {
  var token: String? = "t"
  var id = 0
  let manager: any NetworkManaging

  init(manager: any NetworkManaging) { self.manager = manager }

  func load() async throws { id = try await manager.send(GetUser(), accessToken: { self.token }).id }
}

@main
enum MainActorApp {
  static func main() async throws {
    guard let url = URL(string: "http://127.0.0.1") else { exit(1) }
    let server = Server()
    let manager = NetworkManager(baseURL: url, session: server)
    let model = Model(manager: manager)
    try await model.load()
    let user = try await manager.send(GetUser(), accessToken: { model.token })
    let status = try await manager.send(GetStatus())
    guard model.id == 42, user.id == 42, !status.wasDecodedOnMainThread else { exit(1) }
    guard server.tokens == ["Bearer t", "Bearer t", nil] else { exit(1) }
    print("Swift 6, main actor by default: runs")
  }
}
