import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A successful response whose body is read while it arrives.
///
/// The body is read once, in one of its forms: ``chunks``, ``bytes``, ``lines(maximumLength:onOverlongLine:)``, …. A
/// second loop while the first is at it ends with a ``ConcurrentReadError``; the first goes on, and loses nothing.
/// Each is pulled by its consumer: a loop that stops reading stops the server. Leaving the loop, by `break`, by an error
/// or by cancellation of the task, ends the exchange and closes its connection; so does dropping the response unread.
public struct StreamingResponse: Sendable {
  /// The status code, in 2xx.
  public let statusCode: Int
  /// The header fields; the values of a repeated field are joined with `", "`.
  public let headers: [String: String]

  let source: ReadOnceBody

  /// A response with a body of your own, for tests.
  public init(statusCode: Int, headers: [String: String], chunks: AsyncThrowingStream<Data, Error>) {
    self.init(statusCode: statusCode, headers: headers, source: AsyncSequenceBody(chunks))
  }

  /// A response with a body of your own, for tests.
  public init(statusCode: Int, headers: [String: String], bytes: AsyncThrowingStream<UInt8, Error>) {
    self.init(statusCode: statusCode, headers: headers, source: AsyncSequenceBody(bytes) { Data(CollectionOfOne($0)) })
  }

  init(statusCode: Int, headers: [String: String], source: any TransportBody) {
    self.statusCode = statusCode
    self.headers = headers
    self.source = ReadOnceBody(source)
  }

  /// The value of a field, whatever the case of its name.
  public func value(forHTTPHeaderField name: String) -> String? { headers.field(name) }

  /// The body at its full speed, for what iterates over more elements than a stream is made for.
  public var body: StreamingBody { StreamingBody(source) }

  /// The body in pieces, each handed on as soon as it arrives.
  public var chunks: AsyncThrowingStream<Data, Error> { body.chunks.stream }

  /// The body byte by byte, in the order of arrival.
  public var bytes: AsyncThrowingStream<UInt8, Error> { body.byteStream }
}

extension StreamingResponse {
  /// How long a line or an event may be unless a call says otherwise: 16 MiB.
  public static let defaultMaximumLength = 16 * 1024 * 1024

  /// UTF-8 lines: split at `\n`, a trailing `\r` trimmed, blank lines skipped. Characters may be cut anywhere.
  public func lines() -> AsyncThrowingStream<String, Error> { body.lines().stream }

  /// The same with a limit of your own.
  ///
  /// - Parameters:
  ///   - maximumLength: The longest line, in bytes without its end.
  ///   - onOverlongLine: Called with each longer line, which is skipped. Defaults to `nil`: such a line ends the stream
  ///     with ``StreamLineTooLongError``.
  public func lines(
    maximumLength: Int, onOverlongLine: (@Sendable (StreamLineTooLongError) -> Void)? = nil
  ) -> AsyncThrowingStream<String, Error> {
    body.lines(maximumLength: maximumLength, onOverlongLine: onOverlongLine).stream
  }

  /// One record for each line that is not blank. A bad line throws the decoder's error, which names the line, and ends
  /// the stream.
  public func ndjson<Item: Decodable & Sendable>(
    as itemType: Item.Type, decoder: JSONDecoder = JSONDecoder()
  ) -> AsyncThrowingStream<Item, Error> {
    body.ndjson(as: itemType, decoder: decoder).stream
  }

  /// The same, but bad lines are skipped and reported, and so are those longer than `maximumLength`.
  public func ndjson<Item: Decodable & Sendable>(
    as itemType: Item.Type, decoder: JSONDecoder = JSONDecoder(),
    maximumLength: Int = StreamingResponse.defaultMaximumLength,
    onInvalidRecord: @escaping @Sendable (InvalidStreamRecord) -> Void
  ) -> AsyncThrowingStream<Item, Error> {
    body.ndjson(as: itemType, decoder: decoder, maximumLength: maximumLength, onInvalidRecord: onInvalidRecord).stream
  }

  /// Server-sent events, by the WHATWG standard. An event that the end of the stream cuts off is discarded.
  ///
  /// - Parameter maximumLength: The longest line, and the most data of one event, in bytes; past it the stream ends
  ///   with ``StreamLineTooLongError``.
  public func events(
    maximumLength: Int = StreamingResponse.defaultMaximumLength
  ) -> AsyncThrowingStream<ServerSentEvent, Error> {
    body.events(maximumLength: maximumLength).stream
  }
}
