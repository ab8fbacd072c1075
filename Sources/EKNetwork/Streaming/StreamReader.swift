import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

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
    /// Whether this reader has claimed the body.
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
    if state.pointee.hasClaim { shared.body.cancel() }
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
  /// end the reader: another loop is reading, and the call can be repeated later.
  nonisolated(nonsending) func next() async throws -> Parser.Element? {
    guard take() else { throw ConcurrentReadError() }
    defer { release() }
    guard !state.pointee.isOver else { return nil }
    if !state.pointee.hasClaim {
      guard shared.claim(for: self) else { throw ConcurrentReadError() }
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
      shared.body.cancel()
      throw error
    }
  }

  /// Ends the claim, because the body has ended or is cancelled: other readers may claim it.
  private func release(_ hasClaim: inout Bool) {
    if hasClaim { shared.release(by: self) }
    hasClaim = false
  }

  private func take() -> Bool {
    isBusy.withLock { isBusy in
      defer { isBusy = true }
      return !isBusy
    }
  }

  private func release() { isBusy.withLock { $0 = false } }
}
