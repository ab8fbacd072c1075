import Foundation

/// A body backed by an async stream of bytes from an injected session or a test.
///
/// A task reads up to ``limit`` bytes ahead of the consumer, which receives all that have arrived: a task for each byte,
/// like that of ``ChunkStreamBody`` for each chunk, would take seconds for a mebibyte.
final class ByteStreamBody: TransportBody {
  typealias Bytes = AsyncThrowingStream<UInt8, any Error>
  private typealias Reader = CheckedContinuation<Data?, any Error>

  static let limit = 16 * 1024

  private struct State {
    /// The stream, until it is read.
    var stream: Bytes?
    var task: Task<Void, Never>?
    var bytes = Data()
    var end: Result<Data?, any Error>?
    var reader: (id: UInt64, continuation: Reader)?
    var lastID: UInt64 = 0
    /// The continuation of the task while there are enough bytes.
    var room: CheckedContinuation<Void, Never>?
  }

  private let state: Locked<State>

  init(_ stream: Bytes) { state = Locked(State(stream: stream)) }

  deinit { cancel() }

  /// For tests: the number of bytes that have been read ahead.
  var bufferedCount: Int { state.withLock { $0.bytes.count } }

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

  /// Ends the stream: its producer is notified when it is released or the task that reads it is cancelled.
  func cancel() { leave(keepsBytes: false) }

  func stopReceiving() { leave(keepsBytes: true) }

  private func leave(keepsBytes: Bool) {
    let old = state.withLock { state in
      let old = state
      if !keepsBytes, !state.bytes.isEmpty { (state.end, state.bytes) = (nil, Data()) }
      if state.end == nil { state.end = .failure(CancellationError()) }
      (state.stream, state.task, state.reader, state.room) = (nil, nil, nil, nil)
      return old
    }
    old.task?.cancel()
    old.room?.resume()
    old.reader?.continuation.resume(throwing: CancellationError())
  }

  /// Resumes the reader and returns `false`, or stores it and returns `true`.
  private func read(_ reader: Reader, id: UInt64) -> Bool {
    typealias Step = (result: Result<Data?, any Error>?, room: CheckedContinuation<Void, Never>?)
    let (result, room) = state.withLock { [state] own -> Step in
      guard own.reader == nil else { return (.failure(ConcurrentReadError()), nil) }
      if !own.bytes.isEmpty {
        defer { own.bytes = Data() }
        return (.success(own.bytes), own.room.take())
      }
      if let end = own.end { return (end, nil) }
      own.reader = (id, reader)
      // The task refers to the state, not to the body: releasing the body ends it.
      if let stream = own.stream.take() { own.task = Task { await Self.read(stream, into: state) } }
      return (nil, nil)
    }
    room?.resume()
    guard let result else { return true }
    reader.resume(with: result)
    return false
  }

  private static func read(_ stream: Bytes, into state: Locked<State>) async {
    let end: Result<Data?, any Error>
    do {
      for try await byte in stream {
        let (reader, isFull) = state.withLock { state -> (Reader?, Bool) in
          if let reader = state.reader.take() { return (reader.continuation, false) }
          if state.end == nil { state.bytes.append(byte) }
          return (nil, state.bytes.count >= limit)
        }
        reader?.resume(returning: Data(CollectionOfOne(byte)))
        if isFull { await waitForRoom(in: state) }
      }
      end = .success(nil)
    } catch {
      end = .failure(error)
    }
    let reader = state.withLock { state -> Reader? in
      if state.end == nil { state.end = end }
      state.task = nil
      return state.reader.take()?.continuation
    }
    reader?.resume(with: end)
  }

  private static func waitForRoom(in state: Locked<State>) async {
    await withCheckedContinuation { room in
      let isNeeded = state.withLock { state in
        guard state.bytes.count >= limit else { return false }
        state.room = room
        return true
      }
      if !isNeeded { room.resume() }
    }
  }
}

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
      return (state.iterator.take(), state.pull, state.reader.take())
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

/// A body whose bytes are all in memory.
final class BufferedBody: TransportBody {
  private enum State {
    case full(Data)
    case read
    case cancelled
  }

  private let state: Locked<State>

  let end: ResponseEnd?

  init(_ data: Data, end: ResponseEnd? = nil) {
    state = Locked(data.isEmpty ? .read : .full(data))
    self.end = end
  }

  func next() async throws -> Data? {
    try Task.checkCancellation()
    return try state.withLock { state in
      switch state {
      case .full(let data):
        state = .read
        return data
      case .read: return nil
      case .cancelled: throw CancellationError()
      }
    }
  }

  func cancel() {
    state.withLock { $0 = .cancelled }
  }
}

/// An error thrown when a body is read while another loop is already reading it. That loop continues and loses nothing;
/// the one that receives this error has read nothing.
///
/// A response body is read once, by one loop at a time. To hand the same bytes to several readers, read them in one
/// loop and pass them on.
public struct ConcurrentReadError: NonRetriableError, LocalizedError, Equatable, Sendable {
  /// Creates an error as the library throws it, for tests.
  public init() {}

  /// A description of the error.
  public var errorDescription: String? { "The response body is being read by another loop" }
}
