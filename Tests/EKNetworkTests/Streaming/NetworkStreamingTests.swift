import LoopbackServer
import Testing

@testable import EKNetwork

struct NetworkStreamingTests {
  private struct Feed: NetworkRequest {
    typealias Response = EmptyResponse
    var path = "/feed"
    var method = HTTPMethod.get
    var headers: [String: String]? = ["X-Device-ID": "7"]
    var queryParameters: [String: String]? = ["q": "a b", "stream": "true"]
    var body: RequestBody?
    var allowsRetry = true
    var errorDecoder: ((Data) -> Error?)?
    var retryPolicy: RetryPolicy { RetryPolicy(maxRetryCount: 3, delay: 0) }
  }

  private static let choices: [TransportChoice] = [.automatic, .urlSession]

  private func manager(_ server: LoopbackServer, _ choice: TransportChoice) -> NetworkManager {
    NetworkManager(baseURL: server.baseURL, session: URLSession(configuration: .ephemeral), transport: choice)
  }

  @Test(arguments: choices)
  func responseIsReturnedBeforeItsBody(_ choice: TransportChoice) async throws {
    let server = try LoopbackServer()
    defer { server.stop() }
    let gate = Gate()
    server.route("/feed") { _ in
      .streaming(contentLength: 6, [.sendString("abc"), .wait(gate), .sendString("def")]).header("X-A", "b")
    }
    let response = try await manager(server, choice).stream(Feed())
    #expect(response.statusCode == 200)
    #expect(response.headers["X-A"] == "b")
    var chunks = response.chunks.makeAsyncIterator()
    #expect(try await chunks.next() == Data("abc".utf8))
    gate.open()
    #expect(try await chunks.next() == Data("def".utf8))
    #expect(try await chunks.next() == nil)
  }

  @Test(arguments: choices)
  func bytesArriveInOrder(_ choice: TransportChoice) async throws {
    let server = try LoopbackServer()
    defer { server.stop() }
    let body = Data((0..<10_000).map { UInt8(truncatingIfNeeded: $0) })
    server.route("/feed") { _ in .chunked([body.prefix(1), body.dropFirst(1).prefix(5_000), body.dropFirst(5_001)]) }
    var received = Data()
    for try await byte in try await manager(server, choice).stream(Feed()).bytes { received.append(byte) }
    #expect(received == body)
  }

  @Test(arguments: choices)
  func leavingTheLoopClosesTheConnection(_ choice: TransportChoice) async throws {
    let server = try LoopbackServer()
    defer { server.stop() }
    server.route("/feed") { _ in .streaming(contentLength: 1_000_000, [.sendString("abc"), .stall]) }
    let response = try await manager(server, choice).stream(Feed())
    for try await chunk in response.chunks {
      #expect(chunk == Data("abc".utf8))
      break
    }
    #expect(await server.waitForOpenConnections(0))
    withExtendedLifetime(response) {}
  }

  @Test(arguments: choices)
  func droppingAnUnreadResponseClosesTheConnection(_ choice: TransportChoice) async throws {
    let server = try LoopbackServer()
    defer { server.stop() }
    server.route("/feed") { _ in .streaming(contentLength: 1_000_000, [.sendString("abc"), .stall]) }
    _ = try await manager(server, choice).stream(Feed()).statusCode
    #expect(await server.waitForOpenConnections(0))
  }

  @Test(arguments: choices)
  func cancellingTheTaskClosesTheConnection(_ choice: TransportChoice) async throws {
    let server = try LoopbackServer()
    defer { server.stop() }
    server.route("/feed") { _ in .streaming(contentLength: 1_000_000, [.sendString("abc"), .stall]) }
    let manager = manager(server, choice)
    let reading = Gate()
    let task = Task {
      let response = try await manager.stream(Feed())
      for try await _ in response.chunks { reading.open() }
    }
    await reading.wait()
    task.cancel()
    _ = await task.result
    #expect(await server.waitForOpenConnections(0))
  }

  @Test func unreadBodyBlocksServer() async throws {
    let server = try LoopbackServer()
    defer { server.stop() }
    let counter = ByteCounter()
    let total = 10 * 1024 * 1024 * 1024
    server.route("/feed") { _ in .streaming(contentLength: total, [.flood(bytes: total, of: 7, counter: counter)]) }
    let response = try await manager(server, .automatic).stream(Feed())
    var chunks = response.chunks.makeAsyncIterator()
    #expect(try await chunks.next() != nil)
    await counter.waitUntilBlocked()
    // Most of it is in the kernel's buffers, on both sides.
    #expect(counter.count < 16 * 1024 * 1024)
  }

