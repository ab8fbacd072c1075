import Foundation

/// The reader of one loop over a response body, which requests a chunk only when the parser has consumed the last one.
///
/// There is no task and no buffer between the consumer and the transport. However the loop is left, the sequence that
/// holds the reader is released, and the reader cancels the exchange.
///
/// Sendable, unchecked: `state` belongs to the call that has set `isBusy`, and to `deinit`. It is not a blocking lock:
/// parsers call decoders and closures of the user, and two loops over one stream would each get meaningless parts.
final class StreamReader<Parser: StreamParser>: @unchecked Sendable {
  private struct State {
    var parser: Parser
    var hasClaim = false
    var isAtEnd = false
    var isOver = false
    /// The error that the parser threw in ``ready()``.
    var failure: (any Error)?
  }

  private let shared: ReadOnceBody
  private let isBusy = Locked(false)
  // A pointer, because the runtime checks exclusive access to every property of a class.
  private let state: UnsafeMutablePointer<State>

  init(_ body: ReadOnceBody, parser: Parser) {
    shared = body
    state = .allocate(capacity: 1)
    state.initialize(to: State(parser: parser))
  }

  deinit {
    // A stream that was never read must not cancel others that may be read.
    if state.pointee.hasClaim { shared.leave() }
    release(&state.pointee.hasClaim)
    state.deinitialize(count: 1)
    state.deallocate()
  }

  /// The current state of the parser; `nil` during a read.
  var parser: Parser? {
    guard take() else { return nil }
    defer { release() }
    return state.pointee.parser
  }

  /// Returns the next element if it has arrived and the task is not cancelled; `nil` leaves everything else to
  /// ``next()``.
  func ready() -> Parser.Element? {
    guard !Task.isCancelled, take() else { return nil }
    defer { release() }
    guard !state.pointee.isOver, !state.pointee.isAtEnd, state.pointee.failure == nil else { return nil }
    do {
      return try state.pointee.parser.next()
    } catch {
      state.pointee.failure = error
      return nil
    }
  }

  /// Waits for and returns the next element; `nil` at the end, and after an error. A ``ConcurrentReadError`` does not
  /// end the reader: the call can be repeated later, and after another loop has left the body, an end here would look like
  /// that of the body.
  nonisolated(nonsending) func next() async throws -> Parser.Element? {
    guard take() else { throw ConcurrentReadError() }
    defer { release() }
    guard !state.pointee.isOver else { return nil }
    if !state.pointee.hasClaim {
      guard shared.claim(for: self) else {
        try Task.checkCancellation()
        throw ConcurrentReadError()
      }
      state.pointee.hasClaim = true
    }
    do {
      try Task.checkCancellation()
      if let failure = state.pointee.failure { throw failure }
      while !state.pointee.isAtEnd {
        if let element = try state.pointee.parser.next() { return element }
        if let chunk = try await shared.body.next() {
          state.pointee.parser.append(chunk)
        } else {
          state.pointee.isAtEnd = true
        }
      }
      if let element = try state.pointee.parser.finish() { return element }
      state.pointee.isOver = true
      release(&state.pointee.hasClaim)
      return nil
    } catch {
      state.pointee.isOver = true
      shared.leave(because: error)
      throw error
    }
  }

  /// Ends the claim, because the body has ended or is cancelled: other readers may claim it.
  private func release(_ hasClaim: inout Bool) {
    if hasClaim { shared.release(by: self) }
    hasClaim = false
  }

  private func take() -> Bool { !isBusy.withLock { exchange(&$0, with: true) } }

  private func release() { isBusy.withLock { $0 = false } }
}

/// The elements of a response body in one of its forms, pulled by the iterating task.
///
/// An element that has already arrived costs a function call, a fraction of its cost with `AsyncThrowingStream`. The
/// sequence is read once, by one loop at a time: a second loop continues where the first one stopped, and ends at once if
/// that has thrown an error. Leaving the loop and releasing the sequence, or cancelling the task, ends the exchange: an
/// HTTP/1.1 connection is closed, an HTTP/2 stream is reset, and every other loop throws a ``ConcurrentReadError``.
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
  public var lastEventID: String { position?.withLock { $0.lastEventID } ?? "" }

  /// How long the server wants a client to wait before it reconnects (`retry:`), at most one day; `nil` if it has not
  /// said.
  public var reconnectionTime: Duration? { position?.withLock { $0.reconnectionTime } }
}
