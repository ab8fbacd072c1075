import Foundation

/// A block of memory that one thread fills and another empties, in turns.
///
/// Sendable, unchecked: it is filled while only the reading queue uses it, and emptied under the upload's lock.
final class UploadBlock: @unchecked Sendable {
  private let memory: UnsafeMutableRawBufferPointer
  private var range = 0..<0

  init(capacity: Int) { memory = .allocate(byteCount: capacity, alignment: 16) }

  deinit { memory.deallocate() }

  var isEmpty: Bool { range.isEmpty }

  /// Replaces the content.
  func fill(_ read: (UnsafeMutableRawBufferPointer) throws -> Int) rethrows -> Int {
    range = 0..<0
    let count = try read(memory)
    range = 0..<min(count, memory.count)
    return count
  }

  func take(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    let count = min(buffer.count, range.count)
    let end = range.lowerBound + count
    buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[range.lowerBound..<end]))
    range = end..<range.upperBound
    return count
  }
}
