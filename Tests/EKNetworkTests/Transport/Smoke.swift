@testable import EKNetwork
import LoopbackServer
import Testing
struct User: Codable, Sendable { let id: Int; let name: String }
struct GetUser: NetworkRequest { typealias Response = User; var path: String { "/users/42" }; var method: HTTPMethod { .get } }
@Test func smoke() async throws {
  let server = try LoopbackServer()
  server.route("GET", "/users/42") { _ in .json(User(id: 42, name: "Al")) }
  for choice in [TransportChoice.automatic, .urlSession] {
    let m = NetworkManager(baseURL: server.baseURL, transport: choice)
    m.logHandler = { print($0.message, $0.metadata) }
    let u = try await m.send(GetUser(), accessToken: { "t" })
    print(u, type(of: m.transport))
    print(String(decoding: server.requests.last!.head, as: UTF8.self))
  }
}
