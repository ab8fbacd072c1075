import Foundation

/// The state of a ``ReconnectingConnection`` across its connections: the senders, the readers and the pending messages.
/// A value type: each method returns what to resume.
struct ReconnectingConnectionState {
  typealias Receiver = CheckedContinuation<WebSocketMessage?, any Error>
  typealias Turn = CheckedContinuation<Void, any Error>
  typealias LinkWaiter = CheckedContinuation<WebSocket, any Error>
  /// What waits until a message is delivered, and then reads on or, without room for the message, gives the connection up.
  typealias Deliverer = CheckedContinuation<Bool, Never>

  private enum Phase {
    case running
    case closing
    case over((any Error)?)
  }

  /// The total cost of kept messages from which no further one of a lost connection is kept.
  private static let maximumKept = 16 << 20

  private let maximumCount: Int
  private let maximumBytes: Int
  private var phase = Phase.running
  /// What this side closes with, or the server has.
  private var ownClose = (code: WebSocketCloseCode.normalClosure, reason: "")
  private var link: WebSocket?
  private var linkWaiter: LinkWaiter?
  private var pendingCount = 0
  private var pendingBytes = 0
  var turns = TurnQueue()
  /// The messages that nobody has read yet: those of lost connections, and one of the open connection, whose deliverer
  /// waits.
  private var parked = MessageQueue()
  private var deliverer: Deliverer?
  var receivers = WaiterQueue<WebSocketMessage?>()
  private var lastID: UInt64 = 0
  var driver: Task<Void, Never>?

  init(maximumCount: Int, maximumBytes: Int) {
    self.maximumCount = max(1, maximumCount)
    self.maximumBytes = max(0, maximumBytes)
  }

  mutating func makeID() -> UInt64 { lastID.increment() }

  var isRunning: Bool { if case .running = phase { true } else { false } }

  /// Stores a connection that has opened; if none is wanted any more, returns what to close it with.
  mutating func open(_ socket: WebSocket) -> (code: WebSocketCloseCode, reason: String)? {
    guard isRunning else { return ownClose }
    link = socket
    return nil
  }

  /// Removes a connection that accepts no more messages. The caller still holds a reference, so that it is not released
  /// in here.
  ///
  /// - Returns: The deliverer to resume. Its message is kept: the reader may be what sends, and so would wait for the next
  ///   connection, which the deliverer would not open before its message is read. Once too many are kept, it waits.
  mutating func drop(_ socket: WebSocket) -> Deliverer? {
    guard link === socket else { return nil }
    link = nil
    return keepsMore ? deliverer.take() : nil
  }

  private var keepsMore: Bool { parked.cost < Self.maximumKept }

  /// Reserves room for a message until ``leave(_:)``; returns false if there is none.
  mutating func enter(_ size: Int) -> Bool {
    guard pendingCount == 0 || pendingCount < maximumCount && size <= maximumBytes - pendingBytes else { return false }
    pendingCount += 1
    pendingBytes += size
    return true
  }

  mutating func leave(_ size: Int) {
    pendingCount -= 1
    pendingBytes -= size
  }

  /// Gives the turn to one sender at a time, which keeps it when a connection is lost, so that the order is preserved.
  mutating func takeTurn(_ id: UInt64, _ turn: Turn) -> WaitOutcome<Void> {
    guard isRunning else { return .fail(sendError) }
    return turns.take(turn, id: id) ? .now(()) : .wait
  }

  /// Returns the connection to send on, for the sender that has the turn.
  mutating func awaitLink(_ waiter: LinkWaiter) -> WaitOutcome<WebSocket> {
    guard isRunning else { return .fail(sendError) }
    if let link { return .now(link) }
    linkWaiter = waiter
    return .wait
  }

  mutating func takeLinkWaiter() -> LinkWaiter? { linkWaiter.take() }

  private var sendError: any Error {
    if case .over(let error?) = phase { return error }
    return WebSocketError.closed(code: ownClose.code, reason: ownClose.reason)
  }

  enum Delivery {
    case handOver(Receiver)
    /// Resume the deliverer: the message is kept, or dropped because nothing reads any more, or because too many of lost
    /// connections are kept already.
    case done(hasRoom: Bool)
    case wait
  }

  mutating func deliver(_ message: WebSocketMessage, _ deliverer: Deliverer) -> Delivery {
    if let receiver = receivers.popFirst() { return .handOver(receiver) }
    guard isRunning else {
      if parked.isEmpty { parked.append(message) }
      return .done(hasRoom: true)
    }
    guard link == nil else {
      parked.append(message)
      self.deliverer = deliverer
      return .wait
    }
    // The connection has been dropped. It receives nothing new, so that little is left of it.
    guard keepsMore else { return .done(hasRoom: false) }
    parked.append(message)
    return .done(hasRoom: true)
  }

