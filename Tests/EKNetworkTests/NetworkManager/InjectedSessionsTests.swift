import Testing

@testable import EKNetwork

/// The documented mocks as classes, structures and actors. Public API only.
struct InjectedSessionsTests {
  private func manager(_ session: any URLSessionProtocol) throws -> NetworkManager {
    NetworkManager(baseURL: try #require(URL(string: "https://api.example.com/v1")), session: session)
  }

  @Test func classAsSession() async throws {
    let mock = ClassSession()
    let manager = try manager(mock)
    #expect(try await manager.send(ItemProbe(), accessToken: { "t" }) == Item(id: 1))
    #expect(mock.requests.first?.url?.absoluteString == "https://api.example.com/v1/item")
    #expect(mock.requests.first?.value(forHTTPHeaderField: "Authorization") == "Bearer t")
  }

  @Test func structAsSession() async throws {
    #expect(try await manager(StructSession()).send(ItemProbe()) == Item(id: 2))
  }

  @Test func actorAsSession() async throws {
    let mock = ActorSession()
    #expect(try await manager(mock).send(ItemProbe()) == Item(id: 3))
    #expect(await mock.calls == 1)
  }

  @MainActor @Test func mainActorClassAsSession() async throws {
    let mock = MainActorSession()
    #expect(try await manager(mock).send(ItemProbe()) == Item(id: 4))
    #expect(mock.calls == 1)
  }

  @Test func refreshAndRetryWorkWithMock() async throws {
    let mock = ClassSession()
    let tokens = TestTokens("old")
    mock.respond = { request in
      switch mock.requests.count {
      case 1: (401, Data())
      case 2: (503, Data())
      default: (200, Data(#"{"id":5,"name":"\#(request.value(forHTTPHeaderField: "Authorization") ?? "")"}"#.utf8))
      }
    }
    let manager = try manager(mock)
    manager.tokenRefresher = tokens
    let request = ItemProbe(retryPolicy: RetryPolicy(maxRetryCount: 1, delay: 0))
    #expect(try await manager.send(request) { tokens.current } == Item(id: 5, name: "Bearer new"))
    #expect(mock.requests.count == 3)
    #expect(tokens.count == 1)
  }

  @Test(arguments: [300, 304, 400, 403, 404, 418, 500, 503])
  func errorStatusCarriesBodyAndHeaders(_ status: Int) async throws {
    let mock = ClassSession()
    mock.respond = { _ in (status, Data("why".utf8)) }
    let error = await #expect(throws: HTTPError.self) { _ = try await manager(mock).send(ItemProbe()) }
    #expect(error == HTTPError(statusCode: status, data: Data("why".utf8), headers: ["X-Mock": "m"]))
    #expect(error?.errorDescription == "Request failed with status code \(status)")
    #expect(error?.value(forHTTPHeaderField: "x-mock") == "m")
  }

  @Test(arguments: [200, 201, 204, 299])
  func successWithoutBodyIsEmpty(_ status: Int) async throws {
    let mock = ClassSession()
    mock.respond = { _ in (status, Data()) }
    await #expect(throws: NetworkError.emptyResponse) { _ = try await manager(mock).send(ItemProbe()) }
    #expect(try await manager(mock).send(Probe<EmptyResponse>()) == EmptyResponse())
    let response = try await manager(mock).send(Probe<StatusCodeResponse>())
    #expect(response == StatusCodeResponse(statusCode: status, headers: ["X-Mock": "m"]))
  }

  @Test func nonHTTPResponseIsInvalid() async throws {
    let mock = ClassSession()
    mock.isHTTP = false
    let manager = try manager(mock)
    await #expect(throws: NetworkError.invalidResponse) { _ = try await manager.send(ItemProbe()) }
    await #expect(throws: NetworkError.invalidResponse) { _ = try await manager.send(Probe<EmptyResponse>()) }
  }

  @Test func errorDecoderReceivesBodyAndMayDecline() async throws {
    struct Shown: Error, Equatable { let text: String }
    let mock = ClassSession()
    mock.respond = { _ in (422, Data("name is taken".utf8)) }
    let decoder: (Data) -> (any Error)? = { $0.isEmpty ? nil : Shown(text: String(decoding: $0, as: UTF8.self)) }
    await #expect(throws: Shown(text: "name is taken")) {
      _ = try await manager(mock).send(ItemProbe(errorDecoder: decoder))
    }
    mock.respond = { _ in (422, Data()) }
    let error = await #expect(throws: HTTPError.self) {
      _ = try await manager(mock).send(ItemProbe(errorDecoder: decoder))
    }
    #expect(error?.statusCode == 422)
  }

  @Test func errorDecoderIsNotUsedOnSuccess() async throws {
    struct Never: Error {}
    #expect(try await manager(StructSession()).send(ItemProbe(errorDecoder: { _ in Never() })) == Item(id: 2))
  }

  @Test func conflictingBodiesAreNotSent() async throws {
    let mock = ClassSession()
    var form = MultipartFormData()
    form.addPart(name: "a", data: Data(), mimeType: "text/plain")
    let request = ItemProbe(
      method: .post, body: RequestBody(data: Data(), contentType: "text/x"), multipartData: form,
      retryPolicy: RetryPolicy(maxRetryCount: 3, delay: 0))
    await #expect(throws: NetworkError.conflictingBodyTypes) { _ = try await manager(mock).send(request) }
    #expect(mock.requests.isEmpty)
  }

  @Test(arguments: ["/../x", "/a/%2e%2e/x", "/a/%252E%252e/x", ".."])
  func pathOutsideBaseURLIsNotSent(_ path: String) async throws {
    let mock = ClassSession()
    await #expect(throws: NetworkError.invalidURL) { _ = try await manager(mock).send(ItemProbe(path: path)) }
    #expect(mock.requests.isEmpty)
  }

  @Test func unencodableBodyIsNotSent() async throws {
    let mock = ClassSession()
    let request = ItemProbe(method: .post, body: RequestBody(encodable: ["a": Double.nan]))
    await #expect(throws: EncodingError.self) { _ = try await manager(mock).send(request) }
    #expect(mock.requests.isEmpty)
  }

  @Test func sessionErrorsPassThrough() async throws {
    struct Own: Error {}
    let mock = ClassSession()
    mock.error = Own()
    await #expect(throws: Own.self) { _ = try await manager(mock).send(ItemProbe()) }
  }

  @Test func progressEndsAtOne() async throws {
    let progress = NetworkProgress()
    _ = try await manager(ClassSession()).send(ItemProbe(progress: progress))
    #expect(progress.fractionCompleted == 1)
  }

  // MARK: - NetworkManaging

  /// An app's layer between its screens and the network.
  private struct Shop {
    var network: any NetworkManaging

    func item() async throws -> Item { try await network.send(ItemProbe(), accessToken: { "t" }) }
    func other() async throws -> Item { try await network.send(ItemProbe()) }
  }

  @Test func managerAndMocksServeAsNetworkManaging() async throws {
    for network: any NetworkManaging in [try manager(StructSession()), ClassManager(), StructManager()] {
      var shop = Shop(network: network)
      #expect(try await shop.item() == Item(id: 2))
      #expect(try await shop.other() == Item(id: 2))
      shop.network.tokenRefresher = TestTokens("t")
      #expect(shop.network.tokenRefresher is TestTokens)
    }
  }

  @MainActor @Test func mainActorMockServesAsNetworkManaging() async throws {
    let mock = MainActorManager()
    let network: any NetworkManaging = mock
    #expect(try await network.send(ItemProbe(), accessToken: nil) == Item(id: 2))
    #expect(mock.calls == 1)
  }
}

// MARK: - Mocks

private func respond(_ status: Int, _ data: Data, to request: URLRequest) throws -> (Data, URLResponse) {
  guard let url = request.url,
    let response = HTTPURLResponse(url: url, statusCode: status, httpVersion: nil, headerFields: ["X-Mock": "m"])
  else { throw URLError(.badURL) }
  return (data, response)
}

private func item(_ id: Int) -> Data { Data(#"{"id":\#(id),"name":"teapot"}"#.utf8) }

private class ClassSession: URLSessionProtocol {
  var requests: [URLRequest] = []
  var respond: (URLRequest) -> (Int, Data) = { _ in (200, item(1)) }
  var error: (any Error)?
  var isHTTP = true

  func data(for request: URLRequest) async throws -> (Data, URLResponse) {
    requests.append(request)
    if let error { throw error }
    let (status, data) = respond(request)
    guard isHTTP else {
      guard let url = request.url else { throw URLError(.badURL) }
      return (data, URLResponse(url: url, mimeType: nil, expectedContentLength: -1, textEncodingName: nil))
    }
    return try EKNetworkTests.respond(status, data, to: request)
  }
}

private struct StructSession: URLSessionProtocol {
  func data(for request: URLRequest) async throws -> (Data, URLResponse) { try respond(200, item(2), to: request) }
}

private actor ActorSession: URLSessionProtocol {
  var calls = 0

  func data(for request: URLRequest) async throws -> (Data, URLResponse) {
    calls += 1
    return try respond(200, item(3), to: request)
  }
}

@MainActor private final class MainActorSession: URLSessionProtocol {
  var calls = 0

  func data(for request: URLRequest) async throws -> (Data, URLResponse) {
    calls += 1
    return try respond(200, item(4), to: request)
  }
}

private struct Unexpected: Error {}

private class ClassManager: NetworkManaging {
  var tokenRefresher: TokenRefreshProvider?

  func send<T: NetworkRequest>(_ request: T, accessToken: (() -> String?)?) async throws -> T.Response {
    guard let value = Item(id: 2) as? T.Response else { throw Unexpected() }
    return value
  }
}

private struct StructManager: NetworkManaging {
  var tokenRefresher: TokenRefreshProvider?

  func send<T: NetworkRequest>(_ request: T, accessToken: (() -> String?)?) async throws -> T.Response {
    guard let value = Item(id: 2) as? T.Response else { throw Unexpected() }
    return value
  }
}

@MainActor private final class MainActorManager: @MainActor NetworkManaging {
  var tokenRefresher: TokenRefreshProvider?
  var calls = 0

  // Repeated: otherwise the isolation of the requirement would override that of the class.
  @MainActor func send<T: NetworkRequest>(_ request: T, accessToken: (() -> String?)?) async throws -> T.Response {
    calls += 1
    guard let value = Item(id: 2) as? T.Response else { throw Unexpected() }
    return value
  }
}
