import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A session around another, which keeps what passes for a HAR file that a ``ReplaySession`` can respond from.
///
/// ```swift
/// let session = RecordingSession()
/// let manager = NetworkManager(baseURL: url, session: session)
/// // …
/// try session.recorder.write(to: file)
/// ```
///
/// It is for code that takes a session. A manager's own ``HARRecorder`` in its
/// ``NetworkManager/attemptMiddleware`` disturbs less: with an injected session there are no timings of the connection in
/// events, no progress of uploads, and redirects are followed by the session. Around a `URLSession` each redirect is an
/// entry of its own; what another session does inside is one.
public final class RecordingSession: URLSessionProtocol, URLSessionStreamingProtocol, Sendable {
  /// Has what has passed.
  public let recorder: HARRecorder
  private let transport: any Transport
  private let streamingTransport: any Transport

  /// A session that sends over another.
  ///
  /// - Parameters:
  ///   - session: Sends the requests. Defaults to `URLSession.shared`.
  ///   - streamingSession: Sends those whose response is streamed. Defaults to `nil`: `session`, if it is one, else
  ///     `URLSession.shared`.
  ///   - options: What is kept, and how much.
  ///   - transport: Which implementation carries the requests of a `URLSession`. Defaults to ``TransportChoice/automatic``.
  public init(
    _ session: any URLSessionProtocol & Sendable = URLSession.shared,
    streamingSession: (any URLSessionStreamingProtocol)? = nil, options: HAROptions = HAROptions(),
    transport: TransportChoice = .automatic
  ) {
    let recorder = HARRecorder(options: options)
    let streaming = streamingSession ?? session as? any URLSessionStreamingProtocol ?? URLSession.shared
    self.recorder = recorder
    self.transport = TransportSelection.transport(for: session, choice: transport).recorded(by: recorder)
    streamingTransport = TransportSelection.transport(for: streaming, choice: transport).recorded(by: recorder)
  }

  /// Sends a request and keeps it with its response. Throws what the session throws, which is kept as well;
  /// `CancellationError` when the task is cancelled.
  public func data(for request: URLRequest) async throws -> (Data, URLResponse) {
    try await Exchange(transport: transport).data(for: request)
  }

  /// Sends a request and returns as soon as the response head is there; the body is kept while it is read. Throws as
  /// ``data(for:)`` does.
  public func dataStream(for request: URLRequest) async throws -> (AsyncThrowingStream<Data, Error>, URLResponse) {
    let response = try await Exchange(transport: streamingTransport).open(request, collectsBody: false)
    return (StreamingBody(response.body).chunks.stream, response.head.urlResponse)
  }
}

extension Transport {
  fileprivate func recorded(by recorder: HARRecorder) -> any Transport {
    MiddlewareTransport(wire: self, middleware: [recorder], owner: UUID().uuidString)
  }
}
