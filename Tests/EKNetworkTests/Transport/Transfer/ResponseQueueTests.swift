import Testing

@testable import EKNetwork

struct ResponseQueueTests {
  private typealias Queue = ResponseQueue<String, String>

  private struct Failure: Error, Equatable {}

  private var head: ResponseHead {
    ResponseHead(HTTPURLResponse(url: URL(string: "http://x/")!, statusCode: 200, httpVersion: nil, headerFields: nil)!)
  }

  @Test func aHeadWaitsForItsConsumer() throws {
    var queue = Queue()
    #expect(queue.deliver(head: head, chunk: nil, outcome: nil).head == nil)
    #expect(try queue.waitForHead("a")?.get().statusCode == 200)
  }

  @Test func aConsumerWaitsForItsHead() throws {
    var queue = Queue()
    #expect(queue.waitForHead("a") == nil)
    let delivery = queue.deliver(head: head, chunk: nil, outcome: nil)
    #expect(delivery.head?.waiter == "a")
    #expect(try delivery.head?.result.get().statusCode == 200)
  }

  /// The loop handles the note that it may go on after that.
  @Test func aQueueThatIsFullAgainIsPaused() {
    var queue = Queue()
    let full = Data(count: Queue.highWater)
    #expect(queue.deliver(head: nil, chunk: full, outcome: nil).pauses && queue.isPaused)
    guard case .chunk(_, resumes: true) = queue.available() else { return #expect(Bool(false)) }
    #expect(!queue.isPaused)
    #expect(queue.deliver(head: nil, chunk: full, outcome: nil).pauses && queue.isPaused)
  }

  @Test func aConsumerThatHasWaitedReadsOn() {
    var queue = Queue()
    // One that did not wait does not.
    #expect(!queue.deliver(head: head, chunk: Data([1]), outcome: nil, holds: true).pauses)
    #expect(!queue.isHeld)
    _ = queue.available()
    #expect(queue.next("a") == nil)
    var hasHold = queue.takeHold()
    #expect(!hasHold)
    let delivery = queue.deliver(head: nil, chunk: Data([2]), outcome: nil, holds: true)
    #expect(delivery.pauses && delivery.chunk?.waiter == "a")
    #expect(queue.isHeld)
    hasHold = queue.takeHold()
    #expect(!hasHold)
    #expect(queue.next("a") == nil)
    hasHold = queue.takeHold()
    #expect(hasHold && !queue.isHeld)
    guard case .failure(let error) = queue.next("b") else { return #expect(Bool(false)) }
    hasHold = queue.takeHold()
    #expect(error is ConcurrentReadError && !hasHold)
  }

  @Test func anExchangeThatHasEndedIsNotReadOn() {
    var queue = Queue()
    #expect(queue.next("a") == nil)
    #expect(queue.deliver(head: nil, chunk: Data([1]), outcome: nil, holds: true).pauses)
    #expect(!queue.deliver(head: nil, chunk: nil, outcome: .failure(Failure()), holds: true).pauses)
    guard case .failure = queue.next("a") else { return #expect(Bool(false)) }
    let hasHold = queue.takeHold()
    #expect(!hasHold)
    // With its last bytes neither.
    var last = Queue()
    #expect(last.next("a") == nil)
    #expect(!last.deliver(head: nil, chunk: Data([1]), outcome: .success(()), holds: true).pauses)
    #expect(!last.isHeld)
  }

  @Test func chunksComeInOrderAndThenTheEnd() {
    var queue = Queue()
    let (one, two) = (Data(repeating: 1, count: 40_000), Data(repeating: 2, count: 40_000))
    _ = queue.deliver(head: head, chunk: one, outcome: nil)
    _ = queue.deliver(head: nil, chunk: two, outcome: .success(()))
    var seen: [Data?] = []
    for _ in 0..<4 {
      if case .chunk(let chunk, _) = queue.next("a") { seen.append(chunk) }
    }
    #expect(seen == [one, two, nil, nil])
  }

  @Test func chunksThatWereTakenLeaveNothingBehindALateConsumer() {
    var queue = Queue()
    func chunk(_ number: Int) -> Data { Data(repeating: UInt8(truncatingIfNeeded: number), count: 64 * 1024) }
    for number in 0..<2 { _ = queue.deliver(head: nil, chunk: chunk(number), outcome: nil) }
    for number in 0..<1_000 {
      guard case .chunk(let data?, _) = queue.available(), data == chunk(number) else {
        Issue.record("the chunk is lost")
        return
      }
      _ = queue.deliver(head: nil, chunk: chunk(number + 2), outcome: nil)
      guard queue.placeCount < 100 else { return #expect(Bool(false), "after \(number) chunks") }
    }
  }

  @Test func errorFollowsTheReceivedBytes() {
    var queue = Queue()
    _ = queue.deliver(head: head, chunk: Data([1]), outcome: nil)
    _ = queue.deliver(head: nil, chunk: nil, outcome: .failure(Failure()))
    guard case .chunk(Data([1]), _) = queue.next("a") else {
      Issue.record("the chunk is lost")
      return
    }
    guard case .failure(let error) = queue.next("a") else {
      Issue.record("the error is lost")
      return
    }
    #expect(error is Failure)
  }

  @Test func anErrorBeforeTheHeadReachesItsWaiter() {
    var queue = Queue()
    _ = queue.waitForHead("a")
    let delivery = queue.deliver(head: nil, chunk: nil, outcome: .failure(Failure()))
    #expect(delivery.head?.waiter == "a")
    #expect(throws: Failure.self) { try delivery.head?.result.get() }
  }

  @Test func aWaitingConsumerGetsTheNextChunkDirectly() throws {
    var queue = Queue()
    _ = queue.deliver(head: head, chunk: nil, outcome: nil)
    #expect(queue.next("b") == nil)
    let delivery = queue.deliver(head: nil, chunk: Data([7]), outcome: nil)
    #expect(delivery.chunk?.waiter == "b")
    #expect(try delivery.chunk?.result.get() == Data([7]))
    #expect(!delivery.pauses)
  }

  @Test func aFullQueuePausesOnceAndResumesAtHalf() {
    var queue = Queue()
    let half = Data(count: Queue.highWater / 2)
    #expect(!queue.deliver(head: head, chunk: half, outcome: nil).pauses)
    #expect(queue.deliver(head: nil, chunk: half, outcome: nil).pauses)
    #expect(!queue.deliver(head: nil, chunk: Data([1]), outcome: nil).pauses, "already paused")
    guard case .chunk(_, let first) = queue.next("a"), case .chunk(_, let second) = queue.next("a") else {
      Issue.record("chunks are missing")
      return
    }
    #expect(!first)
    #expect(second)
  }

  @Test func exactlyHalfIsEnoughToResume() {
    var queue = Queue()
    let half = Data(count: Queue.highWater / 2)
    _ = queue.deliver(head: head, chunk: half, outcome: nil)
    #expect(queue.deliver(head: nil, chunk: half, outcome: nil).pauses)
    guard case .chunk(_, let resumes) = queue.next("a") else {
      Issue.record("the chunk is missing")
      return
    }
    #expect(resumes)
  }

  @Test func limitCountsMemoryNotBytes() {
    var queue = Queue()
    #expect(!queue.deliver(head: head, chunk: Data(count: 70_000), memory: 300_000, outcome: nil).pauses)
    #expect(queue.deliver(head: nil, chunk: Data(count: 70_000), memory: 300_000, outcome: nil).pauses)
    guard case .chunk(_, let first) = queue.next("a"), case .chunk(_, let second) = queue.next("a") else {
      Issue.record("chunks are missing")
      return
    }
    #expect(!first)
    #expect(second)
  }

  @Test func waitingTinyChunksAreJoined() {
    var queue = Queue()
    for index in 0..<100_000 { _ = queue.deliver(head: nil, chunk: Data([UInt8(index & 0xFF)]), outcome: nil) }
    _ = queue.deliver(head: nil, chunk: nil, outcome: .success(()))
    var chunks: [Data] = []
    while case .chunk(let chunk?, _) = queue.next("a") { chunks.append(chunk) }
    #expect(chunks.map(\.count) == [64 * 1024, 100_000 - 64 * 1024])
    #expect(Data(chunks.joined()) == Data((0..<100_000).map { UInt8($0 & 0xFF) }))
  }

  @Test func joinedChunksCountWithTheirMemory() {
    var queue = Queue()
    var count = 0
    // Twice their bytes, since the buffer they are joined in grows by doubling.
    while count <= Queue.highWater, !queue.deliver(head: nil, chunk: Data([1]), outcome: nil).pauses { count += 1 }
    #expect(count + 1 == Queue.highWater / 2)
    var resumed = 0
    for _ in 1...4 {
      guard case .chunk(_, let resumes) = queue.next("a") else { break }
      if resumes { resumed += 1 }
    }
    #expect(resumed == 1)
  }

  @Test func secondReaderIsRefusedAndTheFirstContinues() throws {
    var queue = Queue()
    #expect(queue.next("first") == nil)
    guard case .failure(let error) = queue.next("second") else {
      Issue.record("both wait")
      return
    }
    #expect(error is ConcurrentReadError)
    #expect(queue.deliver(head: nil, chunk: Data([1]), outcome: nil).chunk?.waiter == "first")
  }

  @Test func cancellationReachesWaitersAndDropsTheRest() {
    var queue = Queue()
    _ = queue.waitForHead("a")
    let delivery = queue.cancel()
    #expect(delivery?.head?.waiter == "a")
    #expect(throws: CancellationError.self) { try delivery?.head?.result.get() }
    #expect(queue.isOver)
    #expect(queue.cancel() == nil, "only once")
    #expect(queue.deliver(head: head, chunk: Data([1]), outcome: .success(())).head == nil)
    guard case .failure(let error) = queue.next("b") else {
      Issue.record("cancelled, yet it goes on")
      return
    }
    #expect(error is CancellationError)
  }

  @Test func aReaderThatReadsOnGetsWhatHasArrived() {
    var queue = Queue()
    let full = Data(count: Queue.highWater)
    #expect(queue.deliver(head: nil, chunk: full, outcome: nil).pauses)
    #expect(queue.cancel(keepsChunks: true)?.chunk == nil)
    #expect(queue.isOver && queue.deliver(head: nil, chunk: Data([1]), outcome: nil).chunk == nil)
    guard case .chunk(full, resumes: false) = queue.next("a") else {
      Issue.record("the chunk is lost")
      return
    }
    guard case .failure(let error) = queue.next("b") else {
      Issue.record("cancelled, yet it goes on")
      return
    }
    #expect(error is CancellationError)
  }

  @Test func cancellationAfterTheEndChangesNothing() {
    var queue = Queue()
    _ = queue.deliver(head: head, chunk: Data([1]), outcome: .success(()))
    #expect(queue.cancel() == nil)
    guard case .chunk(Data([1]), _) = queue.next("a") else {
      Issue.record("the chunk is lost")
      return
    }
  }
}
