import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One loop over a response body: pulls a chunk when the parser has used up the last one, and nothing before.
///
/// There is no task and no buffer between the consumer and the transport. When the loop is left, by whatever way, the
/// sequence that holds the reader goes, and the reader takes the exchange with it.
///
/// Sendable, unchecked: `state` belongs to the call that has made `isBusy` true, and to `deinit`. It is no lock that
/// waits: parsers call decoders and closures of the user, and two loops over one stream could make no sense of their
/// halves.
final class StreamReader<Parser: StreamParser>: @unchecked Sendable {
  private struct State {
    var parser: Parser
    /// Whether the body is this reader's.
    var hasClaim = false
    var isAtEnd = false
    var isOver = false
    /// What the parser threw when it was asked for what is ready.
    var failure: (any Error)?
  }

  private let shared: ReadOnceBody
  private let isBusy = Locked(false)
  // A pointer, because the runtime would check every access to a property of a class.
  private let state: UnsafeMutablePointer<State>

  init(_ body: ReadOnceBody, parser: Parser) {
    shared = body
    state = .allocate(capacity: 1)
    state.initialize(to: State(parser: parser))
  }

  deinit {
    // A stream that has not been read from does not speak for the others that may be read.
    if state.pointee.hasClaim { shared.body.cancel() }
    release(&state.pointee.hasClaim)
    state.deinitialize(count: 1)
    state.deallocate()
  }

  /// Where the parser stands; `nil` during a read.
  var parser: Parser? {
    guard take() else { return nil }
    defer { release() }
    return state.pointee.parser
  }

  /// The next element if it has arrived, and is still wanted; `nil` leaves everything else to ``next()``.
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

  /// The next element; waits for it. `nil` at the end, and for ever after an error. A ``ConcurrentReadError`` is none of
  /// these: what another loop is reading is left to it, and can be asked for again.
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

  /// The body has ended, or is to end: others may look.
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
