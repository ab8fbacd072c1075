import Foundation

/// Received bytes on their way into one `Data`, which takes the memory over without copying it.
///
/// libcurl hands on at most 16 KiB at a time; joining them costs one copy in the cache and saves a hand-over each.
struct BodyBlock: ~Copyable {
  /// A block is delivered when it holds this many bytes, and at the end of the event loop's turn in any case.
  static let size = 256 * 1024
  /// From this size on a block comes from the pool.
  private static let pooledSize = 128 * 1024

  private var base: UnsafeMutableRawPointer?
  private var capacity = 0
  private var count = 0

  init() {}

  deinit { if let base { Self.release(base, capacity) } }

  var isFull: Bool { count >= Self.size }

  /// Appends bytes. `outstanding` is how many more are announced after them; it only sizes the first allocation.
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

  /// What is kept in memory as long as ``takeData()`` is.
  var memory: Int { isSparse ? count : capacity }

  /// Whether the bytes are too few for the memory that they lie in.
  private var isSparse: Bool { count < capacity / 4 }

  /// The bytes, and an empty block; `nil` when there are none. They take their memory along, unless they would hold on
  /// to more than four times their size: then they are copied.
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
