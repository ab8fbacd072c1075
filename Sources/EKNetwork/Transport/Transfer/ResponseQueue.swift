import Foundation

/// A response head and a bounded queue of body chunks, between the wire, which writes, and a consumer, which reads.
///
/// A value type: the transfer holds it under a lock, passes events in, and acts on the results after releasing the
/// lock. It is generic over the waiters so that tests need no continuations.
struct ResponseQueue<HeadWaiter, ChunkWaiter> {
  /// The actions to take after something was received.
  struct Delivery {
    var head: (waiter: HeadWaiter, result: Result<ResponseHead, any Error>)?
    var chunk: (waiter: ChunkWaiter, result: Result<Data?, any Error>)?
    /// Whether the queue is full, so that reading from the wire has to stop.
    var pauses = false
  }

  /// The result of a consumer's request for a chunk.
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
  /// The amount that is allowed.
  var highWater = Self.highWater
  /// The size up to which waiting chunks are joined: if a server sends single bytes, each must not be kept as an object
  /// of its own.
  private static var joinedSize: Int { 64 * 1024 }

  private var head: ResponseHead?
  private var headWaiter: HeadWaiter?
  private var chunks: [Chunk] = []
  private var firstChunk = 0
  private var bufferedMemory = 0
  private var chunkWaiter: ChunkWaiter?
  private var outcome: Result<Void, any Error>?
  private var isPaused = false

  /// Whether further input will be ignored, because the exchange has ended or its consumer has left.
  var isOver: Bool { outcome != nil }

  // MARK: - From the wire

  /// - Parameter memory: The memory that the chunk retains; defaults to its size.
  mutating func deliver(
    head: ResponseHead?, chunk: Data?, memory: Int? = nil, outcome: Result<Void, any Error>?
  ) -> Delivery {
    var delivery = Delivery()
    guard !isOver else { return delivery }
    if let head {
      if let waiter = headWaiter {
        headWaiter = nil
        delivery.head = (waiter, .success(head))
      } else {
        self.head = head
      }
    }
    if let chunk {
      if let waiter = chunkWaiter {
        chunkWaiter = nil
        delivery.chunk = (waiter, .success(chunk))
      } else {
        keep(chunk, memory: memory ?? chunk.count)
      }
    }
    if let outcome {
      self.outcome = outcome
      if let waiter = headWaiter {
        headWaiter = nil
        delivery.head = (waiter, .failure(Self.error(of: outcome)))
      }
      if let waiter = chunkWaiter {
        chunkWaiter = nil
        delivery.chunk = (waiter, outcome.map { nil })
      }
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
    if let head {
      self.head = nil
      return .success(head)
    }
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

  /// Returns the next chunk, or `nil` if there is none yet.
  mutating func available() -> Pull? {
    if firstChunk < chunks.count {
      let chunk = chunks[firstChunk]
      chunks[firstChunk] = Chunk(data: Data(), memory: 0)
      firstChunk += 1
      if firstChunk == chunks.count {
        chunks.removeAll(keepingCapacity: true)
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

  /// Handles the consumer's leaving. Returns `nil` if the exchange is already over.
  mutating func cancel() -> Delivery? {
    guard !isOver else { return nil }
    var delivery = Delivery()
    outcome = .failure(CancellationError())
    if let waiter = headWaiter { delivery.head = (waiter, .failure(CancellationError())) }
    if let waiter = chunkWaiter { delivery.chunk = (waiter, .failure(CancellationError())) }
    headWaiter = nil
    chunkWaiter = nil
    head = nil
    chunks = []
    firstChunk = 0
    bufferedMemory = 0
    return delivery
  }

  private static func error(of outcome: Result<Void, any Error>) -> any Error {
    switch outcome {
    case .success: URLError(.badServerResponse)
    case .failure(let error): error
    }
  }
}
