import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A stream from outside, of an injected session or of a test, as a body.
///
/// Unchecked: the iterator is only taken out under the lock, and never by two at a time.
final class AsyncSequenceBody<Element: Sendable>: TransportBody, @unchecked Sendable {
  private typealias Iterator = AsyncThrowingStream<Element, Error>.Iterator

  /// An iterator behind what came of it. Unchecked: it goes from the task that pulls to the one that waits for it.
  private struct Pulled: @unchecked Sendable {
    let chunk: Data?
    let iterator: Iterator
  }

  private struct State {
    var iterator: Iterator?
    /// What pulls, while the iterator is out.
    var pull: Task<Pulled, any Error>?
    var isCancelled = false
  }

  private let state: Locked<State>
  private let makeChunk: @Sendable (Element) -> Data

  init(_ stream: AsyncThrowingStream<Element, Error>, makeChunk: @escaping @Sendable (Element) -> Data) {
    state = Locked(State(iterator: stream.makeAsyncIterator()))
    self.makeChunk = makeChunk
  }

  /// Each element is pulled in a task of its own, which ``cancel()`` can end.
  func next() async throws -> Data? {
    try Task.checkCancellation()
    guard let pull = begin() else {
      // The rest was not read, which is no end of the body.
      if state.withLock({ $0.isCancelled }) { throw CancellationError() }
      return nil
    }
    let result = await withTaskCancellationHandler {
      await pull.result
    } onCancel: {
      pull.cancel()
    }
    let pulled = try? result.get()
    // Behind the last element there is nothing, whatever the stream says when it is asked again.
    let rest = pulled?.chunk == nil ? nil : pulled?.iterator
    let isCancelled = state.withLock { state in
      state.pull = nil
      if !state.isCancelled { state.iterator = rest }
      return state.isCancelled
    }
    guard let chunk = try result.get().chunk else {
      if isCancelled { throw CancellationError() }
      try Task.checkCancellation()
      return nil
    }
    return chunk
  }

  /// Dropping the iterator tells the stream's maker, and so does cancelling the task that pulls.
  func cancel() {
    let (iterator, pull) = state.withLock { state in
      state.isCancelled = true
      defer { state.iterator = nil }
      return (state.iterator, state.pull)
    }
    withExtendedLifetime(iterator) { pull?.cancel() }
  }

  private func begin() -> Task<Pulled, any Error>? {
    state.withLock { [makeChunk] state in
      guard let iterator = state.iterator else { return nil }
      state.iterator = nil
      let taken = Pulled(chunk: nil, iterator: iterator)
      let pull = Task {
        var iterator = taken.iterator
        while let element = try await iterator.next() {
          let chunk = makeChunk(element)
          if !chunk.isEmpty { return Pulled(chunk: chunk, iterator: iterator) }
        }
        return Pulled(chunk: nil, iterator: iterator)
      }
      state.pull = pull
      return pull
    }
  }
}

extension AsyncSequenceBody where Element == Data {
  convenience init(_ stream: AsyncThrowingStream<Data, Error>) { self.init(stream) { $0 } }
}
