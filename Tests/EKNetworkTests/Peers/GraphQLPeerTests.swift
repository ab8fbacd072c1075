#if os(Linux)
  import Foundation
  import LoopbackServer
  import Testing

  @testable import EKNetwork

  /// Third-party GraphQL servers: Strawberry under aiohttp, Ariadne under Hypercorn.
  @Suite("GraphQL peers", .serialized, .timeLimit(.minutes(10)), .enabled(if: PeerProcess.has("strawberry", "ariadne")))
  struct GraphQLPeerTests {
    private struct Book: Decodable, Sendable, Equatable {
      var id: String
      var title: String?
      var author: String?
    }
    private struct Books: Decodable, Sendable, Equatable { var books: [Book] }
    private struct Added: Decodable, Sendable, Equatable { var add: Book }
    private struct Number: Decodable, Sendable, Equatable { var numbers: Int }
    private struct Breaking: Decodable, Sendable, Equatable { var breaking: Int }

    private let peer: PeerProcess

    init() throws { peer = try PeerProcess.shared("graphql_servers.py") }

    static let servers = ["strawberry", "ariadne"]
    static let transports: [PrismGraphQLTransport] = [.webSocket, .serverSentEvents]

    private func client(
      _ server: String, path: String = "/graphql", manager: NetworkManager? = nil,
      _ change: (inout PrismGraphQLOptions) -> Void = { _ in }
    ) throws -> PrismGraphQLClient {
      let url = try peer.url(server, scheme: "http", path: path)
      var options = PrismGraphQLOptions()
      options.webSocketURL = try peer.url(server, scheme: "ws", path: path)
      // Long enough for a busy machine.
      options.acknowledgementTimeout = .seconds(300)
      options.webSocket.connectTimeout = .seconds(300)
      change(&options)
      return try PrismGraphQLClient(endpointURL: url, manager: manager ?? self.manager(of: server), options: options)
    }

    private func manager(of server: String) throws -> NetworkManager {
      NetworkManager(
        baseURL: try peer.url(server, scheme: "http"), session: URLSession(configuration: .ephemeral),
        transport: .secured(by: TLSOptions(certificateAuthorityFile: peer.authority)))
    }

    @Test("A query with variables returns its result over POST and GET", arguments: servers, [false, true])
    func query(server: String, usesGET: Bool) async throws {
      struct Filter: Encodable, Sendable { var words = ["終わり"], limit: Int? }
      struct Variables: Encodable, Sendable { var filter = Filter() }
      let document = "query Some($filter: Filter) { books(filter: $filter) { id title author } }"
      let client = try client(server) { $0.usesGETForQueries = usesGET }
      let expected = Books(books: [Book(id: "2", title: "終わり", author: "Author 2")])
      let filter: [String: any Sendable] = ["words": ["終わり"], "limit": 7]
      for query in [
        PrismGraphQLQuery(query: document, variables: ["filter": filter]),
        PrismGraphQLQuery(query: document, encoding: Variables(), operationName: "Some"),
      ] {
        let response: PrismGraphQLResponse<Books> = try await client.execute(query)
        #expect(response.data == expected)
        #expect(response.errors == nil)
      }
    }

    @Test("The named one of several operations runs", arguments: servers)
    func operationName(server: String) async throws {
      let document = #"query A { books { id } } mutation B { add(title: "Новая") { id title } }"#
      let response: PrismGraphQLResponse<Added> = try await client(server).execute(
        PrismGraphQLQuery(query: document, operationName: "B"))
      #expect(response.data == Added(add: Book(id: "9", title: "Новая")))
    }

    @Test("Partial data arrives with an error that locates the missing field", arguments: servers)
    func partial(server: String) async throws {
      let response: PrismGraphQLResponse<Books> = try await client(server).execute(
        PrismGraphQLQuery(query: "{\n  books { id author }\n}"))
      #expect(response.data?.books.map(\.author) == ["Author 1", "Author 2", nil])
      let error = try #require(response.errors?.first)
      #expect(response.errors?.count == 1)
      #expect(error.message == "Nobody knows")
      #expect(error.locations == [PrismGraphQLErrorLocation(line: 2, column: 14)])
      #expect(error.pathElements == [.field("books"), .index(2), .field("author")])
      #expect(error.path == ["books", "2", "author"])
      #expect(error.extensions == ["code": .string("UNKNOWN"), "book": .object(["id": .int(3), "old": .bool(true)])])
    }

    @Test("Validation and execution errors carry locations or paths", arguments: servers)
    func errors(server: String) async throws {
      let client = try client(server)
      for (document, place) in [("{ books { id }", 15), ("{ books { nothing } }", 11)] {
        let response: PrismGraphQLResponse<Books> = try await client.execute(PrismGraphQLQuery(query: document))
        #expect(response.data == nil)
        #expect(response.errors?.first?.locations == [PrismGraphQLErrorLocation(line: 1, column: place)])
      }
      let response: PrismGraphQLResponse<Added> = try await client.execute(
        PrismGraphQLQuery(query: #"mutation { add(title: "") { id } }"#))
      #expect(response.data == nil)
      #expect(response.errors?.map(\.message) == ["A book has a title"])
      #expect(response.errors?.first?.pathElements == [.field("add")])
    }

    @Test("Results arrive one by one until the end", arguments: servers, transports)
    func live(server: String, transport: PrismGraphQLTransport) async throws {
      let client = try client(server)
      let run = UUID().uuidString
      var count = 0
      for try await response in client.subscribe(numbers(run, to: 30), as: Number.self, over: transport) {
        #expect(response.data == Number(numbers: count))
        // Without it the server sends nothing more.
        try await acknowledge(count, of: run, client)
        count += 1
      }
      #expect(count == 30)
    }

    @Test("Leaving the loop or cancelling ends the subscription on the server", arguments: servers, transports)
    func leaving(server: String, transport: PrismGraphQLTransport) async throws {
      let client = try client(server)
      let left = UUID().uuidString
      for try await _ in client.subscribe(numbers(left, to: 5), as: Number.self, over: transport) { break }
      try await waitForEnd(of: left, client)

      let cancelled = UUID().uuidString
      let isThere = Gate()
      let query = numbers(cancelled, to: 5)
      let task = Task {
        for try await _ in client.subscribe(query, as: Number.self, over: transport) { isThere.open() }
      }
      #expect(await isThere.wait())
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      try await waitForEnd(of: cancelled, client)
    }

    @Test("An error during a subscription arrives after the earlier results", arguments: servers, transports)
    func breaking(server: String, transport: PrismGraphQLTransport) async throws {
      var values: [Int?] = []
      var errors: [PrismGraphQLError] = []
      do {
        let query = PrismGraphQLQuery(query: "subscription { breaking }")
        for try await response in try client(server).subscribe(query, as: Breaking.self, over: transport) {
          values.append(response.data?.breaking)
          errors += response.errors ?? []
        }
      } catch let error as PrismGraphQLSubscriptionError {
        // The server's choice: the protocol's `error`, or a last result.
        if case .rejected(let all) = error { errors += all }
      }
      #expect(values.first == 0)
      #expect(errors.map(\.message) == ["It broke"])
      #expect(errors.first?.extensions == ["code": .string("BROKEN")])
    }

    @Test("A refused subscription reports its error", arguments: servers, transports)
    func refused(server: String, transport: PrismGraphQLTransport) async throws {
      var errors: [PrismGraphQLError] = []
      do {
        let query = PrismGraphQLQuery(query: "subscription { nothing }")
        for try await response in try client(server).subscribe(query, as: Number.self, over: transport) {
          errors += response.errors ?? []
        }
      } catch let error as PrismGraphQLSubscriptionError {
        if case .rejected(let all) = error { errors += all }
      }
      #expect(errors.count == 1)
      #expect(errors.first?.message.contains("nothing") == true)
    }

    @Test("The connection payload is sent, and its refusal is an error", arguments: servers)
    func connectionPayload(server: String) async throws {
      let token = Locked("good")
      let client = try client(server) { $0.connectionPayload = { ["token": .string(token.withLock { $0 })] } }
      var first: Int?
      for try await response in client.subscribe(numbers(UUID().uuidString, to: 1), as: Number.self) {
        first = response.data?.numbers
      }
      #expect(first == 0)
      token.withLock { $0 = "bad" }
      let error = await #expect(throws: (any Error).self) {
        for try await _ in client.subscribe(numbers(UUID().uuidString, to: 1), as: Number.self) {}
      }
      // Strawberry closes with 4403, Ariadne without a reason.
      if server == "strawberry" {
        #expect(error as? PrismNetworkError == .forbidden)
      } else {
        #expect(error as? PrismGraphQLSubscriptionError == .notAcknowledged)
      }
    }

    @Test("A refused token is refreshed for queries and subscriptions", arguments: servers)
    func refresh(server: String) async throws {
      let tokens = TestTokens("old")
      let manager = try manager(of: server)
      manager.tokenRefresher = tokens
      let client = try client(server, path: "/secured", manager: manager) {
        $0.accessToken = { tokens.current }
      }
      let response: PrismGraphQLResponse<Books> = try await client.execute(
        PrismGraphQLQuery(query: "{ books { id } }"))
      #expect(response.data?.books.count == 3)
      #expect(tokens.count == 1)
      for (number, transport) in Self.transports.enumerated() {
        tokens.token.withLock { $0 = "old" }
        var values: [Int?] = []
        let query = numbers(UUID().uuidString, to: 1)
        for try await response in client.subscribe(query, as: Number.self, over: transport) {
          values.append(response.data?.numbers)
        }
        #expect(values == [0])
        #expect(tokens.count == number + 2)
      }
    }

    private func numbers(_ run: String, to count: Int) -> PrismGraphQLQuery {
      PrismGraphQLQuery(
        query: "subscription($run: String!, $to: Int!) { numbers(run: $run, to: $to) }",
        variables: ["run": run, "to": count])
    }

    private func acknowledge(_ number: Int, of run: String, _ client: PrismGraphQLClient) async throws {
      struct Ack: Decodable, Sendable { var ack: Int }
      let response: PrismGraphQLResponse<Ack> = try await client.execute(
        PrismGraphQLQuery(
          query: "mutation($run: String!, $number: Int!) { ack(run: $run, number: $number) }",
          variables: ["run": run, "number": number]))
      #expect(response.data?.ack == number)
    }

    private func waitForEnd(of run: String, _ client: PrismGraphQLClient) async throws {
      struct Ended: Decodable, Sendable { var ended: Bool }
      let response: PrismGraphQLResponse<Ended> = try await client.execute(
        PrismGraphQLQuery(query: "query($run: String!) { ended(run: $run) }", variables: ["run": run]))
      #expect(response.data?.ended == true)
    }
  }
#endif
