import Foundation

/// A pool of large memory blocks for received bytes: memory that is returned to the system has to be mapped and cleared
/// again, page by page, which costs more than receiving into it.
enum BlockPool {
  /// The size of a full block and the piece that overflows it.
  static let capacity = BodyBlock.size + 64 * 1024
  /// The maximum number of free blocks to keep, 5 MiB in all.
  static let limit = 16

  // The compiler does not check the pointers: each is in here only while it is unused.
  private static let free = Locked<[UnsafeMutableRawPointer]>([])

  static func take() -> UnsafeMutableRawPointer {
    free.withLock { $0.popLast() } ?? .allocate(byteCount: capacity, alignment: 16)
  }

  static func give(_ block: UnsafeMutableRawPointer) {
    let isKept = free.withLock { free in
      guard free.count < limit else { return false }
      free.append(block)
      return true
    }
    if !isKept { block.deallocate() }
  }
}
