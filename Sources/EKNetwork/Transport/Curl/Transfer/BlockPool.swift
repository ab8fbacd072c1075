import Foundation

/// Memory for large blocks of received bytes, used again: what is given back to the system has to be mapped and cleared
/// again, page by page, which costs more than receiving into it.
enum BlockPool {
  /// Room for a full block and the piece that fills it over the brim.
  static let capacity = BodyBlock.size + 64 * 1024
  /// How many free blocks are kept, 5 MiB in all.
  static let limit = 16

  // Unchecked in what it holds: a pointer is in here only while it is not in use.
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
