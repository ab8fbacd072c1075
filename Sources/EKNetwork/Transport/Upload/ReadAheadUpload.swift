import Dispatch
import Foundation

/// A body whose reader may block, and which is therefore read ahead, by a few blocks at most, on a queue of its own.
///
/// A body that cannot be replayed refuses to rewind once a byte has been handed on, so that a lost connection fails the
/// request instead of sending the rest of the body as if it were the whole.
final class ReadAheadUpload: UploadSource, @unchecked Sendable {
  private struct State {
    var blocks: [UploadBlock] = []
    var spare: UploadBlock?
    /// The pass over the body that the blocks belong to: blocks that were read before a rewind are discarded.
    var pass = 0
    var readingPass: Int?
    var isAtEnd = false
    var isClosed = false
    var error: (any Error)?
    var wantsNotice = false
    var hasHandedOn = false
    var onReady: (@Sendable () -> Void)?

    var isFull: Bool { blocks.count >= ReadAheadUpload.blocksAhead }
    var canRead: Bool { readingPass == nil && !isAtEnd && error == nil && !isClosed && !isFull }
  }

  private static let blocksAhead = 3
  private static let blockSize = 256 * 1024

  private let declaredLength: Int64?
  private let isReplayable: Bool
  // Unchecked: the reader, its pass and its count are only accessed on `queue`, everything else inside the lock.
  private var reader: any BlockReader
  private let makeReader: () -> any BlockReader
  private var readerPass = 0
  private var readerCount: Int64 = 0
  private let queue: DispatchQueue
  private let state = Locked(State())

  /// - Parameter reader: A reader of the body, and another one for each pass over it.
  init(
    _ reader: @autoclosure @escaping () -> any BlockReader, length: Int64?, isReplayable: Bool,
    queue: DispatchQueue = DispatchQueue(label: "EKNetwork.Upload")
  ) {
    self.queue = queue
    self.reader = reader()
    makeReader = reader
    declaredLength = length
    self.isReplayable = isReplayable
  }

  var length: Int64? { isDeclaredEmpty ? nil : declaredLength }
  var isDeclaredEmpty: Bool { declaredLength == 0 && !isReplayable }

  func setReadyHandler(_ handler: @escaping @Sendable () -> Void) {
    state.withLock { $0.onReady = handler }
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> UploadRead {
    let (result, pass) = state.withLock { state in
      let result = Self.take(from: &state, into: buffer)
      guard state.canRead else { return (result, Int?.none) }
      state.readingPass = state.pass
      return (result, state.pass)
    }
    if let pass { queue.async { self.readBlock(pass) } }
    return result
  }

  func rewind() -> Bool {
    state.withLock { state in
      guard isReplayable else { return !state.hasHandedOn }
      guard state.hasHandedOn else { return true }
      state.blocks = []
      state.pass += 1
      state.isAtEnd = false
      state.error = nil
      state.hasHandedOn = false
      return true
    }
  }

  func close() {
    let mustClose = state.withLock { state in
      defer {
        state.isClosed = true
        state.onReady = nil
        state.blocks = []
        state.spare = nil
      }
      return !state.isClosed
    }
    if mustClose { queue.async { self.reader.close() } }
  }

  private static func take(from state: inout State, into buffer: UnsafeMutableRawBufferPointer) -> UploadRead {
    guard let block = state.blocks.first else {
      if let error = state.error { return .failed(error) }
      if state.isAtEnd { return .end }
      state.wantsNotice = true
      return .pending
    }
    state.hasHandedOn = true
    let count = block.take(into: buffer)
    if block.isEmpty {
      state.blocks.removeFirst()
      state.spare = block
    }
    return .bytes(count)
  }

  private func readBlock(_ pass: Int) {
    let (spare, isClosed) = state.withLock { ($0.spare.take(), $0.isClosed) }
    guard !isClosed else { return }
    if readerPass != pass {
      reader = makeReader()
      readerPass = pass
      readerCount = 0
    }
    let rest = declaredLength.map { max(1, $0 - readerCount) } ?? Int64(Self.blockSize)
    let block = spare ?? UploadBlock(capacity: Int(min(Int64(Self.blockSize), rest)))
    let result = Result { try fill(block) }
    let (notify, next): ((@Sendable () -> Void)?, Int?) = state.withLock { state in
      state.readingPass = nil
      if state.pass == pass, !state.isClosed {
        switch result {
        case .failure(let error): state.error = error
        case .success(let isLast):
          state.isAtEnd = isLast
          if !block.isEmpty { state.blocks.append(block) }
        }
      }
      let next = state.canRead ? state.pass : nil
      state.readingPass = next
      // A read of an earlier pass has nothing to report; the next read has.
      guard state.wantsNotice, state.pass == pass else { return (nil, next) }
      state.wantsNotice = false
      return (state.onReady, next)
    }
    notify?()
    if let next { queue.async { self.readBlock(next) } }
  }

  /// Fills a block and returns whether it is the last one.
  private func fill(_ block: UploadBlock) throws -> Bool {
    let count = try block.fill { try reader.read(into: $0) }
    readerCount += Int64(count)
    // The reader throws an error if the body has another length.
    return count == 0 || readerCount == declaredLength
  }
}
