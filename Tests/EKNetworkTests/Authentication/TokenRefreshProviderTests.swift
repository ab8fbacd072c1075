import EKNetwork
import Testing

/// Every kind of provider must compile.
struct TokenRefreshProviderTests {
  final class PlainClass: TokenRefreshProvider {
    var token = ""
    func refreshTokenIfNeeded() async throws { token = "new" }
  }

  @MainActor final class MainActorClass: TokenRefreshProvider {
    var token = ""
    // Without the attribute the method takes the requirement's isolation, and may not touch `token`.
    @MainActor func refreshTokenIfNeeded() async throws { token = "new" }
  }

  actor Actor: TokenRefreshProvider {
    var token = ""
    func refreshTokenIfNeeded() async throws { token = "new" }
  }

  /// A provider that reads what the server asks for.
  @MainActor final class Challenged: TokenRefreshProvider {
    var scheme: String?
    @MainActor func refreshTokenIfNeeded() async throws {}
    @MainActor func refreshToken(after response: NetworkResponse) async throws {
      scheme = response.value(forHTTPHeaderField: "WWW-Authenticate")
    }
  }

  final class Synchronous: TokenRefreshProvider {
    func refreshTokenIfNeeded() {}
  }

  @MainActor @Test func everyKindOfProviderConforms() async throws {
    let providers: [any TokenRefreshProvider] = [PlainClass(), MainActorClass(), Actor(), Synchronous()]
    for provider in providers {
      try await provider.refreshTokenIfNeeded()
      try await provider.refreshToken(after: NetworkResponse(statusCode: 401))
    }
    let challenged = Challenged()
    let response = NetworkResponse(statusCode: 401, headerFields: HeaderFieldList(["WWW-Authenticate": "Bearer"]))
    try await (challenged as any TokenRefreshProvider).refreshToken(after: response)
    #expect(challenged.scheme == "Bearer")
  }

  private struct Holder {
    weak var provider: (any TokenRefreshProvider)?
  }

  @MainActor @Test func providersHaveIdentity() throws {
    let manager = NetworkManager(baseURL: URL(fileURLWithPath: "/"))
    #expect(manager.tokenRefresher === nil)
    for provider in [PlainClass(), MainActorClass(), Actor()] as [any TokenRefreshProvider] {
      manager.tokenRefresher = provider
      #expect(manager.tokenRefresher === provider)
    }
    let holder = Holder(provider: manager.tokenRefresher)
    #expect(holder.provider != nil)
    manager.tokenRefresher = nil
    #expect(holder.provider == nil)
  }
}
