/// What a response body consists of, in one of its forms, pulled by the iterating task.
///
/// An element that has already arrived costs a function call, a small part of what `AsyncThrowingStream` asks for each.
/// It is read once, by one loop at a time: a second loop goes on where the first one stopped. Leaving the loop and dropping the sequence, or
/// cancelling the task, ends the exchange and closes its connection.
public struct StreamingSequence<Element: Sendable>: AsyncSequence, Sendable {
  // Closures, because they are called without a look at what `Element` is.
  private let ready: @Sendable () -> Element?
  private let pull: nonisolated(nonsending) @Sendable () async throws -> Element?

  init<Parser: StreamParser>(_ reader: StreamReader<Parser>) where Parser.Element == Element {
    ready = { reader.ready() }
    pull = { try await reader.next() }
  }

  /// The same elements as a stream of the standard library.
  var stream: AsyncThrowingStream<Element, Error> {
    AsyncThrowingStream { [ready, pull] in
      // Most elements are there already: those take no detour through another asynchronous function.
      if let element = ready() { return element }
      return try await pull()
    }
  }

  /// Goes on where the sequence stands.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(ready: ready, pull: pull) }

  /// Iterates over a body. Where two ask at once, the second meets a ``ConcurrentReadError``; the first goes on.
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

    /// The next element; waits until it has arrived.
    ///
    /// - Returns: `nil` at the end of the body.
    /// - Throws: What ended the exchange or the form of the body: `URLError`, `StreamLineTooLongError`,
    ///   `DecodingError`, …; `CancellationError` when the task is cancelled, which closes the connection.
    @inlinable public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws -> Element? {
      if let element = ready() { return element }
      return try await pull()
    }

    /// The same, off the caller's actor.
    @inlinable public mutating func next() async throws -> Element? { try await next(isolation: nil) }
  }
}
