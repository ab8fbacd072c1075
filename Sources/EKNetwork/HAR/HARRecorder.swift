import Foundation

/// Middleware that records exchanges for a HAR 1.2 file, which browsers, proxies and other tools read, and from which a
/// ``ReplaySession`` responds.
///
/// ```swift
/// let recorder = HARRecorder()
/// manager.attemptMiddleware.append(recorder)
/// // …
/// try recorder.write(to: file)
/// ```
///
/// In ``NetworkManager/attemptMiddleware``, or that of an adapter, each attempt and each redirect is an entry with its
/// own timings; as the last middleware, it records requests as they are sent. In ``NetworkManager/middleware`` a whole
/// call is one entry, in which the content of a downloaded file is marked as not kept. Several managers may share one
/// recorder. It reads no body itself: an entry is complete, and recorded, when its body has been read, has failed or
/// has been released. Streamed request bodies are not recorded.
///
/// Its memory use is limited, so that it may stay in use: see ``HAROptions``. Beyond the limits, the oldest entries are
/// dropped; bodies that are being read are not counted yet.
public final class HARRecorder: NetworkMiddleware, TimedMiddleware {
  private let options: HAROptions
  private let redaction: HARRedaction
  private let backlog: Locked<HARExchangeList>

  /// Creates a recorder without entries.
  ///
  /// - Parameter options: What to record, and how much. Defaults to no secrets, 1 MiB of a body, 1,000 entries and 64
  ///   MiB.
  public convenience init(options: HAROptions = HAROptions()) { self.init(options: options, salt: UUID().uuidString) }

  init(options: HAROptions, salt: String) {
    self.options = options
    redaction = HARRedaction(salt: salt, hidesSecrets: !options.revealsSecrets)
    backlog = Locked(HARExchangeList(options))
  }

  /// Passes the request on, and records it with its response.
  ///
  /// - Throws: The error of `next`, which is recorded as well.
  public func intercept(
    _ request: URLRequest, context: NetworkMiddlewareContext, next: NetworkMiddlewareNext
  ) async throws -> NetworkMiddlewareResponse {
    let (limit, redaction, backlog) = (max(0, options.maximumBodySize), redaction, backlog)
    let recorded = HARRequest(request, redaction: redaction, limit: limit)
    let number = backlog.withLock { $0.nextNumber() }
    let (date, start) = (Date(), ContinuousClock.now)
    let finish: @Sendable (HARExchange.Response?, (any Error)?, Duration?, NetworkTimings?) -> Void = {
      response, error, head, network in
      let total = start.duration(to: .now)
      let exchange = HARExchange(
        number: number, started: date, request: recorded, response: response, error: error?.redactedForLog,
        timings: HARTimings(head: head ?? total, total: total, network: network),
        protocolName: network?.protocolName, remoteAddress: network?.remoteAddress)
      backlog.withLock { $0.append(exchange) }
    }
    let response: NetworkMiddlewareResponse
    do {
      response = try await next(request)
    } catch {
      finish(nil, error, nil, nil)
      throw error
    }
    let head = start.duration(to: .now)
    let fields = response.headerFields.map {
      (name: $0.name, value: redaction.field($0.name, $0.value, of: request.url))
    }
    let recordedHead = HARExchange.Response(
      status: response.statusCode, reason: response.reasonPhrase, fields: HeaderFieldList(fields),
      content: HARContent(unkept: response.savedSize ?? 0))
    // Nobody reads the body of a download here.
    guard response.savedSize == nil else {
      finish(recordedHead, nil, head, nil)
      return response
    }
    let content = Locked<HARContent?>(HARContent())
    return response.watchingBody { body in
      ObservedBody(body, onChunk: { chunk in content.withLock { $0?.append(chunk, limit: limit) } }) { _, end, error in
        var received = recordedHead
        received.content = content.withLock { $0.take() } ?? HARContent()
        finish(received, error, head, end?.timings)
      }
    }
  }

