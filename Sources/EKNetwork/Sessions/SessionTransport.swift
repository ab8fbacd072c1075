import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A transport over any `URLSessionProtocol` that is not a `URLSession`: a mock in tests, or a custom session.
///
/// The session is called on its own actor if it has one, not on the caller's. Whether redirects are followed is up to
/// the session; its errors are passed through unchanged, and so is a response that is not HTTP.
/// `TransportRequest.deadline` is not enforced: a session that is bound to its caller's actor cannot be raced against a
/// clock.
struct SessionTransport: Transport {
  // Not Sendable, because a mock need not be. The rule: it is only ever called from the context that called `send`, so
  // an actor-isolated mock stays on its actor; one that is used concurrently has to be safe for that itself, as it
  // would have to be without this library.
  nonisolated(unsafe) private let session: any URLSessionProtocol

  init(_ session: any URLSessionProtocol) { self.session = session }

  /// Opaque: what the session adds to a request, and for which user, is unknown.
  let sessionSettings = SessionSettings.opaque()

  var resolvesRedirects: Bool { true }

  var resourceTimeout: Duration? { nil }

  func start(_ request: TransportRequest) async throws -> TransportResponse {
    try Task.checkCancellation()
    let urlRequest = try request.urlRequest.withUnreadBody()
    let data: Data
    let response: URLResponse
    do {
      (data, response) = try await session.data(for: urlRequest)
    } catch {
      // Sessions report cancellation in errors of their own (mostly URLError.cancelled).
      if Task.isCancelled { throw CancellationError() }
      throw error
    }
    // The session may ignore cancellation: its result is then discarded.
    try Task.checkCancellation()
    if let sent = request.urlRequest.httpBody?.count, sent > 0 { request.onSend?(Int64(sent), Int64(sent)) }
    let head = ResponseHead(response)
    if !data.isEmpty, let observer = request.onReceive, observer.observes(head) {
      observer.report(Int64(data.count), Int64(data.count))
    }
    return TransportResponse(head: head, body: BufferedBody(data))
  }
}

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
