import LoopbackServer
import Testing

@testable import EKNetwork

extension NetworkRequest where Self == Endpoint<Item> {
  fileprivate static func item(_ id: Int) -> Self { Endpoint("items/\(id)") }
}

extension NetworkRequest where Self == Endpoint<EmptyResponse> {
  fileprivate static func deleteItem(_ id: Int) -> Self { Endpoint(.delete, "items/\(id)") }
}

/// Requests without a type of their own.
struct EndpointTests {
  private struct Draft: Encodable { let name: String }

  private let server: LoopbackServer

  init() throws {
    server = try LoopbackServer()
    server.route("/items/1", .json(#"{"id":1,"name":"a"}"#))
    server.route("/items") { .json($0.body.isEmpty ? #"{"id":2,"name":"b"}"# : #"{"id":3,"name":"c"}"#) }
  }

  @Test(arguments: Wire.allCases) func endpointsAreRequests(wire: Wire) async throws {
    let manager = wire.manager(server)
    #expect(try await manager.send(.item(1)) == Item(id: 1, name: "a"))
    try await manager.send(.deleteItem(1))
    let post = Endpoint<Item>(
      .post, "/items", query: ["b": "2", "a": "1"], headers: ["X-A": "1"], body: RequestBody(json: ["name": "c"]))
    #expect(try await manager.send(post, accessToken: { "t" }).id == 3)
    var page = Endpoint<Item>("never")
    page.targetURL = server.url("/items")
    page.orderedQuery = [URLQueryItem(name: "t", value: "1"), URLQueryItem(name: "t", value: "2")]
    #expect(try await manager.send(page).id == 2)
    #expect(
      server.requests.map { "\($0.method) \($0.target)" }
        == ["GET /items/1", "DELETE /items/1", "POST /items?a=1&b=2", "GET /items?t=1&t=2"])
    let sent = server.requests[2]
    #expect(sent.headers["X-A"] == "1" && sent.headers["Authorization"] == "Bearer t" && sent.text == #"{"name":"c"}"#)
  }

  @Test func propertiesApply() async throws {
    server.route("/items/2", .status(503), .status(503), .json(#"{"id":2}"#, status: 404))
    let manager = NetworkManager(
      baseURL: { [server] in server.baseURL }, transport: Wire.automatic.transport { _ in }, clock: RecordingClock())
    var endpoint = Endpoint<Numbered>("items/2")
    endpoint.retryPolicy = .transientFailures
    endpoint.acceptedStatuses = [404]
    endpoint.timeout = .seconds(50)
    #expect(try await manager.send(endpoint).id == 2)
    #expect(server.requestCount == 3)
    let inOneCall = Endpoint<Numbered>(
      "never", targetURL: server.url("/items/3"), timeout: .seconds(50), retryPolicy: .transientFailures,
      acceptedStatuses: [404])
    #expect(inOneCall.timeout == .seconds(50))
    server.route("/items/3", .status(503), .status(503), .json(#"{"id":3}"#, status: 404))
    #expect(try await manager.send(inOneCall).id == 3)
    #expect(server.requestCount == 6)
  }

  @Test(arguments: Wire.allCases) func verbsSendRequests(wire: Wire) async throws {
    let manager = wire.manager(server)
    #expect(try await manager.get("items/1", as: Item.self) == Item(id: 1, name: "a"))
    let item: Item = try await manager.get("items", query: ["q": "ä"], headers: ["X-A": "1"])
    #expect(item.id == 2)
    try await manager.post("items")
    try await manager.post("items", json: ["name": "c", "count": 1, "tags": ["x", nil]])
    try await manager.post("items", json: ["name": "c"])
    try await manager.post("items", json: Draft(name: "d"))
    #expect(try await manager.post("items", json: ["name": "c", "count": 1], as: Item.self).id == 3)
    #expect(try await manager.put("items", json: Draft(name: "e"), as: Item.self) { "t" }.id == 3)
    try await manager.put("items", json: [1, "a"])
    try await manager.patch("items", json: Draft(name: "f"), query: ["a": "1"])
    #expect(try await manager.patch("items", json: nil, as: Item.self).id == 2)
    try await manager.delete("items/1")
    #expect(try await manager.delete("items/1", as: StatusCodeResponse.self, accessToken: { "t" }).statusCode == 200)
    let requests = server.requests
    #expect(
      requests.map(\.method) == ["GET", "GET"] + Array(repeating: "POST", count: 5) + ["PUT", "PUT"] + [
        "PATCH", "PATCH",
      ] + ["DELETE", "DELETE"])
    #expect(requests[1].target == "/items?q=%C3%A4" && requests[1].headers["X-A"] == "1")
    #expect(requests[2].body.isEmpty && requests[2].headers["Content-Type"] == nil)
    #expect(requests[3].headers["Content-Type"] == "application/json")
    #expect(
      try JSONDecoder().decode(JSONValue.self, from: requests[3].body) == [
        "name": "c", "count": 1, "tags": ["x", nil],
      ])
    #expect(requests[4...7].map(\.text) == [#"{"name":"c"}"#, #"{"name":"d"}"#, requests[6].text, #"{"name":"e"}"#])
    #expect(requests[7].headers["Authorization"] == "Bearer t" && requests[12].headers["Authorization"] == "Bearer t")
    #expect(requests[8].text == #"[1,"a"]"# && requests[9].target == "/items?a=1")
  }

  /// They take the way of `send`: token refresh, errors, middleware and the mock of a session.
  @Test func verbsAreOrdinaryRequests() async throws {
    let session = StubSession()
    session.on(.get, "/v1/users/42", .status(401), .json(#"{"id":42}"#))
    session.on(.post, "/v1/users", .json(#"{"reason":"taken"}"#, status: 409))
    let manager = NetworkManager(baseURL: try #require(URL(string: "https://api.example.com/v1")), session: session)
    let tokens = TestTokens("old")
    manager.tokenRefresher = tokens
    #expect(try await manager.get("users/42", as: Numbered.self, accessToken: { tokens.current }).id == 42)
    #expect(session.requests.map { $0.value(forHTTPHeaderField: "Authorization") } == ["Bearer old", "Bearer new"])
    let error = await #expect(throws: HTTPError.self) { try await manager.post("users", json: ["name": "a"]) }
    #expect(error?.statusCode == 409)
    await #expect(throws: NetworkError.invalidURL) { try await manager.get("../users", as: Numbered.self) }
    await #expect(throws: InvalidHeaderError.self) { try await manager.delete("users", headers: ["A\n": "b"]) }
    #expect(session.requests.count == 3)
  }

  /// Records whether it is decoded on the main thread.
  private struct Place: Decodable, Sendable {
    let isMain: Bool
    init(from decoder: any Decoder) throws { isMain = Thread.isMainThread }
  }

  @MainActor private struct AtHome: @MainActor Decodable {
    let isMain: Bool
    init(from decoder: any Decoder) throws {
      MainActor.assertIsolated()
      isMain = true
    }
  }

  @MainActor @Test func responsesAreDecodedElsewhereUnlessTheyAreIsolated() async throws {
    let manager = Wire.automatic.manager(server)
    #expect(try await manager.get("items", as: Place.self).isMain == false)
    #expect(try await manager.post("items", as: Place.self).isMain == false)
    #expect(try await manager.put("items", json: Draft(name: "a"), as: Place.self).isMain == false)
    #expect(try await manager.decodedResponse(to: Endpoint<Place>("items")).value.isMain == false)
    #expect(try await manager.get("items", as: AtHome.self).isMain)
    #expect(try await manager.post("items", json: ["a": 1, "b": "c"], as: AtHome.self).isMain)
    #expect(try await manager.patch("items", json: Draft(name: "a"), as: AtHome.self).isMain)
    #expect(try await manager.delete("items", as: AtHome.self).isMain)
    #expect(try await manager.decodedResponse(to: Endpoint<AtHome>("items")).value.isMain)
  }
}