  /// The number of recorded entries. An exchange that is under way does not count yet.
  public var entryCount: Int { backlog.withLock { $0.count } }

  /// The number of entries that were dropped because of the limits.
  public var droppedEntryCount: Int { backlog.withLock { $0.dropped } }

  /// Removes all entries. An exchange that is under way is recorded when it ends.
  public func removeAll() { backlog.withLock { $0.removeAll() } }

  /// Returns the entries as a HAR 1.2 file, in JSON, in the order in which their requests were sent.
  ///
  /// It can be called at any time; recording continues. It takes about twice as much memory as the entries.
  ///
  /// - Throws: `EncodingError` if an entry cannot be encoded.
  public func data() throws -> Data {
    let (exchanges, dropped) = backlog.withLock { ($0.exchanges, $0.dropped) }
    return try HARDocument.data(exchanges.sorted { $0.number < $1.number }, redaction: redaction, dropped: dropped)
  }

  /// Writes the result of ``data()`` to a file atomically, replacing an existing one.
  ///
  /// With ``HAROptions/revealsSecrets``, only its owner can read it.
  ///
  /// - Parameter url: A file URL.
  /// - Throws: `URLError.unsupportedURL` for any other URL; the error of the file system, or that of ``data()``.
  public func write(to url: URL) throws {
    guard url.isFileURL else {
      throw URLError(.unsupportedURL, url: url, description: "A HAR file can only be written to a file URL.")
    }
    let data = try data()
    guard !redaction.hidesSecrets else { return try data.write(to: url, options: .atomic) }
    let partial = url.appendingPathExtension(UUID().uuidString)
    guard let file = OpenFile(partial.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC), file.append(data),
      rename(partial.path, url.path) == 0
    else {
      let code = errno
      unlink(partial.path)
      throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO)
    }
  }
}

/// Options for what a ``HARRecorder`` records, and how much of it.
public struct HAROptions: Sendable, Equatable {
  /// Whether secrets are recorded unredacted. Defaults to `false`: the value of a header field with credentials is
  /// `<redacted>`, with a salted fingerprint of it in `_fingerprints` (for Basic credentials, of the user name only);
  /// each value in a URL's query is replaced by a salted digest; of a request's body only the size and a digest are
  /// recorded. The salt is in the file: a token cannot be recovered from its digest, but a short value, such as a PIN
  /// or a short key, can be found by brute force.
  ///
  /// Response bodies are recorded unredacted, because they are replayed: set ``maximumBodySize`` to 0 if they are
  /// secret.
  public var revealsSecrets: Bool
  /// The maximum number of bytes recorded of one body, after content decoding. Defaults to 1 MiB. A longer body is
  /// truncated, marked, and not replayed.
  public var maximumBodySize: Int
  /// The maximum number of exchanges. Defaults to 1,000. Beyond it the oldest is dropped.
  public var maximumEntries: Int
  /// The maximum total size of all exchanges in bytes: bodies, header fields and URLs. Defaults to 64 MiB. Beyond it
  /// the oldest are dropped.
  public var maximumSize: Int

  /// Creates options; negative numbers count as 0.
  public init(
    revealsSecrets: Bool = false, maximumBodySize: Int = 1024 * 1024, maximumEntries: Int = 1000,
    maximumSize: Int = 64 * 1024 * 1024
  ) {
    self.revealsSecrets = revealsSecrets
    self.maximumBodySize = maximumBodySize
    self.maximumEntries = maximumEntries
    self.maximumSize = maximumSize
  }
}

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
  ///     stream, otherwise `URLSession.shared`, which is the real network, also around a mock.
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
    let response = try await Exchange(transport: streamingTransport).open(HTTPRequest(request), collectsBody: false)
    return (StreamingBody(response.body).chunks.stream, response.head.urlResponse)
  }
}

extension Transport {
  fileprivate func recorded(by recorder: HARRecorder) -> any Transport {
    MiddlewareTransport(wire: self, middleware: [recorder], owner: UUID().uuidString)
  }
}
