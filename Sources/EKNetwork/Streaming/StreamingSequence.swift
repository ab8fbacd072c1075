/// The elements of a response body in one of its forms, pulled by the iterating task.
///
/// An element that has already arrived costs a function call, a fraction of its cost with `AsyncThrowingStream`. The
/// sequence is read once, by one loop at a time: a second loop continues where the first one stopped. Leaving the loop
/// and releasing the sequence, or cancelling the task, ends the exchange: an HTTP/1.1 connection is closed, an HTTP/2
/// stream is reset.
public struct StreamingSequence<Element: Sendable>: AsyncSequence, Sendable {
  // Closures, because calling them does not involve the type `Element` at run time.
  private let ready: @Sendable () -> Element?
  private let pull: nonisolated(nonsending) @Sendable () async throws -> Element?
  /// Where to resume, for server-sent events.
  private let position: EventStreamPosition?

  init<Parser: StreamParser>(_ reader: StreamReader<Parser>, position: EventStreamPosition? = nil)
  where Parser.Element == Element {
    ready = { reader.ready() }
    pull = { try await reader.next() }
    self.position = position
  }

  /// The same elements as an `AsyncThrowingStream`.
  var stream: AsyncThrowingStream<Element, Error> {
    AsyncThrowingStream { [ready, pull] in
      // Most elements have already arrived: those need no call of another asynchronous function.
      if let element = ready() { return element }
      return try await pull()
    }
  }

  /// Returns an iterator that continues at the current position of the sequence.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(ready: ready, pull: pull) }

  /// An iterator over a body. If two request an element at once, the second throws a ``ConcurrentReadError``; the first
  /// continues.
  public struct AsyncIterator: AsyncIteratorProtocol {
    @usableFromInline let ready: @Sendable () -> Element?
    @usableFromInline let pull: nonisolated(nonsending) @Sendable () async throws -> Element?

    init(
      ready: @escaping @Sendable () -> Element?,
      pull: nonisolated(nonsending) @escaping @Sendable () async throws -> Element?
    ) {
      self.ready = ready
      self.pull = pull
    }

    /// Waits for and returns the next element.
    ///
    /// - Returns: `nil` at the end of the body.
    /// - Throws: The error that ended the exchange or the parsing of the body: `URLError`, `StreamLineTooLongError`,
    ///   `DecodingError`, …; `CancellationError` when the task is cancelled, which ends the exchange.
    @inlinable public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws -> Element? {
      if let element = ready() { return element }
      return try await pull()
    }

    /// Waits for and returns the next element, off the caller's actor.
    @inlinable public mutating func next() async throws -> Element? { try await next(isolation: nil) }
  }
}

extension StreamingSequence where Element == ServerSentEvent {
  /// The ID to send as `Last-Event-ID` in order to resume after what has been read (WHATWG HTML §9.2.6): of the last event,
  /// even if it had no data. Empty if the server has sent none. An ID that is not a valid header field value is skipped.
  public var lastEventID: String { position?.value.withLock { $0.lastEventID } ?? "" }

  /// How long the server wants a client to wait before it reconnects (`retry:`), at most one day; `nil` if it has not
  /// said.
  public var reconnectionTime: Duration? { position?.value.withLock { $0.reconnectionTime } }
}
