import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A body backed by an async stream of chunks from an injected session, middleware or a test.
///
/// Unchecked: the iterator is only taken out under the lock, and by one task at a time.
final class ChunkStreamBody: TransportBody, @unchecked Sendable {
  private typealias Iterator = AsyncThrowingStream<Data, Error>.Iterator
  private typealias Reader = CheckedContinuation<Data?, any Error>

  /// An iterator that is passed to the task that pulls. Unchecked: it is not used elsewhere meanwhile.
  private struct Taken: @unchecked Sendable {
    var iterator: Iterator
  }

  private struct State {
    var iterator: Iterator?
    /// The task that is pulling an element, while the iterator is out of the state.
    var pull: Task<Void, Never>?
    var reader: (id: UInt64, continuation: Reader)?
    var lastID: UInt64 = 0
    var isCancelled = false
  }

  private let state: Locked<State>

  init(_ stream: AsyncThrowingStream<Data, Error>) { state = Locked(State(iterator: stream.makeAsyncIterator())) }

  /// Pulls the next element in a task of its own, which is left behind if it ignores its cancellation.
  func next() async throws -> Data? {
    try Task.checkCancellation()
    let id = state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
    return try await withCancellableContinuation { reader in
      read(reader, id: id)
    } leave: { [self] in
      // A second reader, which was refused, does not end the first.
      guard let reader = state.withLock({ $0.reader?.id == id ? $0.reader.take() : nil }) else { return nil }
      cancel()
      return reader.continuation
    }
  }

  /// Ends the stream: its producer is notified when the iterator is released or the pulling task is cancelled.
  func cancel() {
    let (iterator, pull, reader) = state.withLock { state in
      state.isCancelled = true
      defer { state.iterator = nil }
      return (state.iterator, state.pull, state.reader.take())
    }
    withExtendedLifetime(iterator) { pull?.cancel() }
    reader?.continuation.resume(throwing: CancellationError())
  }

  /// Resumes the reader and returns `false`, or stores it and returns `true`.
  private func read(_ reader: Reader, id: UInt64) -> Bool {
    let result: Result<Data?, any Error>? = state.withLock { state in
      if state.reader != nil { return .failure(ConcurrentReadError()) }
      // The rest of the body was not read, so this must not look like its end.
      if state.isCancelled { return .failure(CancellationError()) }
      guard let iterator = state.iterator else { return .success(nil) }
      state.iterator = nil
      state.reader = (id, reader)
      let taken = Taken(iterator: iterator)
      state.pull = Task { [self] in await pull(taken) }
      return nil
    }
    guard let result else { return true }
    reader.resume(with: result)
    return false
  }

  private func pull(_ taken: Taken) async {
    var taken = taken
    let result: Result<Data?, any Error>
    do {
      var chunk = try await taken.iterator.next()
      while chunk?.isEmpty == true { chunk = try await taken.iterator.next() }
      result = .success(chunk)
    } catch {
      result = .failure(error)
    }
    let reader = state.withLock { [taken] state in
      state.pull = nil
      // After the last element the body has ended, whatever the stream would return if it were asked again.
      if !state.isCancelled, case .success(_?) = result { state.iterator = taken.iterator }
      return state.reader.take()
    }
    reader?.continuation.resume(with: result)
  }
}
