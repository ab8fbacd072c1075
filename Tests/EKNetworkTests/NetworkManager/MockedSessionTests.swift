import Testing

@testable import EKNetwork

/// The documented API with injected mocks, without a socket.
struct MockedSessionTests {
  private static let url = URL(string: "https://api.example.com/v1")!

  /// A typical mock: a plain class.
  private final class MockSession: URLSessionProtocol {
    var results: [Result<(Data, URLResponse), any Error>]
    var requests: [URLRequest] = []

    init(_ results: [Result<(Data, URLResponse), any Error>]) { self.results = results }

    func data(for request: URLRequest) async throws -> (Data, URLResponse) {
      requests.append(request)
      return try (results.count > 1 ? results.removeFirst() : results[0]).get()
    }
  }

  @MainActor private final class MainActorSession: URLSessionProtocol {
    var count = 0
    func data(for request: URLRequest) async throws -> (Data, URLResponse) {
      MainActor.assertIsolated()
      count += 1
      return (Data(#"{"id":1,"name":"a"}"#.utf8), MockedSessionTests.response(200))
    }
  }

  private static func response(_ status: Int, _ headers: [String: String] = [:]) -> HTTPURLResponse {
    HTTPURLResponse(url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: headers)!
  }

  private static func result(_ status: Int, _ body: String = "") -> Result<(Data, URLResponse), any Error> {
    .success((Data(body.utf8), response(status)))
  }

  private let item = #"{"id":1,"name":"a"}"#

  @Test func sessionReceivesDescribedRequest() async throws {
    let session = MockSession([Self.result(200, item)])
    let manager = NetworkManager(
      baseURL: { Self.url }, session: session,
      userAgentConfiguration: UserAgentConfiguration(appName: "Shop", appVersion: "2"))
    let request = ItemProbe(
      path: "/items", method: .post, queryParameters: ["q": "a b"], body: RequestBody(encodable: Item(id: 7)))
    #expect(try await manager.send(request, accessToken: { "t" }) == Item(id: 1, name: "a"))
    let sent = try #require(session.requests.first)
    #expect(sent.url?.absoluteString == "https://api.example.com/v1/items?q=a%20b")
    #expect(sent.httpMethod == "POST")
    #expect(sent.value(forHTTPHeaderField: "Authorization") == "Bearer t")
    #expect(sent.value(forHTTPHeaderField: "Content-Type") == "application/json")
    #expect(sent.value(forHTTPHeaderField: "User-Agent")?.hasPrefix("Shop/2 (") == true)
    #expect(try sent.httpBody.map { try JSONDecoder().decode(Item.self, from: $0) } == Item(id: 7))
  }

  @Test func unauthorizedRequestIsRefreshedAndResent() async throws {
    let session = MockSession([Self.result(401), Self.result(200, item)])
    let tokens = TestTokens("old")
    let manager = NetworkManager(baseURL: Self.url, session: session)
    manager.tokenRefresher = tokens
    _ = try await manager.send(ItemProbe(), accessToken: { tokens.current })
    #expect(session.requests.map { $0.value(forHTTPHeaderField: "Authorization") } == ["Bearer old", "Bearer new"])
  }

  @Test func sessionErrorsPassThrough() async throws {
    struct Offline: Error {}
    let manager = NetworkManager(baseURL: Self.url, session: MockSession([.failure(Offline())]))
    await #expect(throws: Offline.self) { _ = try await manager.send(ItemProbe()) }
  }

  @Test func retriesAreCounted() async throws {
    let session = MockSession([.failure(URLError(.timedOut)), Self.result(503), Self.result(200, item)])
    let manager = NetworkManager(baseURL: Self.url, session: session)
    _ = try await manager.send(ItemProbe(retryPolicy: RetryPolicy(maxRetryCount: 2, delay: 0)))
    #expect(session.requests.count == 3)
  }

  @Test func unfollowedRedirectIsTheResponse() async throws {
    let session = MockSession([.success((Data(), Self.response(302, ["Location": "https://elsewhere.example/"])))])
    let error = await #expect(throws: HTTPError.self) {
      _ = try await NetworkManager(baseURL: Self.url, session: session).send(ItemProbe())
    }
    #expect(error?.statusCode == 302)
    #expect(session.requests.count == 1)
  }

  @Test func nonHTTPResponseIsInvalid() async throws {
    let response = URLResponse(url: Self.url, mimeType: nil, expectedContentLength: 0, textEncodingName: nil)
    let manager = NetworkManager(baseURL: Self.url, session: MockSession([.success((Data(), response))]))
    await #expect(throws: NetworkError.invalidResponse) { _ = try await manager.send(ItemProbe()) }
  }

  @Test func invalidRequestIsNotSent() async throws {
    let session = MockSession([Self.result(200, item)])
    let manager = NetworkManager(baseURL: Self.url, session: session)
    var form = MultipartFormData()
    form.addPart(name: "a", data: Data(), mimeType: "text/plain")
    let both = ItemProbe(method: .post, body: RequestBody(encodable: 1), multipartData: form)
    await #expect(throws: NetworkError.conflictingBodyTypes) { _ = try await manager.send(both) }
    await #expect(throws: NetworkError.invalidURL) { _ = try await manager.send(ItemProbe(path: "/a/../b")) }
    await #expect(throws: NetworkError.invalidURL) { _ = try await manager.send(ItemProbe(path: "/a/%252e%252e/b")) }
    #expect(session.requests.isEmpty)
  }

  @Test func progressCompletesWithMock() async throws {
    let progress = NetworkProgress()
    let manager = NetworkManager(baseURL: Self.url, session: MockSession([Self.result(200, item)]))
    _ = try await manager.send(ItemProbe(progress: progress))
    #expect(progress.fractionCompleted == 1)
  }

  @MainActor @Test func mainActorSessionRunsOnMainActor() async throws {
    let session = MainActorSession()
    let manager = NetworkManager(baseURL: Self.url, session: session)
    _ = try await manager.send(ItemProbe())
    #expect(session.count == 1)
  }
}
