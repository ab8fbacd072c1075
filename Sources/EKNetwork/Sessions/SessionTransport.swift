import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Any `URLSessionProtocol` that is not a `URLSession`: the mocks of a test, or a session of the user's own making.
///
/// The session is called where its type has it, not on the caller's actor. It follows redirects, or does not; its errors
/// pass through as they are, and so does a response that is not HTTP. `TransportRequest.deadline` is not watched: a
/// session that is bound to its caller's actor cannot be raced against a clock.
struct SessionTransport: Transport {
  // Not Sendable, because a mock need not be. The rule: it is only ever called from the context that called `send`,
  // so an actor-isolated mock stays on its actor; one that is used from several at once has to stand that by itself,
  // as it would have to without this library.
  nonisolated(unsafe) private let session: any URLSessionProtocol

  init(_ session: any URLSessionProtocol) { self.session = session }

  /// What it adds to a request, and for which user, is unknown.
  let sessionSettings = SessionSettings.opaque()

  var resolvesRedirects: Bool { true }

  var resourceTimeout: Duration? { nil }

  func start(_ request: TransportRequest) async throws -> TransportResponse {
    try Task.checkCancellation()
    let data: Data
    let response: URLResponse
    do {
      (data, response) = try await session.data(for: request.urlRequest)
    } catch {
      // Sessions report the end of their task in errors of their own (URLError.cancelled, mostly).
      if Task.isCancelled { throw CancellationError() }
      throw error
    }
    // A session that takes no notice of cancellation: its result comes too late.
    try Task.checkCancellation()
    if let sent = request.urlRequest.httpBody?.count, sent > 0 { request.onSend?(Int64(sent), Int64(sent)) }
    if !data.isEmpty { request.onReceive?(Int64(data.count), Int64(data.count)) }
    return TransportResponse(head: ResponseHead(response), body: BufferedBody(data))
  }
}
