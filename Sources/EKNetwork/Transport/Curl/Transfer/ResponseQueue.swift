import Foundation

/// What lies between the wire, which pushes, and a consumer, which pulls: a response head and a bounded queue of body
/// chunks.
///
/// A value: the transfer holds it under a lock, passes events in, and acts on what comes out after the lock is free.
/// Generic over the waiters so that tests need no continuations.
struct ResponseQueue<HeadWaiter, ChunkWaiter> {
  /// What to do after something arrived from the wire.
  struct Delivery {
    var head: (waiter: HeadWaiter, result: Result<ResponseHead, any Error>)?
    var chunk: (waiter: ChunkWaiter, result: Result<Data?, any Error>)?
    /// The queue is full: stop reading from the wire.
    var pauses = false
  }

  /// What a consumer gets when it asks for a chunk.
  enum Pull {
    case chunk(Data?, resumes: Bool)
    case failure(any Error)
    case wait
  }

  private struct Chunk {
    var data: Data
    /// What it holds in memory, which is more than its bytes where a block is not full.
    var memory: Int
  }

  /// Reading from the wire stops when this much memory is held by what waits, and goes on when half of it is free.
  static var highWater: Int { 512 * 1024 }
  /// Chunks that wait are joined up to that many bytes: a server that sends byte by byte must not have each of them
  /// kept as an object of its own.
  private static var joinedSize: Int { 64 * 1024 }

  private var head: ResponseHead?
  private var headWaiter: HeadWaiter?
  private var chunks: [Chunk] = []
  private var firstChunk = 0
  private var bufferedMemory = 0
  private var chunkWaiter: ChunkWaiter?
  private var outcome: Result<Void, any Error>?
  private var isPaused = false

  /// Whether nothing that arrives will be used: the exchange has ended, or its consumer has left.
  var isOver: Bool { outcome != nil }

  // MARK: - From the wire

  /// - Parameter memory: What the chunk holds in memory; its bytes, if nothing is said.
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
    } else if bufferedMemory >= Self.highWater, !isPaused {
      isPaused = true
      delivery.pauses = true
    }
    return delivery
  }

  private mutating func keep(_ data: Data, memory: Int) {
    if firstChunk < chunks.count, chunks[chunks.count - 1].data.count + data.count <= Self.joinedSize {
      chunks[chunks.count - 1].data.append(data)
      // It grows by doubling.
      let grown = 2 * chunks[chunks.count - 1].data.count
      bufferedMemory += grown - chunks[chunks.count - 1].memory
      chunks[chunks.count - 1].memory = grown
    } else {
      chunks.append(Chunk(data: data, memory: memory))
      bufferedMemory += memory
    }
  }

  // MARK: - From the consumer

  /// `nil`: the waiter is kept until the head arrives.
  mutating func waitForHead(_ waiter: HeadWaiter) -> Result<ResponseHead, any Error>? {
    if let head {
      self.head = nil
      return .success(head)
    }
    if let outcome { return .failure(Self.error(of: outcome)) }
    headWaiter = waiter
    return nil
  }

  mutating func next(_ waiter: ChunkWaiter) -> Pull {
    if firstChunk < chunks.count {
      let chunk = chunks[firstChunk]
      chunks[firstChunk] = Chunk(data: Data(), memory: 0)
      firstChunk += 1
      if firstChunk == chunks.count {
        chunks.removeAll(keepingCapacity: true)
        firstChunk = 0
      }
      bufferedMemory -= chunk.memory
      let resumes = isPaused && bufferedMemory <= Self.highWater / 2
      if resumes { isPaused = false }
      return .chunk(chunk.data, resumes: resumes)
    }
    switch outcome {
    case .success: return .chunk(nil, resumes: false)
    case .failure(let error): return .failure(error)
    case nil:
      // One caller at a time is the contract; a second one must not make the first wait for ever.
      guard chunkWaiter == nil else { return .failure(ConcurrentReadError()) }
      chunkWaiter = waiter
      return .wait
    }
  }

  /// The consumer has left. `nil` when the exchange is over already.
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
