import Foundation

/// Writes a body to a temporary file, which is renamed when the body is complete. A writer released before that removes
/// the file.
///
/// Not Sendable: owned by the body that is being read.
final class DiskBodyWriter {
  /// The number in the name of the file and in the digests of its blocks.
  let number: UInt64
  private let path: String
  private let file: OpenFile
  private var block = Data()
  private var blocks: Int64 = 0
  private(set) var length: Int64 = 0
  private var isFinished = false

  init(_ file: OpenFile, at path: String) {
    // 0 stands for a body without a file of its own.
    number = UInt64.random(in: 1...UInt64.max)
    self.path = path
    self.file = file
    block.reserveCapacity(DiskBody.blockSize + DiskBody.digestSize)
  }

  deinit { if !isFinished { unlink(path) } }

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
