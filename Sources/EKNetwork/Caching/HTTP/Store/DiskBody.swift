import Foundation

/// A body in a file of its own: a sequence of blocks, each followed by its digest. A digest also covers the number of
/// the file and the index of the block, so that no block can be mistaken for another.
final class DiskBody: Sendable {
  static let blockSize = 64 * 1024
  static let digestSize = 4

  let length: Int64
  private let number: UInt64
  private let file: OpenFile
  /// Called when the file is damaged.
  private let onDamage: @Sendable () -> Void

  /// Opens a file; returns `nil` if it does not exist or does not have the expected length.
  init?(_ path: String, number: UInt64, length: Int64, onDamage: @escaping @Sendable () -> Void) {
    guard let file = OpenFile(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) else { return nil }
    var status = stat()
    guard length > 0, fstat(file.descriptor, &status) == 0,
      Int64(status.st_size) == length + Self.blocks(in: length) * Int64(Self.digestSize)
    else { return nil }
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

  /// Returns the complete body, verified.
  func data() -> Data? {
    var data = Data(capacity: Int(clamping: length))
    for index in 0..<Self.blocks(in: length) {
      guard let block = block(index) else { return nil }
      data.append(block)
    }
    return data
  }
}
