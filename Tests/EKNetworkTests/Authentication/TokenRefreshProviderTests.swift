import EKNetwork
import Testing

/// Every kind of provider must compile.
@Suite struct TokenRefreshProviderTests {
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

  struct Value: TokenRefreshProvider {
    func refreshTokenIfNeeded() {}
  }

  @MainActor @Test func everyKindOfProviderConforms() async throws {
    let providers: [any TokenRefreshProvider] = [PlainClass(), MainActorClass(), Actor(), Value()]
    for provider in providers { try await provider.refreshTokenIfNeeded() }
  }
}
