import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What the requests of a client have in common.
struct RequestDefaultsTests {
  /// Declares nothing.
  private struct Plain<Response: Decodable & Sendable>: NetworkRequest, Sendable {
    var path = "/item"
    var method = HTTPMethod.get
    var targetURL: URL?
    var headers: [String: String]?
    var item: Snake?
    var body: RequestBody? { item.map { RequestBody(encodable: $0) } }
  }

  /// Declares what the defaults of the protocol are.
  private struct Own: NetworkRequest, Sendable {
    struct Response: Codable, Sendable { let itemName: String }
    let path = "/item"
    let method = HTTPMethod.post
    let headers: [String: String]? = ["x-app": "own"]
    var body: RequestBody? { RequestBody(encodable: Response(itemName: "a")) }
    let timeout: Duration? = nil
    let totalTimeout: Duration? = nil
    var retryPolicy: RetryPolicy { RetryPolicy() }
    let redirectPolicy = RedirectPolicy.follow
    let acceptedStatuses = StatusCodes.successful
    var errorDecoder: ((Data) -> Error?)? { nil }
    var responseErrorDecoder: ((NetworkResponse) -> Error?)? { nil }
    let jsonEncoder = JSONEncoder()
    let jsonDecoder = JSONDecoder()
    let maximumResponseSize: Int64? = nil
  }

  private struct Snake: Codable, Equatable, Sendable { let itemName: String }
  private struct Mine: Error, Equatable { let text: String }

  private let server: LoopbackServer
  private let other: LoopbackServer

  init() throws {
    (server, other) = (try LoopbackServer(), try LoopbackServer())
    server.fallback = { _ in .status(200) }
    other.fallback = { _ in .status(200) }
  }

  private func manager(
    _ wire: Wire = .automatic, clock: any Clock<Duration> = RecordingClock(), _ set: (inout RequestDefaults) -> Void
  ) -> NetworkManager {
    let manager = wire.manager(server, clock: clock)
    set(&manager.defaults)
    return manager
  }

  private static var decoding: RequestDefaults {
    var defaults = RequestDefaults()
    defaults.errorDecoder = { Mine(text: String(decoding: $0, as: UTF8.self)) }
    return defaults
  }

  // MARK: Header fields