  @Test(arguments: choices)
  func tokenIsRefreshedBeforeResponseIsReturned(_ choice: TransportChoice) async throws {
    final class Refresher: TokenRefreshProvider, Sendable {
      let token = Locked("old")
      func refreshTokenIfNeeded() async throws { token.withLock { $0 = "new" } }
    }
    let server = try LoopbackServer()
    defer { server.stop() }
    server.route("/feed") { $0.headers["Authorization"] == "Bearer new" ? .text("ok") : .status(401) }
    let refresher = Refresher()
    let manager = manager(server, choice)
    manager.tokenRefresher = refresher
    let response = try await manager.stream(Feed()) { refresher.token.withLock { $0 } }
    var text = Data()
    for try await chunk in response.chunks { text.append(chunk) }
    #expect(text == Data("ok".utf8))
    #expect(server.requests.count == 2)

    server.route("/feed") { _ in .status(401) }
    await #expect(throws: NetworkError.unauthorized) { _ = try await manager.stream(Feed()) { "x" } }
    server.reset()
    await #expect(throws: NetworkError.unauthorized) {
      _ = try await manager.stream(Feed(allowsRetry: false)) { "x" }
    }
    #expect(server.requests.count == 1)
  }

  @Test(arguments: choices)
  func errorBodyIsReadUpToOneMebibyte(_ choice: TransportChoice) async throws {
    let server = try LoopbackServer()
    defer { server.stop() }
    let size = Locked(1_048_576)
    server.route("/feed") { _ in
      .chunked([Data(repeating: 65, count: size.withLock { $0 })], status: 503).header("X-Why", "busy")
    }
    let manager = manager(server, choice)
    let error = await #expect(throws: HTTPError.self) { _ = try await manager.stream(Feed()) }
    #expect(error?.statusCode == 503)
    #expect(error?.data.count == 1_048_576)
    #expect(error?.value(forHTTPHeaderField: "x-why") == "busy")
    #expect(server.requests.count == 1, "the retry policy does not apply")
    size.withLock { $0 += 1 }
    await #expect(throws: StreamingError.errorPayloadTooLarge(limitBytes: 1_048_576)) {
      _ = try await manager.stream(Feed())
    }
    struct Decoded: Error, Equatable { let count: Int }
    size.withLock { $0 = 5 }
    await #expect(throws: Decoded(count: 5)) {
      _ = try await manager.stream(Feed(errorDecoder: { Decoded(count: $0.count) }))
    }
  }

  @Test(arguments: choices)
  func streamAndSendTransmitTheSameBytes(_ choice: TransportChoice) async throws {
    let server = try LoopbackServer()
    defer { server.stop() }
    server.route("/feed") { _ in .text("{}") }
    let manager = manager(server, choice)
    manager.userAgentConfiguration = UserAgentConfiguration(appName: "Tests")
    let request = Feed(method: .post, body: RequestBody(formURLEncoded: ["a": "b&c"]))
    _ = try await manager.send(request) { "token" }
    _ = try await manager.stream(request) { "token" }
    let heads = server.requests.map { Set(String(decoding: $0.head, as: UTF8.self).split(separator: "\r\n")) }
    #expect(heads.count == 2)
    #expect(heads.first == heads.last)
    #expect(server.requests.first?.body == server.requests.last?.body)
    #expect(server.requests.first?.rawBody == Data("a=b%26c".utf8))
  }

  @Test(arguments: choices)
  func redirectsAreFollowed(_ choice: TransportChoice) async throws {
    let server = try LoopbackServer()
    defer { server.stop() }
    server.route("/feed") { _ in .redirect(to: "/there", status: 307) }
    server.route("/there") { _ in .text("ok") }
    var text = Data()
    for try await chunk in try await manager(server, choice).stream(Feed()).chunks { text.append(chunk) }
    #expect(text == Data("ok".utf8))
  }

  @Test(arguments: [HTTPMethod.get, .post])
  func truncatedBodyFailsAfterReceivedBytes(_ method: HTTPMethod) async throws {
    let server = try LoopbackServer()
    defer { server.stop() }
    let arrived = Gate()
    server.route("/feed") { _ in .streaming(contentLength: 10, [.sendString("abc"), .wait(arrived), .reset]) }
    let response = try await manager(server, .automatic).stream(Feed(method: method))
    var received = Data()
    let error = await #expect(throws: URLError.self) {
      for try await chunk in response.chunks {
        received.append(chunk)
        arrived.open()
      }
    }
    #expect(received == Data("abc".utf8))
    #expect(error?.code == .networkConnectionLost)
    #expect(server.requests.count == 1, "the retry policy does not apply")
  }
}
