// What apps write, compiled in every language mode that an app may have: see check.sh. Never run.
import EKNetwork

struct Profile: Codable {
  let name: String
}

struct GetProfile: NetworkRequest {
  typealias Response = Profile
  var path: String { "/me" }
  var method: HTTPMethod { .get }
}

/// A request that is no value and not Sendable.
final class ReferenceRequest: NetworkRequest {
  typealias Response = [Profile]
  var attempts = 0
  var path: String { "/all" }
  var method: HTTPMethod { .get }
}

@MainActor final class ProfileModel {
  var token: String? = "t"
  var profile: Profile?
  let manager: NetworkManager
  let abstraction: any NetworkManaging
  let streaming: any NetworkStreaming

  init(manager: NetworkManager) {
    self.manager = manager
    abstraction = manager
    streaming = manager
  }

  func load() async throws {
    profile = try await manager.send(GetProfile(), accessToken: { self.token })
    profile = try await abstraction.send(GetProfile(), accessToken: { self.token })
    let request = ReferenceRequest()
    _ = try await manager.send(request, accessToken: { self.token })
    request.attempts += 1
    profile = try await manager.send(GetProfile())
  }

  func listen() async throws {
    let response = try await streaming.stream(GetProfile(), accessToken: { self.token })
    for try await line in response.lines() { token = line }
    for try await event in manager.events(GetProfile(), accessToken: { self.token }) { token = event.data }
  }
}

/// The refresher of the documentation: a plain class.
class TokenManager: TokenRefreshProvider {
  let networkManager: NetworkManager
  var accessToken = ""

  init(networkManager: NetworkManager) { self.networkManager = networkManager }

  func refreshTokenIfNeeded() async throws {
    accessToken = try await networkManager.send(GetProfile(), accessToken: nil).name
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

final class MockSession: URLSessionProtocol {
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

final class MockManager: NetworkManaging {
  var tokenRefresher: TokenRefreshProvider?
  var response: Any?
  // `send` stays on its caller's actor. A mock whose members belong to the main actor has to say that this one does too.
  #if MAIN_ACTOR_BY_DEFAULT
    @MainActor
  #endif
  func send<T: NetworkRequest>(_ request: T, accessToken: (() -> String?)?) async throws -> T.Response {
    guard let response = response as? T.Response else { throw NetworkError.emptyResponse }
    return response
  }
}

final class MockStream: URLSessionStreamingProtocol {
  func byteStream(for request: URLRequest) async throws -> (AsyncThrowingStream<UInt8, Error>, URLResponse) {
    throw URLError(.notConnectedToInternet)
  }
}

// In a module whose code belongs to the main actor by default, another actor cannot use its conformances.
#if !MAIN_ACTOR_BY_DEFAULT
  actor Worker {
    let manager: NetworkManager
    var token: String?

    init(url: URL) {
      manager = NetworkManager(baseURL: { url }, session: MockSession(), streamingSession: MockStream())
    }

    func work() async throws -> Profile { try await manager.send(GetProfile(), accessToken: { self.token }) }
  }
#endif

/// A test that looks at its mock afterwards.
func testsOwnMock(_ url: URL) async throws -> Int {
  let session = MockSession()
  var urls = 0
  let count = {
    urls += 1
    return url
  }
  let manager = NetworkManager(baseURL: count, session: session)
  _ = try await manager.send(GetProfile(), accessToken: nil)
  let fixed = NetworkManager(baseURL: url, session: session)
  _ = try await fixed.send(GetProfile(), accessToken: nil)
  return session.requests.count + urls
}

/// `data(for:)` of a session is Foundation's, whatever this library conforms it to.
func foundationsOwn(_ request: URLRequest) async throws {
  let load: (URLRequest, (any URLSessionTaskDelegate)?) async throws -> (Data, URLResponse) = {
    try await URLSession.shared.data(for: $0, delegate: $1)
  }
  _ = try await load(request, nil)
}
