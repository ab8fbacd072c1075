import Foundation

/// A body in memory. It is sent without copying it first, and any number of times.
final class DataUpload: UploadSource, @unchecked Sendable {
  // Unchecked: `offset` belongs to the thread that holds the event loop's turn, the only one to call `read` and
  // `rewind`.
  private let data: Data
  private var offset = 0

  init(_ data: Data) { self.data = data }

  var length: Int64? { Int64(data.count) }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> UploadRead {
    let count = min(buffer.count, data.count - offset)
    guard count > 0 else { return .end }
    data.withUnsafeBytes { bytes in
      buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[offset..<(offset + count)]))
    }
    offset += count
    return .bytes(count)
  }

  func rewind() -> Bool {
    offset = 0
    return true
  }
}
