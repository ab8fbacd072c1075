import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What a `URLSession` does for a request that is given to it as a ``URLSessionProtocol``.
enum SessionLoading {
  /// Sends the request. The one place where the redirect engine of `Exchange/` is to be put in.
  static func load(_ request: URLRequest, over transport: any Transport) async throws -> FetchedResponse {
    var attempt = TransportRequest(request)
    attempt.deadline = transport.resourceTimeout.map { .now + $0 }
    return try await transport.fetch(attempt)
  }
}
