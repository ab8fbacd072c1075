import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What a `URLSession` does for a request that is given to it as a ``URLSessionProtocol``.
enum SessionLoading {
  /// Sends the request and follows its redirects; everything else is the caller's business.
  static func load(_ request: URLRequest, over transport: any Transport) async throws -> FetchedResponse {
    let exchange = Exchange(transport: transport)
    return try await exchange.load(try exchange.hop(request))
  }
}
