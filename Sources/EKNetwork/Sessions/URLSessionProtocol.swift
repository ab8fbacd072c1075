import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The one call that the library makes on an injected session. Tests conform mocks to it.
public protocol URLSessionProtocol {
  /// Loads a request. Not called on the actor that called `send`, but where the conforming type has it: on its
  /// actor, or on any thread. What a plain class keeps for its test must be guarded if several requests use it at once.
  func data(for request: URLRequest) async throws -> (Data, URLResponse)
}
