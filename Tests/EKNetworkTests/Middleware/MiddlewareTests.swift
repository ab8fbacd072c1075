import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Middleware that a test defines inline.
struct Intercept: NetworkMiddleware {
  typealias Work =
    @Sendable (URLRequest, NetworkMiddlewareContext, NetworkMiddlewareNext) async throws
    -> NetworkMiddlewareResponse
  private let work: Work

  init(_ work: @escaping Work) { self.work = work }

  /// Passes requests on, the first one not before `deaf` is released.
  static func waitingOnce(for deaf: Deaf) -> Intercept {
    let isFirst = Locked(true)
    return Intercept { request, _, next in
      let waits = isFirst.withLock { isFirst in
        defer { isFirst = false }
        return isFirst
      }
      if waits { await deaf.wait() }
      return try await next(request)
    }
  }

  func intercept(
    _ request: URLRequest, context: NetworkMiddlewareContext, next: NetworkMiddlewareNext
  ) async throws -> NetworkMiddlewareResponse {
    try await work(request, context, next)
  }

  static func adding(_ value: String, to name: String) -> Intercept {
    Intercept { request, _, next in
      var request = request
      request.setValue(value, forHTTPHeaderField: name)
      return try await next(request)
    }
  }

  static func recording(_ text: String, in list: Locked<[String]>) -> Intercept {
    Intercept { request, _, next in
      list.withLock { $0.append(text) }
      do {
        let response = try await next(request)
        list.withLock { $0.append("\(text) \(response.statusCode)") }
        return response
      } catch {
        list.withLock { $0.append("\(text) error") }
        throw error
      }
    }
  }
}

struct MiddlewareTests {
  private let server: LoopbackServer

  init() throws {
    server = try LoopbackServer()
    server.route("/item") { _ in .json(Item(id: 1)) }
  }

  // MARK: - Order

