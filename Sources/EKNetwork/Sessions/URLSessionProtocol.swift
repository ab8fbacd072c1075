import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The only method that the library calls on an injected session. Mocks in tests conform to it.
public protocol URLSessionProtocol {
  /// Loads a request. It is not called on the actor that called `send`, but on the actor of the conforming type, or on
  /// any thread. State that a plain class keeps for its test must be synchronised if several requests use it at once.
  func data(for request: URLRequest) async throws -> (Data, URLResponse)
}