  @Test(arguments: Wire.allCases) func headerFieldsAreThoseOfEveryRequest(wire: Wire) async throws {
    server.route("/over", .status(204))
    let manager = manager(wire) {
      $0.headers = ["X-App": "1", "Authorization": "Basic app", "Accept": "text/csv", "User-Agent": "app"]
    }
    try await manager.send(Plain<EmptyResponse>())
    try await manager.send(Plain<EmptyResponse>()) { "token" }
    _ = try await manager.response(to: Own())
    for try await _ in try await manager.stream(Plain<EmptyResponse>()).body {}
    try await manager.delete("item")
    let folder = try ScratchFolder()
    try await manager.download(Plain<EmptyResponse>(), to: folder["a"])
    for try await _ in manager.events(Plain<EmptyResponse>(path: "/over")) {}
    let sent = server.requests.map(\.headers)
    #expect(sent.map { $0["X-App"] } == ["1", "1", "own", "1", "1", "1", "1"])
    #expect(sent[1]["Authorization"] == "Bearer token")
    for (index, headers) in sent.enumerated() where index != 1 { #expect(headers["Authorization"] == "Basic app") }
    // A subscription needs its own.
    #expect(sent.map { $0["Accept"] } == Array(repeating: "text/csv", count: 6) + ["text/event-stream"])
    #expect(sent.allSatisfy { $0["User-Agent"] == "app" })
    let command = try manager.curlCommand(for: Plain<EmptyResponse>(), revealingSecrets: true)
    #expect(command.contains("X-App: 1") && command.contains("Basic app"))
  }

  @Test(arguments: Wire.allCases) func anotherOriginGetsNone(wire: Wire) async throws {
    let manager = manager(wire) { $0.headers = ["X-App": "1", "Authorization": "Basic app"] }
    let page = Plain<EmptyResponse>(targetURL: other.url("/page"))
    try await manager.send(page)
    for try await _ in try await manager.stream(page).body {}
    let folder = try ScratchFolder()
    try await manager.download(page, to: folder["a"])
    #expect(other.requestCount == 3)
    for request in other.requests {
      #expect(request.headers["X-App"] == nil && request.headers["Authorization"] == nil)
    }
    try await manager.send(Plain<EmptyResponse>(targetURL: server.url("/page")))
    #expect(server.requests.last?.headers["X-App"] == "1")
    #expect(try !manager.curlCommand(for: page, revealingSecrets: true).contains("X-App"))
  }

  @Test(arguments: ["Content-Type", "content-length", "Transfer-Encoding", "a b"])
  func fieldsThatDescribeABodyAreRefused(name: String) async throws {
    let manager = manager { $0.headers = [name: "1"] }
    let plain = Plain<EmptyResponse>()
    // A field of its own does not change that.
    let own = Plain<EmptyResponse>(headers: ["Content-Type": "text/plain", "Content-Length": "0"])
    for request in [plain, own] {
      let error = await #expect(throws: InvalidHeaderError.self) { try await manager.send(request) }
      #expect(error?.field == name)
      #expect(error?.errorDescription?.contains("trailers") == false)
    }
    #expect(server.requestCount == 0)
  }

  // MARK: Properties

  @Test(arguments: Wire.allCases) func propertiesThatARequestDoesNotDeclareApply(wire: Wire) async throws {
    server.route("/item", .status(503), .status(503), .json(#"{"item_name":"a"}"#, status: 404))
    let manager = manager(wire) {
      $0.retryPolicy = RetryPolicy(maxRetryCount: 2)
      $0.acceptedStatuses = [404]
      $0.jsonDecoder = JSONDecoder()
      $0.jsonDecoder?.keyDecodingStrategy = .convertFromSnakeCase
      $0.jsonEncoder = JSONEncoder()
      $0.jsonEncoder?.keyEncodingStrategy = .convertToSnakeCase
    }
    let request = Plain<Snake>(method: .put, item: Snake(itemName: "b"))
    #expect(try await manager.send(request) == Snake(itemName: "a"))
    #expect(server.requestCount == 3)
    #expect(server.requests.last?.text == #"{"item_name":"b"}"#)
    // Read by anyone else, they are those of the protocol.
    #expect(request.retryPolicy.maxRetryCount == 0 && request.acceptedStatuses == .successful)
  }

  @Test(arguments: Wire.allCases) func whatARequestDeclaresIsUsed(wire: Wire) async throws {
    server.route("/item", .status(503), .redirect(to: "/end"), .json(#"{"itemName":"a"}"#))
    server.route("/end", .json(#"{"itemName":"a"}"#))
    let manager = manager(wire) {
      $0 = Self.decoding
      $0.responseErrorDecoder = { _ in Mine(text: "response") }
      $0.retryPolicy = RetryPolicy(maxRetryCount: 2)
      $0.redirectPolicy = .reject
      $0.totalTimeout = .zero
      $0.timeout = .zero
      $0.acceptedStatuses = [503]
      $0.maximumResponseSize = 1
      $0.jsonDecoder = JSONDecoder()
      $0.jsonDecoder?.keyDecodingStrategy = .custom { _ in "x".codingKey }
      $0.jsonEncoder = JSONEncoder()
      $0.jsonEncoder?.keyEncodingStrategy = .convertToSnakeCase
    }
    let error = await #expect(throws: HTTPError.self) { try await manager.send(Own()) }
    #expect(error?.statusCode == 503)
    #expect(try await manager.send(Own()).itemName == "a")
    #expect(try await manager.send(Own()).itemName == "a")
    #expect(server.requests.filter { $0.method == "POST" }.allSatisfy { $0.text == #"{"itemName":"a"}"# })
  }

  @Test func limitsOfTimeAndSizeApply() async throws {
    server.route("/item", .data(Data(count: 11)))
    let sized = manager { $0.maximumResponseSize = 10 }
    await #expect(throws: ResponseLimitError.self) { try await sized.send(Plain<Data>()) }
    let folder = try ScratchFolder()
    await #expect(throws: ResponseLimitError.self) {
      try await sized.download(Plain<EmptyResponse>(), to: folder["a"])
    }
    await #expect(throws: ResponseLimitError.self) {
      for try await _ in try await sized.stream(Plain<EmptyResponse>()).body {}
    }
    let hurried = manager { $0.totalTimeout = .zero }
    let error = await #expect(throws: URLError.self) { try await hurried.send(Plain<Data>()) }
    #expect(error?.code == .timedOut)
    let silent = try LoopbackServer()
    silent.route("/item", .raw([.stall]))
    let waiting = Wire.automatic.manager(silent)
    waiting.defaults.timeout = .milliseconds(50)
    let timeout = await #expect(throws: URLError.self) { try await waiting.send(Plain<Data>()) }
    #expect(timeout?.code == .timedOut)
  }

  @Test func redirectsAreRejected() async throws {
    server.route("/item", .redirect(to: "/end"))
    let manager = manager { $0.redirectPolicy = .reject }
    let error = await #expect(throws: HTTPError.self) { try await manager.send(Plain<EmptyResponse>()) }
    #expect(error?.statusCode == 302 && server.requestCount == 1)
  }

  // MARK: Ways

  @Test(arguments: Wire.allCases) func errorsAreDecodedOnEveryWay(wire: Wire) async throws {
    server.fallback = { _ in .text("no", status: 400) }
    // A clock that does not wait would end the reading of a refused upload's body.
    let manager = manager(wire, clock: ContinuousClock()) { $0 = Self.decoding }
    let (request, mine) = (Plain<EmptyResponse>(), Mine(text: "no"))
    let folder = try ScratchFolder()
    let file = try folder.file("b", Data(count: 9))
    await #expect(throws: mine) { try await manager.send(request) }
    await #expect(throws: mine) {
      try await manager.send(
        request,
        accessToken: {
          await Task.yield(); return "t"
        })
    }
    await #expect(throws: mine) { try await manager.decodedResponse(to: request) }
    await #expect(throws: mine) { try await manager.response(to: request, accepting: .successful) }
    await #expect(throws: mine) { _ = try await manager.stream(request) }
    await #expect(throws: mine) { for try await _ in manager.events(request) {} }
    await #expect(throws: mine) { try await manager.download(request, to: folder["a"]) }
    await #expect(throws: mine) { try await manager.get("item", as: Data.self) }
    await #expect(throws: mine) {
      try await manager.upload(
        Plain<EmptyResponse>(method: .post), fromFile: file, options: UploadOptions(using: .tus))
    }
    await #expect(throws: mine) {
      try await manager.send(request, policy: .networkOnly, cache: PrismResponseCache())
    }
    manager.defaults = RequestDefaults()
    await #expect(throws: HTTPError.self) { try await manager.send(request) }
  }

  @Test func endpointsHaveTheirOwn() async throws {
    let manager = manager {
      $0.acceptedStatuses = [404]
      $0.retryPolicy = RetryPolicy(maxRetryCount: 1)
    }
    server.route("/item", .status(503), .status(404), .status(404), .status(503))
    var endpoint = Endpoint<EmptyResponse>("item")
    try await manager.send(endpoint)
    #expect(server.requestCount == 2 && endpoint.acceptedStatuses == .successful)
    endpoint.acceptedStatuses = .successful
    endpoint.retryPolicy = RetryPolicy()
    for status in [404, 503] {
      let error = await #expect(throws: HTTPError.self) { try await manager.send(endpoint) }
      #expect(error?.statusCode == status)
    }
    #expect(server.requestCount == 4)
  }

  @Test func aCacheKeepsTheResponsesOfEachSet() async throws {
    server.route("/item") { .json(#"{"item_name":"\#($0.headers["X-App"] ?? "")"}"#) }
    let cache = PrismResponseCache()
    for name in ["a", "b"] {
      let manager = manager {
        $0.headers = ["X-App": name]
        $0.jsonDecoder = JSONDecoder()
        $0.jsonDecoder?.keyDecodingStrategy = .convertFromSnakeCase
      }
      for _ in 0..<2 {
        let item = try await manager.send(Plain<Snake>(), policy: .cacheFirst, cache: cache)
        #expect(item.itemName == name)
      }
    }
    #expect(server.requestCount == 2)
  }

  @Test func queuedRequestsGetTheHeaderFieldsWhenTheyAreSent() async throws {
    let folder = try ScratchFolder()
    let manager = manager {
      $0.headers = ["X-App": "1", "Authorization": "Basic app", "accept": "text/csv"]
      $0.jsonEncoder = JSONEncoder()
      $0.jsonEncoder?.keyEncodingStrategy = .convertToSnakeCase
      $0.errorDecoder = { _ in Mine(text: "") }
    }
    manager.offlineQueue = try PrismOfflineQueue(
      directory: folder["queue"], delivery: .manager(manager), autoFlush: false)
    defer { manager.offlineQueue = nil }
    let queued = try await manager.enqueue(
      Plain<EmptyResponse>(method: .post, item: Snake(itemName: "a")))
    #expect(queued.urlRequest.value(forHTTPHeaderField: "X-App") == nil)
    #expect(queued.urlRequest.value(forHTTPHeaderField: "Authorization") == nil)
    // One that was not made by the manager may be for anyone.
    var foreign = URLRequest(url: other.url("/item"))
    foreign.httpMethod = "POST"
    await manager.offlineQueue?.enqueue(PrismQueuedRequest(urlRequest: foreign))
    manager.defaults.headers?["X-App"] = "2"
    try await manager.offlineQueue?.flush()
    #expect(server.requests.map { $0.headers["X-App"] } == ["2"])
    #expect(server.requests.first?.headers["Authorization"] == "Basic app")
    #expect(server.requests.first?.headers["Accept"] == "text/csv")
    #expect(server.requests.first?.text == #"{"item_name":"a"}"#)
    #expect(other.requestCount == 1 && other.requests.first?.headers["X-App"] == nil)
    #expect(other.requests.first?.headers["Authorization"] == nil)
  }

  /// GraphQL has options of its own, and often another server.
  @Test func graphQLHasNone() async throws {
    let manager = manager {
      $0 = Self.decoding
      $0.headers = ["X-App": "1", "Authorization": "Basic app"]
      $0.acceptedStatuses = [400]
    }
    other.route("/graphql", .json(#"{"errors":[{"message":"no"}]}"#, status: 400), .status(400))
    let client = PrismGraphQLClient(endpointURL: other.url("/graphql"), manager: manager)
    let response: PrismGraphQLResponse<Snake> = try await client.execute(PrismGraphQLQuery(query: "{ a }"))
    #expect(response.errors?.map(\.message) == ["no"])
    await #expect(throws: PrismNetworkError.badRequest) {
      for try await _ in client.subscribe(
        PrismGraphQLQuery(query: "subscription { a }"), as: Snake.self, over: .serverSentEvents)
      {}
    }
    for request in other.requests {
      #expect(request.headers["X-App"] == nil && request.headers["Authorization"] == nil)
    }
  }

  // MARK: Whose they are

  /// A task that is started while one client reads a request does not read with that one's defaults.
  @Test func aTaskThatIsStartedWhileReadingHasItsOwn() async throws {
    server.route("/item", .text("no", status: 400))
    other.route("/item", .status(404))
    let plain = Wire.automatic.manager(other)
    let inner = Locked<Task<(any Error)?, Never>?>(nil)
    let manager = manager {
      $0.acceptedStatuses = [404]
      $0.errorDecoder = { _ in
        let task = Task<(any Error)?, Never> {
          #expect(Plain<EmptyResponse>().errorDecoder == nil)
          do { try await plain.send(Plain<EmptyResponse>()) } catch { return error }
          return nil
        }
        inner.withLock { $0 = task }
        return Mine(text: "outer")
      }
    }
    await #expect(throws: Mine(text: "outer")) { try await manager.send(Plain<EmptyResponse>()) }
    let error = await inner.withLock { $0 }?.value
    #expect((error as? HTTPError)?.statusCode == 404)
  }

  @Test func aHundredAtOnceKeepApart() async throws {
    server.fallback = { .text($0.headers["X-App"] ?? "none", status: 400) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<100 {
        let manager = manager {
          guard !number.isMultiple(of: 3) else { return }
          $0.headers = ["X-App": "\(number)"]
          $0.errorDecoder = { Mine(text: String(decoding: $0, as: UTF8.self) + " of \(number)") }
        }
        group.addTask {
          do { try await manager.send(Plain<EmptyResponse>()) } catch let error as Mine {
            #expect(error.text == "\(number) of \(number)")
          } catch let error as HTTPError {
            #expect(number.isMultiple(of: 3) && error.data == Data("none".utf8))
          }
        }
      }
      for try await _ in group {}
    }
  }

  @Test func injectedSessionsReceiveThem() async throws {
    let session = StubSession()
    session.on(.get, "/v1/item", .json("{}"))
    var defaults = RequestDefaults()
    defaults.headers = ["X-App": "1"]
    defaults.timeout = .seconds(7)
    let url = try #require(URL(string: "https://api.example.com/v1"))
    let manager = NetworkManager(baseURL: url, session: session, defaults: defaults)
    try await manager.send(Plain<EmptyResponse>(path: "item"))
    #expect(session.requests.first?.value(forHTTPHeaderField: "X-App") == "1")
    #expect(session.requests.first?.timeoutInterval == 7)
    #expect(manager.defaults.timeout == .seconds(7) && manager.defaults.retryPolicy == nil)
  }
}

extension String {
  fileprivate var codingKey: any CodingKey {
    struct Key: CodingKey {
      let stringValue: String
      var intValue: Int? { nil }
      init(stringValue: String) { self.stringValue = stringValue }
      init?(intValue: Int) { nil }
    }
    return Key(stringValue: self)
  }
}
