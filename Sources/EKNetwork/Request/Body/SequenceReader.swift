import Dispatch
import Foundation

/// Reads an asynchronous sequence on a blocking thread, for sessions that only support streams.
final class SequenceReader: BlockReader {
  private let puller: BodyPuller
  /// What the request is part of, and so is the sequence.
  private let enclosing = EnclosingWork.current
  private var piece = Data()
  private var task: Task<Void, Never>?
  private let start: (@escaping @Sendable () async -> Void) -> Task<Void, Never>

  init(_ puller: BodyPuller) {
    self.puller = puller
    // The caller may be on a thread of the cooperative pool, and so may all others that block here.
    if #available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *) {
      let executor = QueueExecutor(label: "EKNetwork.Sequence")
      start = { Task(executorPreference: executor, operation: $0) }
    } else {
      start = { Task(operation: $0) }
    }
  }

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
    task = start { [puller, enclosing] in
      do {
        let piece = try await EnclosingWork.continuing(enclosing) { try await puller.next() }
        result.withLock { $0 = .success(piece) }
      } catch {
        result.withLock { $0 = .failure(error) }
      }
      isThere.signal()
    }
    isThere.wait()
    return try result.withLock { $0 }.get()
  }
}
