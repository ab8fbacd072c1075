import Foundation

/// A body backed by an async stream of chunks from an injected session, middleware or a test.
typealias ChunkStreamBody = StreamBody<Data>
/// The same of bytes.
typealias ByteStreamBody = StreamBody<UInt8>

/// A body backed by an async stream.
///
/// A task reads the stream, and is left behind if it ignores its cancellation. It takes a chunk when its consumer asks for
/// one. Of bytes it reads up to a limit ahead of the consumer, which receives all that have arrived: a wait for each byte
/// would take seconds for a mebibyte.
final class StreamBody<Element: Sendable>: TransportBody {
  typealias Source = AsyncThrowingStream<Element, any Error>
  private typealias Reader = CheckedContinuation<Data?, any Error>

  private struct State {
    /// The number of bytes to read ahead.
    let limit: Int
    /// The stream, until it is read.
    var stream: Source?
    var task: Task<Void, Never>?
    var bytes = Data()
    var end: Result<Data?, any Error>?
    var reader: (id: UInt64, continuation: Reader)?
    var lastID: UInt64 = 0
    /// The continuation of the task while it must not read on.
    var room: CheckedContinuation<Void, Never>?

    var isFull: Bool { reader == nil && end == nil && bytes.count >= limit }
  }

  private let state: Locked<State>
  private let makeData: @Sendable (Element) -> Data

  private init(_ stream: Source, limit: Int, makeData: @escaping @Sendable (Element) -> Data) {
    state = Locked(State(limit: limit, stream: stream))
    self.makeData = makeData
  }

  deinit { cancel() }

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
    let (result, room) = state.withLock { [state, makeData] own -> Step in
      guard own.reader == nil else { return (.failure(ConcurrentReadError()), nil) }
      if !own.bytes.isEmpty {
        defer { own.bytes = Data() }
        return (.success(own.bytes), own.room.take())
      }
      if let end = own.end { return (end, nil) }
      own.reader = (id, reader)
      // The task refers to the state, not to the body: releasing the body ends it.
      if let stream = own.stream.take() { own.task = Task { await Self.read(stream, into: state, makeData) } }
      return (nil, own.room.take())
    }
    room?.resume()
    guard let result else { return true }
    reader.resume(with: result)
    return false
  }

  private static func read(
    _ stream: Source, into state: Locked<State>, _ makeData: @Sendable (Element) -> Data
  ) async {
    let end: Result<Data?, any Error>
    do {
      for try await element in stream {
        if Task.isCancelled { break }
        let data = makeData(element)
        if data.isEmpty { continue }
        let (reader, isFull) = state.withLock { state -> (Reader?, Bool) in
          let reader = state.reader.take()?.continuation
          if reader == nil, state.end == nil { state.bytes.append(data) }
          return (reader, state.isFull)
        }
        reader?.resume(returning: data)
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
        if state.isFull { state.room = room }
        return state.isFull
      }
      if !isNeeded { room.resume() }
    }
  }
}

extension StreamBody where Element == Data {
  convenience init(_ stream: Source) { self.init(stream, limit: 0) { $0 } }
}

extension StreamBody where Element == UInt8 {
  static var limit: Int { 16 * 1024 }

  convenience init(_ stream: Source) { self.init(stream, limit: Self.limit) { Data(CollectionOfOne($0)) } }

  /// For tests: the number of bytes that have been read ahead.
  var bufferedCount: Int { state.withLock { $0.bytes.count } }
}

/// A body whose bytes are all in memory.
final class BufferedBody: TransportBody {
  /// The bytes that have yet to be read.
  private let rest: Locked<Result<Data?, any Error>>

  let end: ResponseEnd?

  init(_ data: Data, end: ResponseEnd? = nil) {
    rest = Locked(.success(data.isEmpty ? nil : data))
    self.end = end
  }

  func next() async throws -> Data? {
    try Task.checkCancellation()
    return try rest.withLock { rest in
      let data = try rest.get()
      rest = .success(nil)
      return data
    }
  }

  func cancel() {
    rest.withLock { $0 = .failure(CancellationError()) }
  }
}

/// An error thrown when a body is read while another loop is already reading it, or after another one has left it before
/// its end. A loop that is reading continues and loses nothing; the one that receives this error has read nothing.
///
/// A response body is read once, by one loop at a time. To hand the same bytes to several readers, read them in one
/// loop and pass them on.
public struct ConcurrentReadError: NonRetriableError, LocalizedError, Equatable, Sendable {
  /// Creates an error as the library throws it, for tests.
  public init() {}

  /// A description of the error.
  public var errorDescription: String? {
    "The response body is being read by another loop, or was left by one before its end"
  }
}
