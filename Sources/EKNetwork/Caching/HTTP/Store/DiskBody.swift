import Foundation

/// A body in a file of its own: a sequence of blocks, each followed by its digest. A digest also covers the number of
/// the file and the index of the block, so that no block can be mistaken for another.
final class DiskBody: Sendable {
  static let blockSize = 64 * 1024
  static let digestSize = 4

  let length: Int64
  private let number: UInt64
  private let file: OpenFile
  private let onDamage: @Sendable () -> Void

  /// Opens a file; returns `nil` if it does not exist or does not have the expected length.
  init?(_ path: String, number: UInt64, length: Int64, onDamage: @escaping @Sendable () -> Void) {
    guard let file = OpenFile(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) else { return nil }
    guard length > 0, file.size == length + Self.blocks(in: length) * Int64(Self.digestSize) else { return nil }
    self.file = file
    self.number = number
    self.length = length
    self.onDamage = onDamage
  }

  static func digest(of block: UnsafeRawBufferPointer, at index: Int64, of number: UInt64) -> UInt32 {
    var digest = CRC32()
    digest.add(number)
    digest.add(UInt64(index))
    digest.add(block)
    return digest.value
  }

  private static func blocks(in length: Int64) -> Int64 { (length - 1) / Int64(blockSize) + 1 }

  /// Returns a verified block; `nil` if it is damaged.
  func block(_ index: Int64) -> Data? {
    let start = index * Int64(Self.blockSize)
    guard start >= 0, start < length else { return nil }
    let count = Int(min(Int64(Self.blockSize), length - start))
    var data = Data(count: count + Self.digestSize)
    let isRight = data.withUnsafeMutableBytes { bytes in
      guard file.read(into: bytes, at: start + index * Int64(Self.digestSize)) else { return false }
      let digest = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: count, as: UInt32.self))
      return Self.digest(of: UnsafeRawBufferPointer(rebasing: bytes[..<count]), at: index, of: number) == digest
    }
    guard isRight else {
      onDamage()
      return nil
    }
    return data.prefix(count)
  }

  func data() -> Data? {
    var data = Data(capacity: Int(clamping: length))
    for index in 0..<Self.blocks(in: length) {
      guard let block = block(index) else { return nil }
      data.append(block)
    }
    return data
  }
}

/// Reads a body from its file, block by block.
///
/// Unchecked: mutable state without a lock is accessed by `next()` only, which has one caller at a time.
final class DiskBodyReader: TransportBody, @unchecked Sendable {
  typealias Remainder = @Sendable (Range<Int64>) async throws -> any TransportBody

  private struct State {
    var isCancelled = false
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
    if let rest { return try await next(of: rest) }
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
    guard let remainder else { throw Self.lost("The stored body of the response is damaged, and was removed") }
    let rest = try await remainder(position..<end)
    let isCancelled = state.withLock { state in
      state.rest = rest
      return state.isCancelled
    }
    if isCancelled { rest.cancel() }
    return try await next(of: rest)
  }

  /// The server has named the range, but may send less or more: then the whole would not have the length in its head.
  private func next(of rest: any TransportBody) async throws -> Data? {
    let chunk = try await rest.next()
    position += Int64(chunk?.count ?? 0)
    guard chunk == nil ? position == end : position <= end else {
      rest.cancel()
      throw Self.lost("The server has not sent the rest of a damaged stored response as it was requested")
    }
    return chunk
  }

  private static func lost(_ description: String) -> URLError {
    URLError(.networkConnectionLost, url: nil, description: description)
  }

  func cancel() {
    let rest = state.withLock { state in
      state.isCancelled = true
      return state.rest
    }
    rest?.cancel()
  }
}

/// Writes a body to a temporary file, which is renamed when the body is complete. A writer released before that removes
/// the file.
///
/// Not Sendable: owned by the body that is being read.
final class DiskBodyWriter {
  /// The number in the name of the file and in the digests of its blocks.
  let number: UInt64
  private let path: String
  private let file: OpenFile
  private let usage: Locked<DiskUsage>
  /// The place in the store for the file, as long as this object exists.
  private var reserved: Int64
  private var block = Data()
  private var blocks: Int64 = 0
  private(set) var length: Int64 = 0
  private var isFinished = false

  init(_ file: OpenFile, at path: String, reserved: Int64, in usage: Locked<DiskUsage>) {
    // 0 stands for a body without a file of its own.
    number = UInt64.random(in: 1...UInt64.max)
    self.path = path
    self.file = file
    self.reserved = reserved
    self.usage = usage
    block.reserveCapacity(DiskBody.blockSize + DiskBody.digestSize)
  }

  deinit {
    if !isFinished { unlink(path) }
    usage.withLock { $0.release(reserved) }
  }

  /// Returns whether the store has place for another chunk, which is then reserved.
  func reserve(_ count: Int) -> Bool {
    let length = length + Int64(count)
    let missing = DiskUsage.size(length) - reserved
    guard missing > 0 else { return true }
    guard usage.withLock({ $0.reserve(missing, for: length) }) else { return false }
    reserved += missing
    return true
  }

  /// Appends a chunk; returns `false` if writing fails, with the reason in `errno`.
  func append(_ chunk: Data) -> Bool {
    var rest = chunk[...]
    while !rest.isEmpty {
      let part = rest.prefix(DiskBody.blockSize - block.count)
      block.append(part)
      length += Int64(part.count)
      rest = rest.dropFirst(part.count)
      if block.count == DiskBody.blockSize, !flush() { return false }
    }
    return true
  }

  /// Renames the file to its final name; returns `false` if that fails, with the reason in `errno`.
  func finish(as final: String) -> Bool {
    guard block.isEmpty || flush(), rename(path, final) == 0 else { return false }
    isFinished = true
    return true
  }

  private func flush() -> Bool {
    var digest = RecordWriter()
    digest.add(block.withUnsafeBytes { DiskBody.digest(of: $0, at: blocks, of: number) })
    block.append(digest.bytes)
    blocks += 1
    defer { block.removeAll(keepingCapacity: true) }
    return file.append(block)
  }
}
