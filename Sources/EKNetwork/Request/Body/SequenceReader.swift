import Dispatch
import Foundation

/// Reads an asynchronous sequence on a thread that waits for it: for sessions that know nothing else than streams.
final class SequenceReader: BlockReader {
  private let puller: BodyPuller
  private var piece = Data()
  private var task: Task<Void, Never>?
  #if os(Linux)
    private let executor = QueueExecutor(label: "EKNetwork.Sequence")
  #endif

  init(_ puller: BodyPuller) { self.puller = puller }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    if piece.isEmpty { piece = try nextPiece() ?? Data() }
    let count = min(piece.count, buffer.count)
    guard count > 0 else { return 0 }
    piece.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    piece = piece.dropFirst(count)
    return count
  }

  func rewind() {}

  func close() { task?.cancel() }

  private func nextPiece() throws -> Data? {
    let result = Locked<Result<Data?, any Error>>(.success(nil))
    let isThere = DispatchSemaphore(value: 0)
    let pull: @Sendable () async -> Void = { [puller] in
      do {
        let piece = try await puller.next()
        result.withLock { $0 = .success(piece) }
      } catch {
        result.withLock { $0 = .failure(error) }
      }
      isThere.signal()
    }
    #if os(Linux)
      // The caller may be on a thread of the pool, and all the others may wait here as well.
      task = Task(executorPreference: executor, operation: pull)
    #else
      task = Task(operation: pull)
    #endif
    isThere.wait()
    return try result.withLock { $0 }.get()
  }
}
