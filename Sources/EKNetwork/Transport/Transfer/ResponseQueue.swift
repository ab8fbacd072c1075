import Foundation

/// A response head and a bounded queue of body chunks, between the wire, which writes, and a consumer, which reads.
///
/// A value type: the transfer holds it under a lock, passes events in, and acts on the results after releasing the
/// lock. It is generic over the waiters so that tests need no continuations.
struct ResponseQueue<HeadWaiter, ChunkWaiter> {
  struct Delivery {
    var head: (waiter: HeadWaiter, result: Result<ResponseHead, any Error>)?
    var chunk: (waiter: ChunkWaiter, result: Result<Data?, any Error>)?
    /// Whether reading from the wire has to stop, because the queue is full or the consumer will do it.
    var pauses = false
  }

  enum Pull {
    case chunk(Data?, resumes: Bool)
    case failure(any Error)
  }

  private struct Chunk {
    var data: Data
    /// The memory that it retains, which is more than its bytes if a block is not full.
    var memory: Int
  }

  /// The amount of memory retained by waiting chunks at which reading from the wire stops. It continues when half of it
  /// is free.
  static var highWater: Int { 512 * 1024 }
  var highWater = Self.highWater
  /// The size up to which waiting chunks are joined: if a server sends single bytes, each must not be kept as an object
  /// of its own.
  private static var joinedSize: Int { 64 * 1024 }
  /// The number of places of chunks that were taken from which they are freed, as soon as they are half of all: a consumer
  /// that is always behind never empties the queue.
  private static var maximumTaken: Int { 32 }

  private var head: ResponseHead?
  private var headWaiter: HeadWaiter?
  private var chunks: [Chunk] = []
  private var firstChunk = 0
  private var bufferedMemory = 0
  private var chunkWaiter: ChunkWaiter?
  private var outcome: Result<Void, any Error>?
  /// Whether reading from the wire has to stop. Only this is true at any time: a note that it may go on can be late.
  private(set) var isPaused = false
  /// Whether the wire is left alone until the consumer, which has taken everything, wants more.
  private(set) var isHeld = false

  /// The number of places that chunks take, with those that were taken.
  var placeCount: Int { chunks.count }

  /// Whether further input will be ignored, because the exchange has ended or its consumer has left.
  var isOver: Bool { outcome != nil }

  // MARK: - From the wire

  /// - Parameters:
  ///   - memory: The memory that the chunk retains; defaults to its size.
  ///   - holds: Whether a consumer that has waited for the chunk reads the next one from the wire itself.
  mutating func deliver(
    head: ResponseHead?, chunk: Data?, memory: Int? = nil, outcome: Result<Void, any Error>?, holds: Bool = false
  ) -> Delivery {
    var delivery = Delivery()
    guard !isOver else { return delivery }
    if let head {
      if let waiter = headWaiter.take() {
        delivery.head = (waiter, .success(head))
      } else {
        self.head = head
      }
    }
    if let chunk {
      if let waiter = chunkWaiter.take() {
        delivery.chunk = (waiter, .success(chunk))
      } else {
        keep(chunk, memory: memory ?? chunk.count)
      }
    }
    if let outcome {
      self.outcome = outcome
      if let waiter = headWaiter.take() { delivery.head = (waiter, .failure(Self.error(of: outcome))) }
      if let waiter = chunkWaiter.take() { delivery.chunk = (waiter, outcome.map { nil }) }
    } else if holds, delivery.chunk != nil {
      isHeld = true
      delivery.pauses = true
    } else if bufferedMemory >= highWater, !isPaused {
      isPaused = true
      delivery.pauses = true
    }
    return delivery
  }

  private mutating func keep(_ data: Data, memory: Int) {
    if firstChunk < chunks.count, chunks[chunks.count - 1].data.count + data.count <= Self.joinedSize {
      chunks[chunks.count - 1].data.append(data)
      // `Data` grows by doubling.
      let grown = 2 * chunks[chunks.count - 1].data.count
      bufferedMemory += grown - chunks[chunks.count - 1].memory
      chunks[chunks.count - 1].memory = grown
    } else {
      chunks.append(Chunk(data: data, memory: memory))
      bufferedMemory += memory
    }
  }

  // MARK: - From the consumer

  /// Returns the head, or `nil` if the waiter is kept until the head arrives.
  mutating func waitForHead(_ waiter: HeadWaiter) -> Result<ResponseHead, any Error>? {
    if let head = head.take() { return .success(head) }
    if let outcome { return .failure(Self.error(of: outcome)) }
    headWaiter = waiter
    return nil
  }

  /// Returns the next chunk, or `nil` if the waiter is kept until there is one.
  mutating func next(_ waiter: ChunkWaiter) -> Pull? {
    if let pull = available() { return pull }
    // Only one caller may wait at a time; a second one must not make the first wait for ever.
    guard chunkWaiter == nil else { return .failure(ConcurrentReadError()) }
    chunkWaiter = waiter
    return nil
  }

  /// Whether the consumer that has just begun to wait has to read from the wire itself.
  mutating func takeHold() -> Bool {
    guard isHeld, chunkWaiter != nil else { return false }
    isHeld = false
    return true
  }

  mutating func releaseHold() { isHeld = false }

