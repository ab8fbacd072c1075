import Foundation

/// The state of one exchange on a task: its ``ResponseQueue``, a head that a challenge holds back, and the limit for unread
/// bytes. A value type: events go in, effects come out.
struct TaskResponseState<HeadWaiter, ChunkWaiter> {
  typealias Queue = ResponseQueue<HeadWaiter, ChunkWaiter>

  /// What to do when as much as the limit is waiting.
  enum Overflow: Sendable {
    /// The task is suspended until half of it has been read.
    case suspend
    /// More fails the exchange with `URLError.dataLengthExceedsMaximum`: there is no way to slow the server down.
    case fail
  }

  struct Effects {
    var delivery = Queue.Delivery()
    var cancelsTask = false
    /// Whether the exchange has ended; later events are ignored.
    var isOver = false
  }

  private let limit: Int
  private let overflow: Overflow
  private var queue = Queue()
  /// The response, published or held.
  private(set) var response: URLResponse?
  /// Whether the response is a challenge that may still be answered.
  private(set) var isHeadHeld = false
  private var rejectsChallenge = false
  private(set) var redirect = RedirectDecision.undecided
  private(set) var received: Int64 = 0
  private var read: Int64 = 0

  init(limit: Int, overflow: Overflow) {
    self.limit = limit
    self.overflow = overflow
    queue.highWater = overflow == .suspend ? limit : .max
  }

  var isOver: Bool { queue.isOver }
  /// Whether the task has to wait for the consumer.
  var isSuspended: Bool { queue.isPaused }

  // MARK: - From the task

  /// Handles a response head. One that is held is published if the exchange continues without the credentials that it
  /// demands.
  mutating func receive(_ response: URLResponse, holding: Bool) -> Effects {
    guard !isOver, self.response == nil else { return Effects() }
    self.response = response
    isHeadHeld = holding
    return holding
      ? Effects() : Effects(delivery: queue.deliver(head: ResponseHead(response), chunk: nil, outcome: nil))
  }

  mutating func receive(_ data: Data) -> Effects {
    guard !isOver, !data.isEmpty else { return Effects() }
    received += Int64(data.count)
    let delivery = queue.deliver(head: nil, chunk: data, outcome: nil)
    if delivery.chunk != nil { read = received }
    guard overflow == .fail, received - read > limit else { return Effects(delivery: delivery) }
    return fail(URLError(.dataLengthExceedsMaximum))
  }

  /// Discards what came with the challenge, because the user's credentials are sent.
  mutating func restart() {
    guard !isOver, isHeadHeld else { return }
    response = nil
    isHeadHeld = false
    queue.dropChunks()
    received = 0
  }

  /// Notes that the challenge was rejected: the cancellation that follows means that the 401 is the result.
  mutating func rejectChallenge() { rejectsChallenge = true }

  mutating func decide(_ decision: RedirectDecision) { redirect = decision }

  /// Handles the end of the task. `fallback` is the response of a task that never reported one.
  mutating func complete(_ error: (any Error)?, fallback: URLResponse?) -> Effects {
    guard !isOver else { return Effects() }
    var head = isHeadHeld ? response : nil
    if response == nil, error == nil {
      head = fallback
      response = fallback
    }
    isHeadHeld = false
    let outcome: Result<Void, any Error> =
      if response == nil {
        .failure(error ?? URLError(.badServerResponse))
      } else if let error, !rejectsChallenge {
        .failure(error)
      } else {
        .success(())
      }
    return Effects(
      delivery: queue.deliver(head: head.map { ResponseHead($0) }, chunk: nil, outcome: outcome), isOver: true)
  }

  // MARK: - From the consumer

  /// Ends the exchange from this side. What has not been read yet is dropped.
  mutating func fail(_ error: any Error) -> Effects { end(queue.cancel(because: error)) }

  /// Fails the exchange even if it has already ended, dropping what was received in time and has not been read.
  mutating func cancel() -> Effects {
    guard isOver else { return fail(CancellationError()) }
    queue.dropRest()
    return Effects()
  }

  /// Ends the exchange from this side. What has been received can still be read.
  mutating func stopReceiving() -> Effects { end(queue.cancel(keepsChunks: true)) }

  private mutating func end(_ delivery: Queue.Delivery?) -> Effects {
    guard let delivery else { return Effects() }
    isHeadHeld = false
    return Effects(delivery: delivery, cancelsTask: true, isOver: true)
  }

  /// Returns the head, or `nil` if the waiter is kept until there is one.
  mutating func waitForHead(_ waiter: HeadWaiter) -> Result<ResponseHead, any Error>? { queue.waitForHead(waiter) }

  /// Returns the next bytes, or `nil` if the waiter is kept until there are some.
  mutating func next(_ waiter: ChunkWaiter) -> Queue.Pull? {
    let pull = queue.next(waiter)
    if case .chunk(let data?, _) = pull { read += Int64(data.count) }
    return pull
  }
}
