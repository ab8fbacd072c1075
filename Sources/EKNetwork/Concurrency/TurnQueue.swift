import Dispatch

/// A lock for asynchronous callers, which get it in the order in which they asked for it. A value: its owner resumes what
/// it returns, outside of its own lock.
struct TurnQueue {
  typealias Turn = CheckedContinuation<Void, any Error>

  private(set) var isTaken = false
  private var waiters = WaiterQueue<Void>()

  var count: Int { waiters.count }

  mutating func takeFree() -> Bool {
    guard !isTaken else { return false }
    isTaken = true
    return true
  }

  /// Takes the turn, or waits for it in the queue; returns whether the caller has it now.
  mutating func take(_ turn: Turn, id: UInt64) -> Bool {
    if takeFree() { return true }
    waiters.append(turn, id: id)
    return false
  }

  /// Passes the turn on; returns the next caller, which has it now.
  mutating func passOn() -> Turn? {
    let next = waiters.popFirst()
    isTaken = next != nil
    return next
  }

  mutating func remove(_ id: UInt64) -> Turn? { waiters.remove(id) }

  /// Removes and returns all callers that wait. The one that has the turn keeps it.
  mutating func removeAll() -> [Turn] { waiters.removeAll() }
}

/// A first-in, first-out queue whose elements can be removed by their keys, each in constant time on average. No key is
/// used twice.
struct KeyedQueue<Key: Hashable, Element> {
  /// The keys in the order of arrival. Those of removed elements stay until they are half of all: moving all that follow
  /// for each one would be quadratic.
  private var order: [Key] = []
  /// The keys before it have been removed.
  private var start = 0
  private var elements: [Key: Element] = [:]

  var count: Int { elements.count }
  var isEmpty: Bool { elements.isEmpty }
  var first: Element? { start < order.count ? elements[order[start]] : nil }
  var all: [Element] { order[start...].compactMap { elements[$0] } }

  mutating func append(_ element: Element, id: Key) {
    order.append(id)
    elements[id] = element
  }

  @discardableResult mutating func popFirst() -> Element? { start < order.count ? remove(order[start]) : nil }

  @discardableResult mutating func remove(_ id: Key) -> Element? {
    guard let element = elements.removeValue(forKey: id) else { return nil }
    while start < order.count, elements[order[start]] == nil { start += 1 }
    if order.count > 32, elements.count * 2 < order.count {
      order = order[start...].filter { elements[$0] != nil }
      start = 0
    }
    return element
  }

  /// Changes an element where it is and returns it; `nil` if it is not in the queue.
  mutating func update(_ id: Key, _ change: (inout Element) -> Void) -> Element? {
    guard var element = elements[id] else { return nil }
    change(&element)
    elements[id] = element
    return element
  }

  mutating func removeAll() -> [Element] {
    defer { self = KeyedQueue() }
    return all
  }
}

extension KeyedQueue: Sendable where Key: Sendable, Element: Sendable {}

/// The callers that wait for something. Its owner resumes what it returns, outside of its lock.
typealias WaiterQueue<Value: Sendable> = KeyedQueue<UInt64, CheckedContinuation<Value, any Error>>

/// A serial queue for work that blocks on the disk, so that it does not block a thread of the cooperative pool.
struct BlockingQueue: Sendable {
  private let queue: DispatchQueue

  init(label: String) { queue = DispatchQueue(label: label) }

  /// Runs the work after that of earlier calls, and waits until it is done.
  func run<Success: Sendable, Failure: Error>(
    _ work: @escaping @Sendable () throws(Failure) -> Success
  ) async throws(Failure) -> Success {
    let result = await withUnsafeContinuation { (continuation: UnsafeContinuation<Result<Success, Failure>, Never>) in
      queue.async { continuation.resume(returning: Result(catching: work)) }
    }
    return try result.get()
  }

  /// Runs the work after that of earlier calls, and does not wait.
  func start(_ work: @escaping @Sendable () -> Void) { queue.async(execute: work) }

  /// Waits until the work of earlier calls is done, or until a time. Blocks the thread.
  func waitUntilDone(_ limit: DispatchTime) -> Bool {
    let isDone = DispatchSemaphore(value: 0)
    queue.async { isDone.signal() }
    return isDone.wait(timeout: limit) == .success
  }
}

/// An executor that runs a task or an actor on a dispatch queue of its own, whose thread may block: on the disk, or on
/// a task that must not depend on a thread of the cooperative pool, which has only one per processor and stalls when
/// all of them block.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
final class QueueExecutor: TaskExecutor, SerialExecutor {
  private let queue: DispatchQueue

  init(label: String) { queue = DispatchQueue(label: label) }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async {
      job.runSynchronously(isolatedTo: self.asUnownedSerialExecutor(), taskExecutor: self.asUnownedTaskExecutor())
    }
  }

  func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }
}
