import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A transport over any injected `URLSessionStreamingProtocol` that is not a `URLSession`. Whether redirects are
/// followed is up to the session; its errors are passed through unchanged. A session that ignores cancellation does not
/// keep the caller.
struct StreamingSessionTransport: Transport {
  private let session: any URLSessionStreamingProtocol

  init(_ session: any URLSessionStreamingProtocol) { self.session = session }

  /// Opaque: what the session adds to a request, and for which user, is unknown.
  let sessionSettings = SessionSettings.opaque()

  var resolvesRedirects: Bool { true }
  var resourceTimeout: Duration? { nil }

  func start(_ request: TransportRequest) async throws -> TransportResponse {
    try Task.checkCancellation()
    let urlRequest = try request.urlRequest.withUnreadBody()
    do {
      return try await withPromptCancellation { [session] in
        let (chunks, response) = try await session.dataStream(for: urlRequest)
        try Task.checkCancellation()
        return TransportResponse(head: ResponseHead(response), body: ChunkStreamBody(chunks))
      }
    } catch {
      // Sessions report cancellation in errors of their own.
      if Task.isCancelled { throw CancellationError() }
      throw error
    }
  }
}
