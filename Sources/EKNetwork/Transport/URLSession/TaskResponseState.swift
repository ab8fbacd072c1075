import Foundation

/// The state of one exchange: what it has received, and what is owed to the waiting caller. A value type: events go in,
/// effects come out.
struct TaskResponseState {
  /// The response head with the decision of the user's delegate about it.
  struct Head: Sendable {
    var response: URLResponse
    var redirect = RedirectDecision.undecided
  }

  /// What to do when more than `limit` bytes are waiting.
  enum Overflow: Sendable {
    /// The task is suspended until half of them have been read.
    case suspend
    /// The exchange fails with `URLError.dataLengthExceedsMaximum`: there is no way to slow the server down.
    case fail
  }

  struct Effects {
    var head: Result<Head, any Error>?
    var body: Result<Data?, any Error>?
    var suspendsTask = false
    var resumesTask = false
    var cancelsTask = false
    /// Whether the exchange has ended; later events are ignored.
    var isOver = false
  }

  /// The size up to which waiting chunks are combined into one.
  static let largestChunk = 256 * 1024

  private let limit: Int
  private let overflow: Overflow
  private var head: Head?
  /// Whether the head is a challenge that may still be answered.
  private(set) var isHeadHeld = false
  private var redirect = RedirectDecision.undecided
  private var chunks: [Data] = []
  private var taken = 0
  private var buffered = 0
  /// Whether the task has to wait for the consumer.
  private(set) var isSuspended = false
  private var ending: Result<Void, any Error>?
  private var rejectsChallenge = false
  private var headIsAwaited = false
  private var bodyIsAwaited = false
  private(set) var received: Int64 = 0

  init(limit: Int, overflow: Overflow) {
    self.limit = limit
    self.overflow = overflow
  }

  var isOver: Bool { ending != nil }
  /// The head, published or held.
  var response: URLResponse? { head?.response }

  /// Handles a response head. One that is held is published if the exchange continues without the credentials that it
  /// demands.
  mutating func receive(_ response: URLResponse, holding: Bool) -> Effects {
    guard ending == nil, head == nil else { return Effects() }
    head = Head(response: response, redirect: redirect)
    isHeadHeld = holding
    return publishHead()
  }

  mutating func receive(_ data: Data) -> Effects {
    guard ending == nil, !data.isEmpty else { return Effects() }
    received += Int64(data.count)
    if bodyIsAwaited, !isHeadHeld {
      bodyIsAwaited = false
      return Effects(body: .success(data))
    }
    chunks.append(data)
    buffered += data.count
    guard buffered > limit else { return Effects() }
    switch overflow {
    case .suspend:
      guard !isSuspended, !isHeadHeld else { return Effects() }
      isSuspended = true
      return Effects(suspendsTask: true)
    case .fail:
      return fail(URLError(.dataLengthExceedsMaximum))
    }
  }

  /// Discards what came with the challenge, because the user's credentials are sent.
  mutating func restart() {
    guard ending == nil, isHeadHeld else { return }
    head = nil
    isHeadHeld = false
    dropBuffer()
    received = 0
  }

  /// Notes that the challenge was rejected: the cancellation that follows means that the 401 is the result.
  mutating func rejectChallenge() { rejectsChallenge = true }

  mutating func decide(_ decision: RedirectDecision) { redirect = decision }

  /// Handles the end of the task. `fallback` is the response of a task that never reported one.
  mutating func complete(_ error: (any Error)?, fallback: URLResponse?) -> Effects {
    guard ending == nil else { return Effects() }
    if head == nil, error == nil, let fallback { head = Head(response: fallback, redirect: redirect) }
    isHeadHeld = false
    if let error, !(rejectsChallenge && head != nil) {
      ending = .failure(error)
    } else if head == nil {
      ending = .failure(URLError(.badServerResponse))
    } else {
      ending = .success(())
    }
    var effects = publishHead()
    effects.isOver = true
    if bodyIsAwaited { effects.body = pull().result }
    return effects
  }

  /// Ends the exchange from this side. What has not been read yet is dropped.
  mutating func fail(_ error: any Error) -> Effects {
    guard ending == nil else { return Effects() }
    ending = .failure(error)
    dropBuffer()
    isHeadHeld = false
    var effects = Effects(cancelsTask: true, isOver: true)
    if headIsAwaited { effects.head = .failure(error) }
    if bodyIsAwaited { effects.body = .failure(error) }
    return effects
  }

  /// Fails the exchange even if it has already ended, dropping what was received in time and has not been read.
  mutating func cancel() -> Effects {
    guard ending != nil else { return fail(CancellationError()) }
    ending = .failure(CancellationError())
    dropBuffer()
    return Effects()
  }

  /// Ends the exchange from this side. What has been received can still be read.
  mutating func stopReceiving() -> Effects {
    guard ending == nil else { return Effects() }
    ending = .failure(CancellationError())
    return Effects(body: bodyIsAwaited ? .failure(CancellationError()) : nil, cancelsTask: true, isOver: true)
  }

  /// Returns the head, or `nil` if the caller has to wait for it.
  mutating func awaitHead() -> Result<Head, any Error>? {
    if let head, !isHeadHeld { return .success(head) }
    if case .failure(let error) = ending { return .failure(error) }
    headIsAwaited = true
    return nil
  }

  /// Returns the next bytes, or `nil` if the caller has to wait for them.
  mutating func pull() -> (result: Result<Data?, any Error>?, effects: Effects) {
    if taken < chunks.count {
      let data = takeChunk()
      guard isSuspended, buffered <= limit / 2 else { return (.success(data), Effects()) }
      isSuspended = false
      return (.success(data), Effects(resumesTask: ending == nil))
    }
    switch ending {
    case .success: return (.success(nil), Effects())
    case .failure(let error): return (.failure(error), Effects())
    case nil: break
    }
    // Only one caller may wait at a time; a second one must not make the first wait for ever.
    guard !bodyIsAwaited else { return (.failure(ConcurrentReadError()), Effects()) }
    bodyIsAwaited = true
    return (nil, Effects())
  }

  private mutating func publishHead() -> Effects {
    guard headIsAwaited, !isHeadHeld else { return Effects() }
    if let head {
      headIsAwaited = false
      return Effects(head: .success(head))
    }
    guard case .failure(let error) = ending else { return Effects() }
    return Effects(head: .failure(error))
  }

  private mutating func takeChunk() -> Data {
    var data = chunks[taken]
    chunks[taken] = Data()
    taken += 1
    while taken < chunks.count, data.count + chunks[taken].count <= Self.largestChunk {
      data.append(chunks[taken])
      chunks[taken] = Data()
      taken += 1
    }
    // A consumer that is always slightly behind must not let the list of taken chunks grow without bound.
    if taken == chunks.count || taken > 1_024 {
      chunks.removeFirst(taken)
      taken = 0
    }
    buffered -= data.count
    return data
  }

  private mutating func dropBuffer() {
    chunks = []
    taken = 0
    buffered = 0
  }
}
