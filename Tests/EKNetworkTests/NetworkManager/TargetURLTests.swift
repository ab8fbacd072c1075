import LoopbackServer
import Testing

@testable import EKNetwork

/// Requests to whole URLs, which may come from a server, such as that of a next page.
struct TargetURLTests {
  private struct Page: NetworkRequest {
    typealias Response = StatusCodeResponse
    let path = "/never"
    let method = HTTPMethod.get
    let targetURL: URL?
    var headers: [String: String]?
    var queryParameters: [String: String]?
    var orderedQuery: [URLQueryItem]?
  }

  private let server: LoopbackServer
  private let other: LoopbackServer

  init() throws {
    (server, other) = (try LoopbackServer(), try LoopbackServer())
    server.fallback = { _ in .status(200) }
    other.fallback = { _ in .status(200) }
  }

  private func url(_ server: LoopbackServer, _ target: String) throws -> URL {
    try #require(URL(string: "http://127.0.0.1:\(server.port)\(target)"))
  }

  @Test(arguments: Wire.allCases) func theURLIsSentAsItIs(wire: Wire) async throws {
    let manager = wire.manager(server)
    // The libcurl that Foundation uses writes hexadecimal digits in upper case, from 8.21 at the latest.
    let target = "/a%2Fb//c/d\(wire == .automatic ? "%7e" : "%7E")?x=%20+&y=;&flag"
    _ = try await manager.send(Page(targetURL: url(server, target))) { "secret" }
    let items = [URLQueryItem(name: "b", value: "1"), URLQueryItem(name: "b", value: nil)]
    _ = try await manager.send(
      Page(targetURL: url(server, target), queryParameters: ["a": "0"], orderedQuery: items))
    #expect(server.requests.map(\.target) == [target, target + "&a=0&b=1&b"])
    #expect(server.requests.first?.headers["Authorization"] == "Bearer secret")
  }

  /// Whoever chose the URL must not get what is meant for the base URL.
  @Test(arguments: Wire.allCases) func anotherOriginGetsNoCredentials(wire: Wire) async throws {
    let manager = wire.manager(server) {
      $0.httpAdditionalHeaders = ["Authorization": "Basic session", "Cookie": "a=1", "X-Plain": "kept"]
    }
    let tokens = TestTokens("secret")
    manager.tokenRefresher = tokens
    other.route("/page") { _ in .status(401) }
    let page = try Page(targetURL: url(other, "/page"))
    await #expect(throws: NetworkError.unauthorized) { try await manager.send(page) { tokens.current } }
    await #expect(throws: NetworkError.unauthorized) { _ = try await manager.stream(page) { tokens.current } }
    let folder = try ScratchFolder()
    await #expect(throws: NetworkError.unauthorized) {
      try await manager.download(page, to: folder["a"]) { tokens.current }
    }
    _ = try await manager.response(to: page) { tokens.current }
    #expect(other.requests.count == 4)
    for request in other.requests {
      #expect(request.headers["Authorization"] == nil && request.headers["Cookie"] == nil)
      #expect(request.headers["X-Plain"] == "kept")
    }
    #expect(tokens.count == 0)
    // What the request itself has is for the URL that it names.
    let own = try Page(targetURL: url(other, "/own"), headers: ["Authorization": "Bearer own"])
    _ = try await manager.send(own) { tokens.current }
    #expect(other.requests.last?.headers["Authorization"] == "Bearer own")
  }

  @Test func theCommandHasNoTokenForAnotherOrigin() throws {
    let manager = Wire.automatic.manager(server)
    for (target, isSame) in [(server, true), (other, false)] {
      let command = try manager.curlCommand(
        for: Page(targetURL: url(target, "/page")), accessToken: { "secret" }, revealingSecrets: true)
      #expect(command.contains("/page") && command.contains("secret") == isSame)
    }
  }

  @Test func urlsThatCannotBeRequestedAreInvalid() async throws {
    for text in ["/relative", "mailto:a@b", "http:///path", "file:///etc/passwd"] {
      let page = Page(targetURL: URL(string: text))
      await #expect(throws: NetworkError.invalidURL, "\(text)") { try await Wire.automatic.manager(server).send(page) }
    }
    await #expect(throws: URLError.self) {
      try await Wire.automatic.manager(server).send(Page(targetURL: URL(string: "ftp://127.0.0.1/a")))
    }
  }

  /// The queue adds the token when it sends the request, to whatever URL that has.
  @Test func anotherOriginCannotBeQueued() async throws {
    let manager = Wire.automatic.manager(server)
    let folder = try ScratchFolder()
    manager.offlineQueue = try PrismOfflineQueue(directory: folder["queue"])
    await #expect(throws: NetworkError.invalidURL) { try await manager.enqueue(Page(targetURL: url(other, "/page"))) }
    _ = try await manager.enqueue(Page(targetURL: url(server, "/page")))
  }

  @Test func policiesKeyByWhoAsks() async throws {
    let cache = PrismResponseCache()
    let manager = Wire.automatic.manager(server)
    other.fallback = { request in .text(request.headers["Authorization"] ?? "none") }
    struct Text: NetworkRequest, Sendable {
      let path = "/page"
      let method = HTTPMethod.get
      let targetURL: URL?
      func decodeResponse(data: Data, response: URLResponse) throws -> String { String(decoding: data, as: UTF8.self) }
    }
    let page = try Text(targetURL: url(other, "/page"))
    for _ in 0..<2 {
      #expect(
        try await manager.send(page, accessToken: { "secret" }, policy: .cacheFirst, cache: cache) == "none")
    }
    #expect(other.requests.count == 1)
    let own = Wire.automatic.manager(other)
    #expect(
      try await own.send(page, accessToken: { "secret" }, policy: .cacheFirst, cache: cache) == "Bearer secret")
  }
}
