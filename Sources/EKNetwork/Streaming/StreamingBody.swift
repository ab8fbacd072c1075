import Foundation

/// The body of a ``StreamingResponse`` as an asynchronous sequence of chunks, and in other forms.
///
/// It provides the same elements as the streams of the response, such as ``StreamingResponse/lines()``, at a fraction
/// of their cost: those are `AsyncThrowingStream`s, which take about half a microsecond for every element.
///
/// It is read once, in one of its forms, by one loop at a time; a concurrent second loop throws a
/// ``ConcurrentReadError``, and the first continues. A loop over what an earlier one has left throws the same error. Each
/// form is pulled by its consumer: a loop that stops reading slows the server down.
public struct StreamingBody: AsyncSequence, Sendable {
  /// The type of the elements.
  public typealias Element = Data

  let source: ReadOnceBody
  /// The `Content-Type` of the response, if it is known.
  private let contentType: String?

  init(_ source: ReadOnceBody, contentType: String? = nil) {
    self.source = source
    self.contentType = contentType
  }

  init(_ body: any TransportBody) { self.init(ReadOnceBody(body)) }

  /// Returns an iterator over the chunks of the body, each delivered as soon as it arrives, never empty.
  public func makeAsyncIterator() -> StreamingSequence<Data>.AsyncIterator { chunks.makeAsyncIterator() }

  var chunks: StreamingSequence<Data> { read(ChunkParser()) }

  var byteStream: AsyncThrowingStream<UInt8, Error> { read(ByteParser()).stream }

  /// The body byte by byte, in the order of arrival.
  public var bytes: StreamingBytes { StreamingBytes(chunks) }

  /// Returns the body as UTF-8 lines: split at `\n`, without a trailing `\r`, blank lines skipped. Characters may be
  /// split between chunks.
  ///
  /// - Parameters:
  ///   - maximumLength: The maximum length of a line, in bytes without its ending. Defaults to 16 MiB.
  ///   - onOverlongLine: Called with each longer line, which is skipped. Defaults to `nil`: such a line ends the
  ///     sequence with ``StreamLineTooLongError``.
  public func lines(
    maximumLength: Int = StreamingResponse.defaultMaximumLength,
    onOverlongLine: (@Sendable (StreamLineTooLongError) -> Void)? = nil
  ) -> StreamingSequence<String> {
    read(LineParser(LineSplitter(maximumLength: maximumLength, reportOverlong: onOverlongLine)))
  }

  /// Returns one record for each line that is not blank.
  ///
  /// - Parameters:
  ///   - itemType: The type of a record.
  ///   - decoder: Decodes each line. Defaults to a new `JSONDecoder`.
  ///   - maximumLength: The maximum length of a line, in bytes. Defaults to 16 MiB.
  ///   - onInvalidRecord: Called with each invalid or overlong line, which is skipped. Defaults to `nil`: an invalid
  ///     line throws the decoder's error, which contains the line number, and ends the sequence.
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
    return read(LineParser(splitter, decoder: decoder, reportInvalid: onInvalidRecord))
  }

  /// Returns the body as server-sent events, by the WHATWG standard. An incomplete event at the end of the stream is
  /// discarded. If the response has a `Content-Type` other than `text/event-stream`, the sequence throws an
  /// ``EventStreamError``. Its ``StreamingSequence/lastEventID`` and ``StreamingSequence/reconnectionTime`` say where and
  /// when a client of your own resumes.
  ///
  /// - Parameter maximumLength: The maximum length of a line, and of the data of one event, in bytes. Defaults to 16
  ///   MiB; beyond it the sequence ends with ``StreamLineTooLongError``.
  public func events(
    maximumLength: Int = StreamingResponse.defaultMaximumLength
  ) -> StreamingSequence<ServerSentEvent> {
    let position = EventStreamPosition(("", nil))
    let refusal = contentType.flatMap { EventStreamError(contentType: $0) }
    let parser = EventStreamParser(maximumSize: maximumLength, refusal: refusal, position: position)
    return StreamingSequence(StreamReader(source, parser: parser), position: position)
  }

  private func read<Parser: StreamParser>(_ parser: Parser) -> StreamingSequence<Parser.Element> {
    StreamingSequence(StreamReader(source, parser: parser))
  }
}

/// An asynchronous sequence of the bytes of a response body, in the order of arrival.
///
/// Each iterator holds the chunk that it is reading: when a loop is left, the rest of that chunk is lost.
public struct StreamingBytes: AsyncSequence, Sendable {
  /// The type of the elements.
  public typealias Element = UInt8

  private let chunks: StreamingSequence<Data>

  init(_ chunks: StreamingSequence<Data>) { self.chunks = chunks }

  /// Returns an iterator that begins with the next chunk.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(chunks.makeAsyncIterator()) }

  /// An iterator over the bytes of a body.
  public struct AsyncIterator: AsyncIteratorProtocol {
    private var chunks: StreamingSequence<Data>.AsyncIterator
    // An array, because accessing its elements costs less than with Data.
    @usableFromInline var chunk: [UInt8] = []
    @usableFromInline var index = 0

    init(_ chunks: StreamingSequence<Data>.AsyncIterator) { self.chunks = chunks }

    /// Waits for and returns the next byte.
    ///
    /// - Returns: `nil` at the end of the body.
    /// - Throws: `URLError` when the exchange failed; `CancellationError` at the end of the current chunk when the task
    ///   is cancelled, which ends the exchange.
    @inlinable public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws -> UInt8? {
      if index == chunk.count, try await !refill(isolation: actor) { return nil }
      defer { index += 1 }
      return chunk[index]
    }

    /// Waits for and returns the next byte, off the caller's actor.
    @inlinable public mutating func next() async throws -> UInt8? { try await next(isolation: nil) }

    /// Reads the next chunk; returns `false` at the end of the body.
    @usableFromInline mutating func refill(isolation actor: isolated (any Actor)?) async throws -> Bool {
      chunk = []
      index = 0
      guard let next = try await chunks.next(isolation: actor) else { return false }
      chunk = Array(next)
      return true
    }
  }
}

/// A response body that has one reader at a time: the first one that requests bytes, until the body has ended or the
/// reader is released. Two readers would each get some of the chunks, and concurrent calls would break a decoder.
final class ReadOnceBody: Sendable {
  private struct State {
    var reader: ObjectIdentifier?
    /// Whether a reader has left the body before its end.
    var isLeft = false
  }

  let body: any TransportBody
  private let mayBeReadAgain: Bool
  private let state = Locked(State())

  /// - Parameter mayBeReadAgain: Whether the body itself decides if it can be read after a reader has left it.
  init(_ body: any TransportBody, mayBeReadAgain: Bool = false) {
    self.body = body
    self.mayBeReadAgain = mayBeReadAgain
  }

  /// Claims the body for a reader; returns whether that reader may read it.
  func claim(for reader: AnyObject) -> Bool {
    let id = ObjectIdentifier(reader)
    return state.withLock { state in
      if state.reader == nil, !state.isLeft { state.reader = id }
      return state.reader == id
    }
  }

  /// Ends the exchange for the reader, which does not read the body to its end. Nobody else may read on: of a body that has
  /// arrived, the rest would look like the whole.
  func leave(because error: any Error = CancellationError()) {
    if !mayBeReadAgain { state.withLock { $0.isLeft = true } }
    body.cancel(because: error)
  }

  /// Ends the claim of a reader that has read the body to its end or is being released.
  func release(by reader: AnyObject) {
    let id = ObjectIdentifier(reader)
    state.withLock { if $0.reader == id { $0.reader = nil } }
  }
}
