import Foundation

/// Writes a body into a temporary file, which gets its name when the body is complete. Dropped before that, it leaves
/// nothing.
///
/// Not Sendable: belongs to the body that is being read.
final class DiskBodyWriter {
  /// What the file is called by, and its blocks are marked with.
  let number: UInt64
  private let path: String
  private let file: OpenFile
  private var block = Data()
  private var blocks: Int64 = 0
  private(set) var length: Int64 = 0
  private var isFinished = false

  init(_ file: OpenFile, at path: String) {
    // 0 is a body that has no file.
    number = UInt64.random(in: 1...UInt64.max)
    self.path = path
    self.file = file
    block.reserveCapacity(DiskBody.blockSize + DiskBody.digestSize)
  }

  deinit { if !isFinished { unlink(path) } }

  /// `false` when the disk takes no more: `errno` says why.
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

  /// Gives the file its name. `false` when that fails: `errno` says why.
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
