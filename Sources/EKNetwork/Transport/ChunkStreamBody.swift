import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A body backed by an async stream of chunks from an injected session or a test.
///
/// Unchecked: the iterator is only taken out under the lock, and by one task at a time.
final class ChunkStreamBody: TransportBody, @unchecked Sendable {
  private typealias Iterator = AsyncThrowingStream<Data, Error>.Iterator

  /// An iterator with the chunk that it produced. Unchecked: it is passed from the task that pulls to the one that
  /// waits.
  private struct Pulled: @unchecked Sendable {
    let chunk: Data?
    let iterator: Iterator
  }

  private struct State {
    var iterator: Iterator?
    /// The task that is pulling an element, while the iterator is out of the state.
    var pull: Task<Pulled, any Error>?
    var isCancelled = false
  }

  private let state: Locked<State>

  init(_ stream: AsyncThrowingStream<Data, Error>) { state = Locked(State(iterator: stream.makeAsyncIterator())) }

  /// Pulls the next element in a task of its own, which ``cancel()`` can cancel.
  func next() async throws -> Data? {
    try Task.checkCancellation()
    guard let pull = try begin() else {
      // The rest of the body was not read, so this must not look like its end.
      if state.withLock({ $0.isCancelled }) { throw CancellationError() }
      return nil
    }
    let result = await withTaskCancellationHandler {
      await pull.result
    } onCancel: {
      pull.cancel()
    }
    let pulled = try? result.get()
    // After the last element the body has ended, whatever the stream would return if it were asked again.
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

  /// Ends the stream: its producer is notified when the iterator is released or the pulling task is cancelled.
  func cancel() {
    let (iterator, pull) = state.withLock { state in
      state.isCancelled = true
      defer { state.iterator = nil }
      return (state.iterator, state.pull)
    }
    withExtendedLifetime(iterator) { pull?.cancel() }
  }

  private func begin() throws -> Task<Pulled, any Error>? {
    try state.withLock { state in
      if state.pull != nil { throw ConcurrentReadError() }
      guard let iterator = state.iterator else { return nil }
      state.iterator = nil
      let taken = Pulled(chunk: nil, iterator: iterator)
      let pull = Task {
        var iterator = taken.iterator
        while let chunk = try await iterator.next() {
          if !chunk.isEmpty { return Pulled(chunk: chunk, iterator: iterator) }
        }
        return Pulled(chunk: nil, iterator: iterator)
      }
      state.pull = pull
      return pull
    }
  }
}
