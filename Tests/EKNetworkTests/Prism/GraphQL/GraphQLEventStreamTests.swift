import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

@Suite(.timeLimit(.minutes(10))) struct GraphQLEventStreamTests {
  private struct Answer: Codable, Sendable, Equatable { var a: Int? }

  private let server: LoopbackServer
  private let query = PrismGraphQLQuery(query: "query Q($n: Int) { a(n: $n) }", variables: ["n": 1], operationName: "Q")

  init() throws { server = try LoopbackServer() }

  private func client(
    _ manager: NetworkManager, _ change: (inout PrismGraphQLOptions) -> Void = { _ in }
  ) -> PrismGraphQLClient {
    var options = PrismGraphQLOptions()
    change(&options)
    return PrismGraphQLClient(endpointURL: server.url("/graphql"), manager: manager, options: options)
  }

  private static func response(_ text: String, status: Int = 200, type: String) -> LoopbackServer.Response {
    .text(text, status: status, headers: ["Content-Type": type])
  }

  @Test func subscriptionOverServerSentEvents() async throws {
    server.route("POST", "/graphql") { _ in
      Self.response(
        ":\n\nevent: next\ndata: {\"data\":{\"a\":1}}\n\nevent: other\ndata: x\n\n"
          + "event: next\ndata: {\"data\":\ndata: {\"a\":2}}\n\nevent: complete\ndata:\n\n", type: "text/event-stream")
    }
    var values: [Int?] = []
    for try await response in client(Wire.automatic.manager(server)).subscribe(
      query, as: Answer.self, over: .serverSentEvents)
    {
      values.append(response.data?.a)
    }
    #expect(values == [1, 2])
    #expect(server.requests.first?.header("Accept")?.hasPrefix("text/event-stream") == true)
  }

  /// The protocol's `complete` has no data, and servers differ in what they send beside the results.
  @Test(
    arguments: [
      ("event: next\ndata: {\"data\":{\"a\":1}}\n\nevent: complete\n\n", [1], nil),
      ("event: complete\n\n", [], nil),
      ("event: complete\ndata: null\n\n", [], nil),
      (":\n\nevent: next\ndata: {}\n\nevent: next\ndata: { }\n\nevent: next\n\nevent: complete\n\n", [], nil),
      ("data: {}\n\ndata: ping\n\nevent: next\ndata: {\"data\":{\"a\":1}}\n\nevent: complete\n\n", [1], nil),
      ("event: ping\n\nevent: next\ndata: {\"errors\":[{\"message\":\"m\"}]}\n\nevent: complete\n\n", [nil], nil),
      // Without names there is no `complete`: the end of the stream is that of the subscription.
      ("data: {\"data\":{\"a\":1}}\n\ndata: {}\n\ndata: {\"data\":{\"a\":2}}\n\n", [1, 2], nil),
      ("data: {\"data\":{\"a\":1}}\n\nevent: complete\n\ndata: {\"data\":{\"a\":2}}\n\n", [1], nil),
      ("event: next\ndata: {\"data\":{\"a\":1}}\n\ndata: {\"data\":{\"a\":2}}\n\n", [1, 2], .noConnectivity),
      (":\n\n", [], .noConnectivity), ("event: complete\n", [], .noConnectivity),
    ] as [(String, [Int?], PrismNetworkError?)])
  func eventsHaveTheMeaningOfTheProtocol(text: String, values: [Int?], expected: PrismNetworkError?) async throws {
    server.route("POST", "/graphql") { _ in Self.response(text, type: "text/event-stream") }
    var received: [Int?] = []
    do {
      for try await response in client(Wire.automatic.manager(server)).subscribe(
        query, as: Answer.self, over: .serverSentEvents)
      {
        received.append(response.data?.a)
      }
      #expect(expected == nil)
    } catch let error as PrismNetworkError {
      #expect(error == expected)
    }
    #expect(received == values)
  }

  @Test func tokenRefusedByStreamIsRefreshed() async throws {
    server.route("POST", "/graphql") { request in
      guard request.header("Authorization") == "Bearer new" else { return .status(401) }
      return Self.response(
        "event: next\ndata: {\"data\":{\"a\":1}}\n\nevent: complete\ndata:\n\n", type: "text/event-stream")
    }
    let tokens = TestTokens("old")
    let manager = Wire.automatic.manager(server)
    manager.tokenRefresher = tokens
    let client = client(manager) { $0.accessToken = { tokens.current } }
    var values: [Int?] = []
    for try await response in client.subscribe(query, as: Answer.self, over: .serverSentEvents) {
      values.append(response.data?.a)
    }
    #expect(values == [1])
    #expect(tokens.count == 1)
    // Both attempts send the same body.
    #expect(Set(server.requests.map(\.text)).count == 1)
    #expect(server.requests.map { $0.header("Authorization") } == ["Bearer old", "Bearer new"])
    // A token that stays refused is refreshed once.
    tokens.token.withLock { $0 = "old" }
    server.route("POST", "/graphql") { _ in .status(401) }
    await #expect(throws: PrismNetworkError.unauthorized) {
      for try await _ in client.subscribe(query, as: Answer.self, over: .serverSentEvents) {}
    }
    #expect(tokens.count == 2)
  }

  @Test func nonStreamResponsesEndSubscription() async throws {
    func run() async throws -> [Int?] {
      var values: [Int?] = []
      for try await response in client(Wire.automatic.manager(server)).subscribe(
        query, as: Answer.self, over: .serverSentEvents)
      {
        values.append(response.data?.a)
      }
      return values
    }
    server.route(
      "/graphql", LoopbackServer.Response.json(#"{"data":{"a":1}}"#),
      Self.response(#"{"errors":[{"message":"no"}]}"#, status: 400, type: "application/graphql-response+json"),
      Self.response(#"{"errors":[{"message":"who"}]}"#, status: 401, type: "application/json"),
      Self.response("event: next\ndata: {\"data\":{\"a\":1}}\n\n", type: "text/event-stream"), .text("hello"),
      .status(401))
    #expect(try await run() == [1])
    for message in ["no", "who"] {
      await #expect(throws: PrismGraphQLSubscriptionError.rejected([PrismGraphQLError(message: message)])) {
        try await run()
      }
    }
    await #expect(throws: PrismNetworkError.noConnectivity) { try await run() }
    await #expect(throws: PrismGraphQLSubscriptionError.self) { try await run() }
    await #expect(throws: PrismNetworkError.unauthorized) { try await run() }
  }

  @Test func cancellationIsNotLostConnection() async throws {
    server.route("POST", "/graphql") { _ in
      .streaming(
        headers: ["Content-Type": "text/event-stream"],
        [.chunk(Data("event: next\ndata: {\"data\":{\"a\":1}}\n\n".utf8)), .stall])
    }
    for _ in 0..<20 {
      let isThere = Gate()
      let (client, query) = (client(Wire.automatic.manager(server)), query)
      let task = Task {
        for try await _ in client.subscribe(query, as: Answer.self, over: .serverSentEvents) { isThere.open() }
      }
      #expect(await isThere.wait())
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
    }
    #expect(await server.waitForOpenConnections(0))
  }
}
