import Foundation

/// Reads a body from its file, block by block.
///
/// Unchecked: mutable state without a lock is accessed by `next()` only, which has one caller at a time.
final class DiskBodyReader: TransportBody, @unchecked Sendable {
  /// Fetches a range of bytes from elsewhere.
  typealias Remainder = @Sendable (Range<Int64>) async throws -> any TransportBody

  private struct State {
    var isCancelled = false
    /// The source of the remaining bytes, if not the file.
    var rest: (any TransportBody)?
  }

  private let file: DiskBody
  private let end: Int64
  private let remainder: Remainder?
  private var position: Int64
  private let state = Locked(State())

  init(_ file: DiskBody, range: Range<Int64>, remainder: Remainder?) {
    self.file = file
    position = range.lowerBound
    end = range.upperBound
    self.remainder = remainder
  }

  func next() async throws -> Data? {
    try Task.checkCancellation()
    let (isCancelled, rest) = state.withLock { ($0.isCancelled, $0.rest) }
    if isCancelled { throw CancellationError() }
    if let rest { return try await rest.next() }
    guard position < end else { return nil }
    let size = Int64(DiskBody.blockSize)
    let index = position / size
    guard let block = file.block(index) else { return try await nextOfRemainder() }
    let start = Int(position - index * size)
    let stop = Int(min(end - index * size, Int64(block.count)))
    position = index * size + Int64(stop)
    let isWhole = start == 0 && stop == block.count
    return isWhole ? block : block.subdata(in: (block.startIndex + start)..<(block.startIndex + stop))
  }

  /// Continues after the file turned out to be damaged, in a body too large to be verified beforehand. If the rest is
  /// unavailable, the failure is that of a lost connection, so that a request that can be retried is.
  private func nextOfRemainder() async throws -> Data? {
    guard let remainder else {
      throw URLError(
        .networkConnectionLost,
        userInfo: [NSLocalizedDescriptionKey: "The stored body of the response is damaged, and was removed"])
    }
    let rest = try await remainder(position..<end)
    let isCancelled = state.withLock { state in
      state.rest = rest
      return state.isCancelled
    }
    if isCancelled { rest.cancel() }
    return try await rest.next()
  }

  func cancel() {
    let rest = state.withLock { state in
      state.isCancelled = true
      return state.rest
    }
    rest?.cancel()
  }
}
