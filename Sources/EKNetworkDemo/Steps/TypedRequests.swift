import EKNetwork
import LoopbackServer

struct User: Codable, Equatable, Sendable {
  let id: Int
  let name: String
}

struct GetUser: NetworkRequest {
  typealias Response = User
  let id: Int
  var path: String { "/users/\(id)" }
  var method: HTTPMethod { .get }
}

struct CreateUser: NetworkRequest {
  typealias Response = User
  let name: String
  var path: String { "/users" }
  var method: HTTPMethod { .post }
  var body: RequestBody? { RequestBody(encodable: ["name": name]) }
}

extension Step {
  static let typedGet = Step(
    title: "A typed GET",
    code: """
      struct GetUser: NetworkRequest {
        typealias Response = User
        let id: Int
        var path: String { "/users/\\(id)" }
        var method: HTTPMethod { .get }
      }
      let user = try await manager.send(GetUser(id: 42), accessToken: { token })
      """
  ) { stage in
    stage.server.route("GET", "/users/42") { _ in .json(User(id: 42, name: "Alice")) }
    let user = try await stage.manager().send(GetUser(id: 42), accessToken: { "token" })
    stage.showWire(stage.server.requests)
    try expect(user == User(id: 42, name: "Alice"), "the user came back as \(user)")
    return "decoded \(user.name), id \(user.id)"
  }

  static let post = Step(
    title: "A POST",
    code: """
      var body: RequestBody? { RequestBody(encodable: ["name": name]) }
      …
      let user = try await manager.send(CreateUser(name: "Bob"), accessToken: nil)
      """
  ) { stage in
    stage.server.route("POST", "/users") { request in
      let name = try request.json([String: String].self)["name"] ?? ""
      return .json(User(id: 43, name: name))
    }
    let user = try await stage.manager().send(CreateUser(name: "Bob"), accessToken: nil)
    stage.showWire(stage.server.requests)
    try expect(user == User(id: 43, name: "Bob"), "the user came back as \(user)")
    return "created \(user.name) as \(user.id)"
  }

  static let serverError = Step(
    title: "A decoded server error",
    code: """
      var errorDecoder: ((Data) -> Error?)? {
        { try? JSONDecoder().decode(OutOfStock.self, from: $0) }
      }
      …
      catch let error as OutOfStock { print(error.item) }
      """
  ) { stage in
    struct OutOfStock: Error, Codable { let item: String }
    struct Order: NetworkRequest {
      typealias Response = EmptyResponse
      let path = "/orders"
      let method = HTTPMethod.post
      var errorDecoder: ((Data) -> Error?)? { { try? JSONDecoder().decode(OutOfStock.self, from: $0) } }
    }
    stage.server.route("POST", "/orders") { _ in .text(#"{"item":"teapot"}"#, status: 409) }
    do {
      _ = try await stage.manager().send(Order(), accessToken: nil)
    } catch let error as OutOfStock {
      stage.showWire(stage.server.requests)
      return "409 arrived as OutOfStock(item: \"\(error.item)\")"
    }
    throw Unexpected(description: "the order went through")
  }
}