  /// Returns the next message, and its deliverer to resume.
  mutating func receive(
    _ id: UInt64, _ receiver: Receiver
  ) -> (WaitOutcome<WebSocketMessage?>, deliverer: Deliverer?) {
    if let message = parked.popFirst() { return (.now(message), parked.isEmpty ? deliverer.take() : nil) }
    if case .over(let error) = phase { return (error.map { .fail($0) } ?? .now(nil), nil) }
    receivers.append(receiver, id: id)
    return (.wait, nil)
  }

  /// The continuations to resume and the connection to close, outside of the lock.
  struct Ending {
    var link: WebSocket?
    var driver: Task<Void, Never>?
    fileprivate var linkWaiter: LinkWaiter?
    fileprivate var deliverer: Deliverer?
    fileprivate var waiting = ConnectionState.Waiting()

    func resume() {
      deliverer?.resume(returning: true)
      linkWaiter?.resume(throwing: waiting.sendError)
      waiting.resume()
    }
  }

  /// Closes this side: waiting senders get the error, readers wait for the end.
  mutating func close(_ code: WebSocketCloseCode, _ reason: String = "") -> Ending {
    var ending = Ending(link: link, driver: driver)
    guard isRunning else { return ending }
    phase = .closing
    ownClose = (code, reason)
    ending.waiting = ConnectionState.Waiting(turns: turns.removeAll(), sendError: sendError)
    ending.linkWaiter = linkWaiter.take()
    ending.deliverer = deliverer.take()
    let first = parked.popFirst()
    parked = MessageQueue()
    if let first { parked.append(first) }
    return ending
  }

  /// Ends after the last connection, with the error for the readers.
  mutating func finish(_ error: (any Error)?) -> Ending {
    var ending = Ending(link: link)
    phase = .over(error)
    ending.waiting = ConnectionState.Waiting(
      receivers: receivers.removeAll(), receiveError: error, turns: turns.removeAll(), sendError: sendError)
    ending.linkWaiter = linkWaiter.take()
    link = nil
    return ending
  }
}

/// Decides after each lost connection whether and when to reconnect.
struct ReconnectRetryState {
  enum Action {
    case retry(after: Duration)
    /// Stops reconnecting: `nil` for a clean end, otherwise the error.
    case stop((any Error)?)
  }

  /// With less, a server that refuses connections at once would keep a processor busy.
  private static let shortestDelay = Duration.milliseconds(100)

  private let policy: WebSocketReconnectPolicy
  private let backoff: RetryBackoff
  private var failures = 0
  private var hasConnected = false

  init(policy: WebSocketReconnectPolicy) {
    var policy = policy
    policy.maximumDelay = max(policy.maximumDelay, Self.shortestDelay).sleepable
    policy.maximumFailures = policy.maximumFailures.map { max(0, $0) }
    self.policy = policy
    backoff = .exponential(
      base: max(policy.initialDelay, Self.shortestDelay).timeInterval, maximum: policy.maximumDelay.timeInterval,
      jitter: 0.5)
  }

  /// Resets the failures, because a message has arrived.
  mutating func received() { failures = 0 }

  /// Returns what to do after a connection has ended or could not be opened.
  ///
  /// - Parameters:
  ///   - lasted: How long the connection was open; `nil` if it never was.
  ///   - now: The date that a date in `Retry-After` is compared with.
  mutating func lost(because error: any Error, after lasted: Duration? = nil, now: Date) -> Action {
    if lasted != nil { hasConnected = true }
    if let stop = stop(because: error) { return stop }
    // An idle connection receives no message, and yet a server that accepts connections and drops them at once must not
    // be hammered.
    if let lasted, lasted >= policy.maximumDelay { failures = 0 }
    failures += 1
    if let maximum = policy.maximumFailures, failures > maximum { return .stop(error) }
    let own = max(Self.shortestDelay, backoff.delay(beforeRetry: failures - 1, after: error, random: policy.random))
    return .retry(after: max(own, min(RetryAfter.delay(in: error, now: now) ?? .zero, policy.maximumDelay)))
  }

  /// Returns how the attempts end with an error; `nil` if another one may succeed.
  private func stop(because error: any Error) -> Action? {
    switch error as? WebSocketError {
    case .closed(.normalClosure, _)? where policy.finalCodes.contains(.normalClosure): return .stop(nil)
    case .closed(let code, _)?, .protocolViolation(let code, _)?:
      return policy.finalCodes.contains(code) ? .stop(error) : nil
    default: break
    }
    // A handshake is a GET.
    let repeatability = Repeatability(after: error, isIdempotent: true)
    switch repeatability.kind {
    case _ where repeatability.isForbidden: return .stop(error)
    case .temporary, .serverError, .refused: return nil
    case .unclear where hasConnected && FailureKind.isTemporaryOnceConnected(error): return nil
    default: return .stop(error)
    }
  }
}
