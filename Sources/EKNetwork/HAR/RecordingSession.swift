import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A session that wraps another and records its exchanges for a HAR file from which a ``ReplaySession`` can respond.
///
/// ```swift
/// let session = RecordingSession()
/// let manager = NetworkManager(baseURL: url, session: session)
/// // …
/// try session.recorder.write(to: file)
/// ```
///
/// It is for code that takes a session. For a manager, a ``HARRecorder`` in its ``NetworkManager/attemptMiddleware``
/// changes less: with an injected session, events have no connection timings, uploads report no progress, and redirects
/// are followed by the session. Around a `URLSession` each redirect is its own entry; whatever another session does
/// internally is one entry.
public final class RecordingSession: URLSessionProtocol, URLSessionStreamingProtocol, Sendable {
  /// The recorder of the exchanges.
  public let recorder: HARRecorder
  private let transport: any Transport
  private let streamingTransport: any Transport

  /// Creates a session that sends requests over another.
  ///
  /// - Parameters:
  ///   - session: Sends the requests. Defaults to `URLSession.shared`.
  ///   - streamingSession: Sends the requests whose response is streamed. Defaults to `nil`: `session` if it can
  ///     stream, otherwise `URLSession.shared`.
  ///   - options: What to record, and how much.
  ///   - transport: The implementation that sends the requests of a `URLSession`. Defaults to
  ///     ``TransportChoice/automatic``.
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

  /// Sends a request and records it with its response. Throws the error of the session, which is recorded as well;
  /// `CancellationError` when the task is cancelled.
  public func data(for request: URLRequest) async throws -> (Data, URLResponse) {
    try await Exchange(transport: transport).data(for: request)
  }

  /// Sends a request and returns as soon as the response head has arrived; the body is recorded while it is read.
  /// Throws as ``data(for:)`` does.
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
