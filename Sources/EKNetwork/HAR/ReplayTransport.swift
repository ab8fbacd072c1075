import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A transport that responds from a recording instead of the network. Redirects are followed above it, as for the
/// network.
struct ReplayTransport: Transport {
  let recording: Locked<ReplayRecording>
  let redaction: HARRedaction
  let sessionSettings = SessionSettings.opaque()

  var resolvesRedirects: Bool { false }
  var resourceTimeout: Duration? { nil }

  func start(_ request: TransportRequest) async throws -> TransportResponse {
    try Task.checkCancellation()
    guard let url = request.urlRequest.url else { throw URLError(.badURL) }
    let given = HARRequest(request.urlRequest, redaction: redaction)
    let entry: ReplayEntry
    switch recording.withLock({ $0.next(given) }) {
    case .entry(let found): entry = found
    case .unexpected(let error): throw error
    }
    let response = try entry.response.get()
    guard
      let head = ResponseHead.make(
        status: response.status, reason: response.reason, fields: response.fields, url: url)
    else { throw URLError(.badServerResponse) }
    return TransportResponse(head: head, body: body(of: response), redirect: decision(on: head, from: url))
  }

  /// Returns the decision on a redirect: one that was not followed when it was recorded is the response.
  private func decision(on head: ResponseHead, from url: URL) -> RedirectDecision {
    guard let location = head.hint("location"), let target = ServerURL.resolve(location, against: url) else {
      return .undecided
    }
    let text = redaction.url(target)
    return recording.withLock { $0.contains(url: text) } ? .undecided : .declined
  }

  private func body(of response: ReplayEntry.Response) -> any TransportBody {
    if response.failure == nil, response.pieces.count < 2 { return BufferedBody(response.pieces.first ?? Data()) }
    return ChunkStreamBody(
      AsyncThrowingStream<Data, Error> { continuation in
        for piece in response.pieces { continuation.yield(piece) }
        continuation.finish(throwing: response.failure)
      })
  }
}
