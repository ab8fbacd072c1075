import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The one call that the library makes on an injected session. Tests conform mocks to it.
public protocol URLSessionProtocol {
  /// Loads a request. Called on the actor of whoever called `send`.
  func data(for request: URLRequest) async throws -> (Data, URLResponse)
}
