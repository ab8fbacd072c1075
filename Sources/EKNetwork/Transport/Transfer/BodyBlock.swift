import Foundation

/// A buffer that gathers received bytes for one `Data`, which takes over the memory without copying it.
///
/// A record of TLS has at most 16 KiB; joining the pieces costs one copy in the cache and saves a delivery
/// each.
struct BodyBlock: ~Copyable {
  /// The number of bytes at which a block is delivered; at the end of the event loop's turn it is delivered in any
  /// case.
  static let size = 256 * 1024
  /// The size from which a block comes from the pool.
  private static let pooledSize = 128 * 1024

  private var base: UnsafeMutableRawPointer?
  private var capacity = 0
  private var count = 0

  init() {}

  deinit { if let base { Self.release(base, capacity) } }

  var isFull: Bool { count >= Self.size }

  /// Appends bytes. `outstanding` is the number of bytes announced after them, which only affects the first allocation.
  mutating func append(_ bytes: UnsafeRawBufferPointer, outstanding: Int64) {
    guard let source = bytes.baseAddress, bytes.count > 0 else { return }
    if count + bytes.count > capacity {
      let announced = bytes.count + Int(clamping: min(max(0, outstanding), Int64(Self.size)))
      grow(to: base == nil ? announced : max(count + bytes.count, min(capacity * 2, Self.size)))
    }
    guard let base else { return }
    (base + count).copyMemory(from: source, byteCount: bytes.count)
    count += bytes.count
  }

  /// The memory that is retained as long as the result of ``takeData()``.
  var memory: Int { isSparse ? count : capacity }

  /// Whether the bytes use too little of their memory.
  private var isSparse: Bool { count < capacity / 4 }

  /// Returns the bytes and empties the block, or returns `nil` if there are none. The data takes over the memory,
  /// unless it would retain more than four times its size: then the bytes are copied.
  mutating func takeData() -> Data? {
    guard let full = base else { return nil }
    let (count, capacity, isSparse) = (count, capacity, isSparse)
    base = nil
    self.capacity = 0
    self.count = 0
    if isSparse {
      defer { Self.release(full, capacity) }
      return Data(bytes: full, count: count)
    }
    return Data(bytesNoCopy: full, count: count, deallocator: .custom { block, _ in Self.release(block, capacity) })
  }

  private mutating func grow(to needed: Int) {
    let newCapacity = needed < Self.pooledSize ? needed : max(needed, BlockPool.capacity)
    let isPooled = newCapacity == BlockPool.capacity
    let grown = isPooled ? BlockPool.take() : .allocate(byteCount: newCapacity, alignment: 16)
    if let base {
      grown.copyMemory(from: base, byteCount: count)
      Self.release(base, capacity)
    }
    base = grown
    capacity = newCapacity
  }

  private static func release(_ base: UnsafeMutableRawPointer, _ capacity: Int) {
    if capacity == BlockPool.capacity { BlockPool.give(base) } else { base.deallocate() }
  }
}

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
