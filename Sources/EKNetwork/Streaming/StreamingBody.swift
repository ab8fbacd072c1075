import Foundation

/// The body of a ``StreamingResponse`` as an asynchronous sequence of chunks, and in its other forms.
///
/// It gives what the streams of the response give, ``StreamingResponse/lines()`` and the like, at a fraction of their
/// cost: those are `AsyncThrowingStream`s, which spend about half a microsecond on every element.
///
/// It is read once, in one of its forms, by one loop at a time; a second loop meanwhile ends with a
/// ``ConcurrentReadError``, and the first goes on. Each form is pulled by its consumer: a loop that stops reading stops
/// the server.
public struct StreamingBody: AsyncSequence, Sendable {
  /// What it consists of.
  public typealias Element = Data

  let source: ReadOnceBody

  init(_ source: ReadOnceBody) { self.source = source }

  init(_ body: any TransportBody) { self.init(ReadOnceBody(body)) }

  /// The body in pieces, each handed on as soon as it arrives, never empty.
  public func makeAsyncIterator() -> StreamingSequence<Data>.AsyncIterator { chunks.makeAsyncIterator() }

  var chunks: StreamingSequence<Data> { read(ChunkParser()) }

  var byteStream: AsyncThrowingStream<UInt8, Error> { read(ByteParser()).stream }

  /// The body byte by byte, in the order of arrival.
  public var bytes: StreamingBytes { StreamingBytes(chunks) }

  /// UTF-8 lines: split at `\n`, a trailing `\r` trimmed, blank lines skipped. Characters may be cut anywhere.
  ///
  /// - Parameters:
  ///   - maximumLength: The longest line, in bytes without its end. Defaults to 16 MiB.
  ///   - onOverlongLine: Called with each longer line, which is skipped. Defaults to `nil`: such a line ends the sequence
  ///     with ``StreamLineTooLongError``.
  public func lines(
    maximumLength: Int = StreamingResponse.defaultMaximumLength,
    onOverlongLine: (@Sendable (StreamLineTooLongError) -> Void)? = nil
  ) -> StreamingSequence<String> {
    read(LineParser(LineSplitter(maximumLength: maximumLength, reportOverlong: onOverlongLine)))
  }

  /// One record for each line that is not blank.
  ///
  /// - Parameters:
  ///   - itemType: What a record is.
  ///   - decoder: Decodes each line. Defaults to a plain one.
  ///   - maximumLength: The longest line, in bytes. Defaults to 16 MiB.
  ///   - onInvalidRecord: Called with each bad or overlong line, which is skipped. Defaults to `nil`: a bad line throws
  ///     the decoder's error, which names the line, and ends the sequence.
  public func ndjson<Item: Decodable & Sendable>(
    as itemType: Item.Type, decoder: JSONDecoder = JSONDecoder(),
    maximumLength: Int = StreamingResponse.defaultMaximumLength,
    onInvalidRecord: (@Sendable (InvalidStreamRecord) -> Void)? = nil
  ) -> StreamingSequence<Item> {
    var reportOverlong: (@Sendable (StreamLineTooLongError) -> Void)?
    if let onInvalidRecord {
      reportOverlong = { onInvalidRecord(InvalidStreamRecord(line: $0.line, data: Data(), error: $0)) }
    }
    let splitter = LineSplitter(maximumLength: maximumLength, reportOverlong: reportOverlong)
    return read(NDJSONParser(splitter, decoder: decoder, reportInvalid: onInvalidRecord))
  }

  /// Server-sent events, by the WHATWG standard. An event that the end of the stream cuts off is discarded.
  ///
  /// - Parameter maximumLength: The longest line, and the most data of one event, in bytes. Defaults to 16 MiB; past it
  ///   the sequence ends with ``StreamLineTooLongError``.
  public func events(
    maximumLength: Int = StreamingResponse.defaultMaximumLength
  ) -> StreamingSequence<ServerSentEvent> {
    read(EventStreamParser(maximumSize: maximumLength))
  }

  private func read<Parser: StreamParser>(_ parser: Parser) -> StreamingSequence<Parser.Element> {
    StreamingSequence(StreamReader(source, parser: parser))
  }
}
