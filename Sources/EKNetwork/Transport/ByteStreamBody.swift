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
  func cancel() {
    let old = state.withLock { state in
      let old = state
      if state.end == nil || !state.bytes.isEmpty { state.end = .failure(CancellationError()) }
      (state.stream, state.task, state.bytes, state.reader, state.room) = (nil, nil, Data(), nil, nil)
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
