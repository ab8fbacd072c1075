import EKNetwork

/// The refresher in the documentation: a plain class.
class TokenManager: TokenRefreshProvider {
  let networkManager: NetworkManager
  var accessToken = ""

  init(networkManager: NetworkManager) { self.networkManager = networkManager }

  func refreshTokenIfNeeded() async throws {
    let response = try await networkManager.send(GetProfile(), accessToken: nil)
    accessToken = response.name
  }
}

@MainActor final class MainActorTokens: TokenRefreshProvider {
  var accessToken = ""
  func refreshTokenIfNeeded() async throws { accessToken = "new" }
}

actor ActorTokens: TokenRefreshProvider {
  var accessToken = ""
  func refreshTokenIfNeeded() async throws { accessToken = "new" }
}

class MockSession: URLSessionProtocol {
  var requests: [URLRequest] = []
  func data(for request: URLRequest) async throws -> (Data, URLResponse) {
    requests.append(request)
    throw URLError(.notConnectedToInternet)
  }
}

@MainActor final class MainActorSession: URLSessionProtocol {
  var requests: [URLRequest] = []
  func data(for request: URLRequest) async throws -> (Data, URLResponse) {
    requests.append(request)
    throw URLError(.notConnectedToInternet)
  }
}

actor ActorSession: URLSessionProtocol {
  var requests: [URLRequest] = []
  func data(for request: URLRequest) async throws -> (Data, URLResponse) {
    requests.append(request)
    throw URLError(.notConnectedToInternet)
  }
}

struct MockByteStream: URLSessionStreamingProtocol {
  func byteStream(for request: URLRequest) async throws -> (AsyncThrowingStream<UInt8, Error>, URLResponse) {
    throw URLError(.notConnectedToInternet)
  }
}

struct MockDataStream: URLSessionStreamingProtocol {
  func dataStream(for request: URLRequest) async throws -> (AsyncThrowingStream<Data, Error>, URLResponse) {
    throw URLError(.notConnectedToInternet)
  }
}

class MockManager: NetworkManaging {
  var tokenRefresher: TokenRefreshProvider?
  var response: Any?
  // `send` runs on its caller's actor. A mock with main-actor-isolated members must annotate `send` as well.
  #if MAIN_ACTOR_BY_DEFAULT
    @MainActor
  #endif
  func send<T: NetworkRequest>(_ request: T, accessToken: (() -> String?)?) async throws -> T.Response {
    guard let response = response as? T.Response else { throw NetworkError.emptyResponse }
    return response
  }
}

// Its `tokenRefresher` is synchronous, so the whole conformance is isolated to the main actor.
@MainActor final class MainActorManager: @MainActor NetworkManaging {
  var tokenRefresher: TokenRefreshProvider?
  var response: Any?
  @MainActor func send<T: NetworkRequest>(_ request: T, accessToken: (() -> String?)?) async throws -> T.Response {
    guard let response = response as? T.Response else { throw NetworkError.emptyResponse }
    return response
  }
}

final class MockStreaming: NetworkStreaming {
  #if MAIN_ACTOR_BY_DEFAULT
    @MainActor
  #endif
  func stream<T: NetworkRequest>(_ request: T, accessToken: (() -> String?)?) async throws -> StreamingResponse {
    let chunks = AsyncThrowingStream<Data, Error> { $0.finish() }
    return StreamingResponse(statusCode: 200, headers: [:], chunks: chunks)
  }
}

/// Protocols of an app's own, for its mocks, with the functions as the pages declare them.
protocol RequestSending {
  func send<T: NetworkRequest>(_ request: T, accessToken: (() -> String?)?) async throws -> T.Response
}
protocol RequestStreaming {
  func stream<T: NetworkRequest>(_ request: T, accessToken: (() -> String?)?) async throws -> StreamingResponse
}
protocol EndpointRequesting {
  func request<Request: PrismNetworkRequest>(
    on request: Request, with formatter: DateFormatter?
  ) async throws -> Request.Response
  func redirect<Request: PrismNetworkRequest>(from request: Request) async throws -> URL
}
extension NetworkManager: RequestSending, RequestStreaming {}
extension PrismNetworkAdapter: EndpointRequesting {}

@MainActor func makeManagers(_ url: URL) {
  _ = NetworkManager(baseURL: url, session: MockSession())
  _ = NetworkManager(baseURL: { url }, session: ActorSession(), streamingSession: MockByteStream())
  _ = NetworkManager(baseURL: url, streamingSession: MockDataStream())
  _ = NetworkManager(baseURL: url, session: MainActorSession())
  _ = ProfileModel(manager: NetworkManager(baseURL: url), abstraction: MainActorManager(), streaming: MockStreaming())
}

/// Passes a mock to a manager and examines it afterwards, like a test.
func testWithMock(_ url: URL) async throws -> Int {
  let session = MockSession()
  let fixed = NetworkManager(baseURL: url, session: session)
  _ = try? await fixed.send(GetProfile(), accessToken: nil)
  var calls = 0
  let count = {
    calls += 1
    return url
  }
  let dynamic = NetworkManager(baseURL: count, session: session)
  _ = try? await dynamic.send(GetProfile(), accessToken: nil)
  return session.requests.count + calls
}

func testWithRefresher(_ url: URL) async throws -> String {
  let manager = NetworkManager(baseURL: url)
  let tokens = TokenManager(networkManager: manager)
  manager.tokenRefresher = tokens
  _ = try? await manager.send(GetProfile(), accessToken: { tokens.accessToken })
  return tokens.accessToken
}