  /// Returns the next chunk, or `nil` if there is none yet.
  mutating func available() -> Pull? {
    if firstChunk < chunks.count {
      let chunk = chunks[firstChunk]
      chunks[firstChunk] = Chunk(data: Data(), memory: 0)
      firstChunk += 1
      if firstChunk == chunks.count {
        chunks.removeAll(keepingCapacity: true)
        firstChunk = 0
      } else if firstChunk >= Self.maximumTaken, 2 * firstChunk >= chunks.count {
        chunks.removeFirst(firstChunk)
        firstChunk = 0
      }
      bufferedMemory -= chunk.memory
      let resumes = isPaused && bufferedMemory <= highWater / 2
      if resumes { isPaused = false }
      return .chunk(chunk.data, resumes: resumes)
    }
    return switch outcome {
    case .success: .chunk(nil, resumes: false)
    case .failure(let error): .failure(error)
    case nil: nil
    }
  }

  /// Ends the exchange from this side. Returns `nil` if it is already over.
  ///
  /// - Parameters:
  ///   - error: What waiting callers and later ones get.
  ///   - keepsChunks: Whether what has arrived can still be read.
  mutating func cancel(because error: any Error = CancellationError(), keepsChunks: Bool = false) -> Delivery? {
    guard !isOver else { return nil }
    var delivery = Delivery()
    outcome = .failure(error)
    if let waiter = headWaiter.take() { delivery.head = (waiter, .failure(error)) }
    if let waiter = chunkWaiter.take() { delivery.chunk = (waiter, .failure(error)) }
    if keepsChunks {
      // Reading them must not let the wire go on.
      isPaused = false
    } else {
      dropChunks()
    }
    return delivery
  }

  /// Drops what has arrived of an exchange that is over, as if it had not been in time.
  mutating func dropRest() {
    outcome = .failure(CancellationError())
    dropChunks()
  }

  mutating func dropChunks() {
    chunks = []
    firstChunk = 0
    bufferedMemory = 0
  }

  private static func error(of outcome: Result<Void, any Error>) -> any Error {
    switch outcome {
    case .success: URLError(.badServerResponse)
    case .failure(let error): error
    }
  }
}

extension ResponseQueue.Delivery
where HeadWaiter == UnsafeContinuation<ResponseHead, any Error>, ChunkWaiter == UnsafeContinuation<Data?, any Error> {
  /// Resumes the waiting callers. Never called under a lock.
  func resume() {
    if let head { head.waiter.resume(with: head.result) }
    if let chunk { chunk.waiter.resume(with: chunk.result) }
  }
}

/// Decides when what has arrived of a body is passed on. Waking its consumer takes longer than receiving a record of TLS:
/// while a body arrives quickly, more of it is gathered first. A body that arrives slowly is not delayed.
struct DeliveryPace {
  /// As much is passed on at once.
  static let enough = 128 * 1024
  /// The rate of a body that arrives quickly: so many bytes in a period of so many nanoseconds.
  static let (fastCount, period) = (32 * 1024, 1_000_000 as UInt64)
  /// For how long what has arrived may wait, in nanoseconds.
  static let patience: UInt64 = 200_000

  private var periodBegin: UInt64 = 0
  private var countInPeriod = 0
  private var fastUntil: UInt64 = 0
  /// Until when the bytes wait that have arrived; `nil` if there are none.
  private var end: UInt64?

  /// Returns until when bytes that have arrived wait for more; `nil` if they are to be passed on now.
  mutating func wait(with count: Int, at now: UInt64) -> UInt64? {
    guard count > 0, count < Self.enough, now < fastUntil else { return nil }
    let end = end ?? now.addingClamped(Self.patience)
    self.end = end
    return now < end ? end : nil
  }

  /// Notes that bytes are passed on.
  mutating func delivered(_ count: Int, at now: UInt64) {
    end = nil
    if now >= periodBegin.addingClamped(Self.period) { (periodBegin, countInPeriod) = (now, 0) }
    countInPeriod += count
    if countInPeriod >= Self.fastCount { fastUntil = now.addingClamped(Self.period) }
  }
}

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
  private(set) var count = 0

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

  /// Receives bytes into the block itself, so that they need not be copied.
  ///
  /// - Parameters:
  ///   - limit: The maximum number of bytes to receive.
  ///   - receive: Receives into the rest of the block, and returns the number of bytes and a result.
  mutating func receive<Result>(
    upTo limit: Int, _ receive: (UnsafeMutableRawBufferPointer) -> (count: Int, result: Result)
  ) -> Result {
    if capacity - count < Self.size / 4 { grow(to: Self.size) }
    let space = UnsafeMutableRawBufferPointer(start: base.map { $0 + count }, count: min(limit, capacity - count))
    let received = receive(space)
    count += min(received.count, space.count)
    // A response that pauses must not retain a whole block meanwhile.
    if count == 0, let base {
      Self.release(base, capacity)
      (self.base, capacity) = (nil, 0)
    }
    return received.result
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
    // At the start of a page: the system copies to an address a little behind that of the source in its page at an eighth of
    // the speed on some processors, and malloc's large blocks begin 16 bytes behind a page.
    free.withLock { $0.popLast() } ?? .allocate(byteCount: capacity, alignment: 4096)
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