  @Test(arguments: Wire.allCases)
  func callMiddlewareWrapsRetriesAndRedirects(_ wire: Wire) async throws {
    server.route("/start", .status(503), .redirect(to: "/item"))
    let list = Locked<[String]>([])
    let manager = wire.manager(server)
    manager.middleware = [.recording("call 1", in: list), .recording("call 2", in: list)] as [Intercept]
    manager.attemptMiddleware = [.recording("attempt 1", in: list), .recording("attempt 2", in: list)] as [Intercept]
    var probe = ItemProbe(path: "/start")
    probe.retryPolicy = RetryPolicy(maxRetryCount: 1, delay: 0)
    #expect(try await manager.send(probe) == Item(id: 1))
    let attempt = { (status: Int) in ["attempt 1", "attempt 2", "attempt 2 \(status)", "attempt 1 \(status)"] }
    #expect(
      list.withLock { $0 } == ["call 1", "call 2"] + attempt(503) + attempt(302) + attempt(200)
        + ["call 2 200", "call 1 200"])
  }

  @Test(arguments: Wire.allCases)
  func callSeesErrorAndAttemptSeesStatus(_ wire: Wire) async throws {
    server.route("/missing", .status(404))
    let manager = wire.manager(server)
    let errors = Locked<[any Error]>([])
    manager.middleware = [
      Intercept { request, _, next in
        do { return try await next(request) } catch {
          errors.withLock { $0.append(error) }
          throw error
        }
      }
    ]
    let list = Locked<[String]>([])
    manager.attemptMiddleware = [Intercept.recording("attempt", in: list)]
    await #expect(throws: HTTPError.self) { try await manager.send(ItemProbe(path: "/missing")) }
    #expect((errors.withLock { $0.first } as? HTTPError)?.statusCode == 404)
    #expect(list.withLock { $0 } == ["attempt", "attempt 404"])
  }

  /// The default of a download does not override it.
  @Test func acceptHeaderOfMiddlewareIsKept() async throws {
    server.route("/item") { _ in .json(Item(id: 1)) }
    let manager = Wire.automatic.manager(server)
    manager.middleware = [Intercept.adding("text/csv", to: "Accept")]
    let folder = try ScratchFolder()
    _ = try await manager.download(ItemProbe(), to: folder["a"])
    _ = try await manager.send(ItemProbe())
    #expect(server.requests.map { $0.header("Accept") } == ["text/csv", "text/csv"])
  }

  /// The second time finds a complete file, which must not be written to.
  @Test(arguments: Wire.allCases)
  func downloadMayBeRepeated(_ wire: Wire) async throws {
    server.route(
      "/item", .text("whole"), .text("another"), .text("whole"),
      .raw([
        .sendString("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart"), .close,
      ]))
    let manager = wire.manager(server)
    manager.middleware = [
      Intercept { request, _, next in
        _ = try await next(request)
        return try await next(request)
      }
    ]
    let folder = try ScratchFolder()
    let file = try await manager.download(ItemProbe(), to: folder["a"])
    #expect(try Data(contentsOf: file.url) == Data("another".utf8))
    #expect(folder.names == ["a"])
    await #expect(throws: (any Error).self) { try await manager.download(ItemProbe(), to: folder["a"]) }
    #expect(try Data(contentsOf: file.url) == Data("whole".utf8))
  }

  // MARK: - Own responses

  @Test func ownResponseNeedsNoNetwork() async throws {
    let body = Data(#"{"id":7,"name":""}"#.utf8)
    let own = Intercept { _, _, _ in NetworkMiddlewareResponse(statusCode: 200, headers: ["X-A": "b"], data: body) }
    let folder = try ScratchFolder()
    for isAttempt in [false, true] {
      let manager = Wire.automatic.manager(server)
      if isAttempt { manager.attemptMiddleware = [own] } else { manager.middleware = [own] }
      #expect(try await manager.send(ItemProbe()).id == 7)
      let stream = try await manager.stream(ItemProbe())
      #expect(stream.headers["X-A"] == "b")
      var streamed = Data()
      for try await chunk in stream.body { streamed += chunk }
      #expect(streamed == body)
      let file = try await manager.download(ItemProbe(), to: folder["\(isAttempt)"])
      #expect(try Data(contentsOf: file.url) == body)
    }
    #expect(server.requestCount == 0)
  }

  @Test func ownErrorStatusIsAnHTTPError() async throws {
    let manager = Wire.automatic.manager(server)
    manager.middleware = [Intercept { _, _, _ in NetworkMiddlewareResponse(statusCode: 418, data: Data([1])) }]
    let error = await #expect(throws: HTTPError.self) { try await manager.send(ItemProbe()) }
    #expect(error?.statusCode == 418)
    #expect(error?.data == Data([1]))
    await #expect(throws: HTTPError.self) { try await manager.stream(ItemProbe()) }
    let folder = try ScratchFolder()
    await #expect(throws: HTTPError.self) { try await manager.download(ItemProbe(), to: folder["a"]) }
    #expect(server.requestCount == 0)
  }

  @Test func invalidOwnResponseIsAnError() async throws {
    let cases: [(Int, [String: String])] = [(99, [:]), (1_000, [:]), (200, ["a b": "c"]), (200, ["A": "b\r\nC: d"])]
    for (status, headers) in cases {
      for isAttempt in [false, true] {
        let manager = Wire.automatic.manager(server)
        let own = Intercept { _, _, _ in NetworkMiddlewareResponse(statusCode: status, headers: headers) }
        if isAttempt { manager.attemptMiddleware = [own] } else { manager.middleware = [own] }
        await #expect(throws: NetworkMiddlewareError.invalidResponse) { try await manager.send(ItemProbe()) }
      }
    }
  }

  // MARK: - Changes

  @Test(arguments: Wire.allCases)
  func headersOfCallAreSentWithEachAttempt(_ wire: Wire) async throws {
    server.route("/item") { $0.headers["Authorization"] == "Bearer new" ? .json(Item(id: 1)) : .status(401) }
    let tokens = TestTokens("old")
    let manager = wire.manager(server)
    manager.tokenRefresher = tokens
    manager.middleware = [Intercept.adding("v", to: "X-Key")]
    #expect(try await manager.send(ItemProbe()) { tokens.current } == Item(id: 1))
    #expect(server.requests.map { $0.headers["X-Key"] } == ["v", "v"])
    #expect(server.requests.map { $0.headers["Authorization"] } == ["Bearer old", "Bearer new"])
  }

  @Test(arguments: Wire.allCases)
  func callCanChangeURLMethodAndBody(_ wire: Wire) async throws {
    server.route("/mirror") { $0.method == "PUT" ? .json(Item(id: Int($0.body.count))) : .status(400) }
    let manager = wire.manager(server)
    manager.middleware = [
      Intercept { [server] request, _, next in
        var request = request
        request.url = server.url("/mirror")
        request.httpMethod = "PUT"
        request.httpBody = Data(count: 3)
        return try await next(request)
      }
    ]
    #expect(try await manager.send(ItemProbe(path: "/nowhere")) == Item(id: 3))
  }

  @Test func attemptCanChangeOnlyQueryOfURL() async throws {
    let manager = Wire.automatic.manager(server)
    let target = Locked<String?>("/item?signature=1")
    manager.attemptMiddleware = [
      Intercept { [server] request, _, next in
        var request = request
        request.url = target.withLock { $0 }.map { server.url($0) }
        return try await next(request)
      }
    ]
    #expect(try await manager.send(ItemProbe()) == Item(id: 1))
    #expect(server.requests.last?.target == "/item?signature=1")
    for other in ["/other", nil] {
      target.withLock { $0 = other }
      await #expect(throws: NetworkMiddlewareError.changedDestination) { try await manager.send(ItemProbe()) }
    }
    #expect(server.requestCount == 1)
  }

  @Test(arguments: Wire.allCases)
  func readBodyStillReachesCaller(_ wire: Wire) async throws {
    server.route("/item") { _ in .data(Data(#"{"id":1,"name":""}"#.utf8)) }
    let manager = wire.manager(server)
    let seen = Locked<[Data]>([])
    let look = Intercept { request, _, next in
      var response = try await next(request)
      let data = try await response.data()
      seen.withLock { $0.append(data) }
      return response
    }
    manager.middleware = [look]
    manager.attemptMiddleware = [look]
    #expect(try await manager.send(ItemProbe()).id == 1)
    var streamed = Data()
    for try await chunk in try await manager.stream(ItemProbe()).body { streamed += chunk }
    let all = seen.withLock { $0 }
    #expect(all.count == 4)
    #expect(all.allSatisfy { $0 == streamed })
  }

  @Test func readingACopyLeavesResponseIntact() async throws {
    let manager = Wire.automatic.manager(server)
    let look = Intercept { request, _, next in
      let response = try await next(request)
      for _ in 0..<2 {
        var copy = response
        #expect(try await copy.data().isEmpty == false)
      }
      return response
    }
    manager.middleware = [look]
    manager.attemptMiddleware = [look]
    #expect(try await manager.send(ItemProbe()).id == 1)
  }

  @Test func bodyHasOneReader() async throws {
    var response = NetworkMiddlewareResponse(statusCode: 200, data: Data("abc".utf8))
    var other = response
    var iterator = response.body.makeAsyncIterator()
    #expect(try await iterator.next() == Data("abc".utf8))
    await #expect(throws: ConcurrentReadError.self) { try await other.data() }
    #expect(try await iterator.next() == nil)
    #expect(try await response.data() == Data("abc".utf8))
  }

  @Test func bodyPastReadLimitIsAnError() async throws {
    server.route("/item") { _ in .data(Data(count: 100_000)) }
    let manager = Wire.automatic.manager(server)
    manager.attemptMiddleware = [
      Intercept { request, _, next in
        var response = try await next(request)
        _ = try await response.data(maximumSize: 1_000)
        return response
      }
    ]
    await #expect(throws: ResponseLimitError.self) { try await manager.send(ItemProbe()) }
  }

  @Test func replacedBodyAndStatusReachCaller() async throws {
    server.route("/gone", .status(404))
    let manager = Wire.automatic.manager(server)
    manager.attemptMiddleware = [
      Intercept { request, _, next in
        var response = try await next(request)
        guard response.statusCode == 404 else { return response }
        response.statusCode = 200
        response.headers["Content-Type"] = "application/json"
        return response.replacingBody(with: Data(#"{"id":4,"name":""}"#.utf8))
      }
    ]
    #expect(try await manager.send(ItemProbe(path: "/gone")).id == 4)
  }

  // MARK: - Endpoints

  /// What middleware does not change stays as it was received.
  @Test(.enabled(if: Platform.isLinux), arguments: [false, true])
  func changedFieldLeavesTheOthersAsReceived(isAround: Bool) async throws {
    let head = "HTTP/1.1 200 As It Is\r\nX-B: 1\r\nSet-Cookie: a=1; Path=/\r\nX-Gone: 1\r\nSet-Cookie: b="
    let rest = "; Path=/\r\nX-A: 2\r\nX-b: 3\r\nX-Folded: 4\r\n 5\r\nContent-Length: 0\r\n\r\n"
    server.route("/item", .raw([.send(Data(head.utf8) + Data([0xFC]) + Data(rest.utf8))]))
    let manager = Wire.automatic.manager(server)
    let changing = Intercept { request, _, next in
      var response = try await next(request)
      response.headers["X-Gone"] = nil
      response.headers["X-New"] = "ü"
      response.headers["X-A"] = "6"
      return response
    }
    if isAround { manager.middleware = [changing] } else { manager.attemptMiddleware = [changing] }
    let response = try await manager.response(to: Probe<EmptyResponse>())
    #expect(
      response.headerFields.map { "\($0.name): \($0.value)" } == [
        "X-B: 1", "Set-Cookie: a=1; Path=/", "Set-Cookie: b=ü; Path=/", "X-b: 3", "X-Folded: 4 5", "Content-Length: 0",
        "X-A: 6", "X-New: ü",
      ])
    #expect(response.reasonPhrase == "As It Is" && response.protocolVersion == "HTTP/1.1")
  }

  @Test func endpointsUseMiddleware() async throws {
    server.route("/item") {
      $0.headers["X-Call"] == "a" && $0.headers["X-Attempt"] == "b" ? .json(Item(id: 1)) : .status(400)
    }
    let adapter = PrismNetworkAdapter(configuration: .ephemeral)
    adapter.middleware = [Intercept.adding("a", to: "X-Call")]
    adapter.attemptMiddleware = [Intercept.adding("b", to: "X-Attempt")]
    let request = LocalRequest<Item>(server.endpoint())
    #expect(try await adapter.request(on: request, with: nil) == Item(id: 1))
  }
}
