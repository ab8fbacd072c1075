import Foundation

/// A response whose body is read while it arrives.
///
/// The body is read once, in one of its forms: ``chunks``, ``bytes``, ``lines(maximumLength:onOverlongLine:)``, …. A
/// concurrent second loop throws a ``ConcurrentReadError``; the first continues and loses nothing. Each form is pulled
/// by its consumer: a loop that stops reading slows the server down. Leaving the loop, by `break`, by an error or by
/// cancelling the task, ends the exchange, and so does releasing the response unread: an HTTP/1.1 connection is closed,
/// an HTTP/2 stream is reset. Reading another form afterwards throws a ``ConcurrentReadError``.
///
/// An `AsyncThrowingStream` whose task is cancelled between two elements ends without an error, as if the body were
/// complete: call `Task.checkCancellation()` after the loop. The forms of ``body`` throw a `CancellationError`.
public struct StreamingResponse: ResponseHeaderFields, Sendable {
  /// The status code, which is 2xx, or another that the request accepts.
  public let statusCode: Int
  /// The header fields; the values of a repeated field are joined with `", "`.
  public let headers: [String: String]

  let source: ReadOnceBody
  private var received = ReceivedFields()

  /// Creates a response with a custom body, for tests.
  public init(statusCode: Int, headers: [String: String], chunks: AsyncThrowingStream<Data, Error>) {
    self.init(statusCode: statusCode, headers: headers, source: ChunkStreamBody(chunks))
  }

  /// Creates a response with a custom body, for tests.
  public init(statusCode: Int, headers: [String: String], bytes: AsyncThrowingStream<UInt8, Error>) {
    self.init(statusCode: statusCode, headers: headers, source: ByteStreamBody(bytes))
  }

  init(statusCode: Int, headers: [String: String], source: any TransportBody) {
    self.statusCode = statusCode
    self.headers = headers
    self.source = ReadOnceBody(source)
  }

  init(_ response: HTTPURLResponse, source: any TransportBody) {
    self.init(statusCode: response.statusCode, headers: response.headerDictionary, source: source)
    received = ReceivedFields(response: response)
  }

  /// The header fields in order, repeated ones separate if they were received so.
  public var headerFields: HeaderFieldList { received.list(or: headers) }

  /// The trailer fields (RFC 9110 §6.5). Read them when the body has been read to its end: until then they may be missing.
  /// Always empty if a `URLSession` performs the request.
  public var trailers: HeaderFieldList { source.body.end?.trailers ?? HeaderFieldList() }

  /// Returns the value of a header field; names are case-insensitive.
  public func value(forHTTPHeaderField name: String) -> String? { headers.field(name) }

  /// The body without the overhead of a stream, for iterating over large numbers of elements. A loop over it that ends
  /// without an error has read the whole body, also if its task is cancelled.
  public var body: StreamingBody { StreamingBody(source, contentType: headers.field("Content-Type")) }

  /// The body in chunks, each delivered as soon as it arrives. Like every `AsyncThrowingStream`, it can end without an
  /// error if the task is cancelled.
  public var chunks: AsyncThrowingStream<Data, Error> { body.chunks.stream }

  /// The body byte by byte, in the order of arrival. Like every `AsyncThrowingStream`, it can end without an error if the
  /// task is cancelled.
  public var bytes: AsyncThrowingStream<UInt8, Error> { body.byteStream }

  /// The default maximum length of a line or an event: 16 MiB.
  public static let defaultMaximumLength = 16 * 1024 * 1024

  /// Returns the body as UTF-8 lines: split at `\n`, without a trailing `\r`, blank lines skipped. Characters may be
  /// split between chunks.
  public func lines() -> AsyncThrowingStream<String, Error> { body.lines().stream }

  /// Returns the body as UTF-8 lines with a custom limit.
  ///
  /// - Parameters:
  ///   - maximumLength: The maximum length of a line, in bytes without its ending.
  ///   - onOverlongLine: Called with each longer line, which is skipped. Defaults to `nil`: such a line ends the stream
  ///     with ``StreamLineTooLongError``.
  public func lines(
    maximumLength: Int, onOverlongLine: (@Sendable (StreamLineTooLongError) -> Void)? = nil
  ) -> AsyncThrowingStream<String, Error> {
    body.lines(maximumLength: maximumLength, onOverlongLine: onOverlongLine).stream
  }

  /// Returns one record for each line that is not blank. An invalid line throws the decoder's error, which contains the
  /// line number, and ends the stream.
  public func ndjson<Item: Decodable & Sendable>(
    as itemType: Item.Type, decoder: JSONDecoder = JSONDecoder()
  ) -> AsyncThrowingStream<Item, Error> {
    body.ndjson(as: itemType, decoder: decoder).stream
  }

  /// Returns one record for each line that is not blank; lines that are invalid or longer than `maximumLength` are
  /// skipped and reported.
  public func ndjson<Item: Decodable & Sendable>(
    as itemType: Item.Type, decoder: JSONDecoder = JSONDecoder(),
    maximumLength: Int = StreamingResponse.defaultMaximumLength,
    onInvalidRecord: @escaping @Sendable (InvalidStreamRecord) -> Void
  ) -> AsyncThrowingStream<Item, Error> {
    body.ndjson(as: itemType, decoder: decoder, maximumLength: maximumLength, onInvalidRecord: onInvalidRecord).stream
  }

  /// Returns the body as server-sent events, by the WHATWG standard. An incomplete event at the end of the stream is
  /// discarded. If the response has a `Content-Type` other than `text/event-stream`, the stream throws an
  /// ``EventStreamError``.
  ///
  /// - Parameter maximumLength: The maximum length of a line, and of the data of one event, in bytes; beyond it the
  ///   stream ends with ``StreamLineTooLongError``.
  public func events(
    maximumLength: Int = StreamingResponse.defaultMaximumLength
  ) -> AsyncThrowingStream<ServerSentEvent, Error> {
    body.events(maximumLength: maximumLength).stream
  }
}

/// The interface of ``NetworkManager`` for reading a response while it arrives, so that tests can inject a mock.
public protocol NetworkStreaming: AnyObject {
  /// Sends a request and returns as soon as the head of a successful response has arrived.
  nonisolated(nonsending) func stream<T: NetworkRequest>(
    _ request: T,
    accessToken: (() -> String?)?
  ) async throws -> StreamingResponse
}

extension NetworkStreaming {
  /// Streams the response of a request that needs no access token.
  @_disfavoredOverload
  public nonisolated(nonsending) func stream<T: NetworkRequest>(_ request: T) async throws -> StreamingResponse {
    try await stream(request, accessToken: nil)
  }
}

/// An error that occurs before a stream begins.
public enum StreamingError: LocalizedError, ClassifiedError, Equatable, Sendable {
  /// The response was not an HTTP response.
  case invalidResponse
  /// The body of a response outside 2xx exceeded the limit up to which it is read.
  case errorPayloadTooLarge(limitBytes: Int)

  var failureKind: FailureKind { .unclear }

  /// A description of the error.
  public var errorDescription: String? {
    switch self {
    case .invalidResponse: "The response is not an HTTP response"
    case .errorPayloadTooLarge(let limit): "The body of the error response is longer than \(limit) bytes"
    }
  }
}

extension StreamingResponse: Redacted {
  var redacted: String { FailedExchange(url: received.url, status: statusCode).text }
}
