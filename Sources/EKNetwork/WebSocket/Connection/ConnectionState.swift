import Foundation

/// The state of a connection: its queue, its waiting tasks, and how it ended. A value type: each method returns what to
/// do.
struct ConnectionState {
  typealias Receiver = CheckedContinuation<WebSocketMessage?, any Error>

  /// How the sequence of messages ends: with `nil`, or with an error.
  struct Outcome {
    var code: WebSocketCloseCode
    var reason: String
    var error: WebSocketError?
  }

  let capacity: Int
  let byteCapacity: Int
  private(set) var outcome: Outcome?
  /// What the close frame says that was sent, or follows the message that is being sent; nothing is sent after it.
  private var ownClose: (code: WebSocketCloseCode, reason: String)?
  private(set) var isOver = false
  private var queue = MessageQueue()
  var receivers = WaiterQueue<WebSocketMessage?>()
  private var reader: CheckedContinuation<Void, Never>?
  var ahead = ReadAheadState()
  var turns = TurnQueue()
  var pings = PingQueue()
  /// The callers of ``WebSocket/close(code:reason:)``, which wait for the end of the connection.
  private var closers: [CheckedContinuation<Void, Never>] = []
  private var closeTimer: Task<Void, Never>?
  var pendingPongs = 0
  /// Whether a ping of the keep-alive has been passed to the transport, and the system has not accepted it.
  var isKeepAlivePingPending = false
  /// The number of successful reads.
  var received = 0
  /// The number of bytes of message frames that the system has accepted.
  var sent = 0
  /// Why this side gave the connection up.
  var lossReason: WebSocketError?
  /// The close frame to send after the message that is being sent.
  private var closeFrame: [UInt8]?
  private var lastID: UInt64 = 0

  init(capacity: Int, byteCapacity: Int) {
    self.capacity = max(1, capacity)
    self.byteCapacity = max(1, byteCapacity)
  }

  mutating func makeID() -> UInt64 { lastID.increment() }

  var isClosing: Bool { ownClose != nil }

  var isReaderHeld: Bool { reader != nil }

  /// Whether nothing is being read: the queue is full, and reading ahead has stopped.
  var isReadingStopped: Bool { isReaderHeld && !ahead.isReading }

  enum Delivery {
    case handOver(Receiver)
    case kept
    /// The queue is full: read nothing more until ``awaitRoom(_:unscanned:)`` resumes.
    case keptAndFull
    case dropped
  }

  mutating func deliver(_ message: WebSocketMessage) -> Delivery {
    if let receiver = receivers.popFirst() { return .handOver(receiver) }
    // A caller that closes has stopped reading: messages that do not fit are dropped, so that the peer's close frame
    // can be read. Once the outcome is set, nobody can read another message.
    if outcome != nil || isClosing && isFull { return .dropped }
    queue.append(message)
    return isFull && !isClosing ? .keptAndFull : .kept
  }

  private var isFull: Bool { queue.count >= capacity || queue.cost >= byteCapacity }

  /// Makes the reader wait for room and returns what to do meanwhile; `nil` if there is room already.
  mutating func awaitRoom(
    _ continuation: CheckedContinuation<Void, Never>, unscanned: ArraySlice<UInt8>?
  ) -> (controls: [ControlScanner.Control], beginsToRead: Bool)? {
    guard isFull, !isClosing, !isOver else { return nil }
    reader = continuation
    return ahead.hold(unscanned)
  }

  /// Adds a caller that waits for the pong of its ping; returns whether to send it now, and `nil` if no pong can arrive.
  mutating func addPing(_ payload: Data, _ waiter: PingQueue.Waiter) -> Bool? {
    guard outcome == nil, !isClosing, !ahead.isAtEnd else { return nil }
    return pings.add(payload, waiter)
  }

  /// Removes and returns the pings whose pong can no longer arrive, when those that have arrived were removed.
  mutating func takeLostPings() -> [PingQueue.Waiter] { ahead.isAtEnd ? pings.removeAll() : [] }

  /// Returns the next message, and the reader to resume as there is room for it.
  mutating func receive(
    id: UInt64, _ receiver: Receiver
  ) -> (WaitOutcome<WebSocketMessage?>, reader: CheckedContinuation<Void, Never>?) {
    if let (message, reader) = takeMessage() { return (.now(message), reader) }
    if let outcome { return (outcome.error.map { .fail($0) } ?? .now(nil), nil) }
    receivers.append(receiver, id: id)
    return (.wait, nil)
  }

  mutating func takeMessage() -> (WebSocketMessage, reader: CheckedContinuation<Void, Never>?)? {
    guard let message = queue.popFirst() else { return nil }
    // The reader is not resumed for every message: it and the receiver would alternate, with a task switch each time.
    return (message, queue.count <= capacity / 2 && queue.cost <= byteCapacity / 2 ? reader.take() : nil)
  }

  /// Why nothing can be sent. There is no outcome yet while received messages are still to be read.
  var sendError: WebSocketError {
    if let outcome { return outcome.error ?? .closed(code: outcome.code, reason: outcome.reason) }
    if let ownClose { return .closed(code: ownClose.code, reason: ownClose.reason) }
    return lossReason ?? .connectionLost(reason: "The connection can no longer be used")
  }

  mutating func takeTurn(id: UInt64, _ turn: CheckedContinuation<Void, any Error>) -> WaitOutcome<Void> {
    guard !isClosing, outcome == nil else { return .fail(sendError) }
    return turns.take(turn, id: id) ? .now(()) : .wait
  }

  mutating func takeFreeTurn() -> Bool { !isClosing && outcome == nil && turns.takeFree() }

  /// Whether a message is being sent that the system has not accepted completely.
  var isSending: Bool { turns.isTaken }

  /// Ends a turn; returns the close frame to send now, and the next sender.
  mutating func endTurn() -> (closeFrame: [UInt8]?, next: CheckedContinuation<Void, any Error>?) {
    (closeFrame.take(), turns.passOn())
  }

  struct Closing {
    let isFirst: Bool
    var frame: [UInt8]?
    var reader: CheckedContinuation<Void, Never>?
    var waiting = Waiting()
  }

  /// Starts closing after the message that is being sent. Callers that wait for their turn can no longer send.
  ///
  /// - Parameter frame: The close frame; only the first one is sent.
  mutating func close(_ frame: [UInt8], code: WebSocketCloseCode, reason: String = "") -> Closing {
    var closing = beginClosing(frame, code, reason, afterMessage: true)
    if closing.isFirst { closing.waiting = Waiting(turns: turns.removeAll(), sendError: sendError) }
    return closing
  }

  /// - Parameter afterMessage: Whether to finish the message that is being sent first. A peer that has sent a close frame
  ///   or violated the protocol does not accept the rest of it.
  private mutating func beginClosing(
    _ frame: [UInt8], _ code: WebSocketCloseCode, _ reason: String, afterMessage: Bool
  ) -> Closing {
    let isFirst = !isClosing && outcome == nil && !isOver
    ownClose = ownClose ?? (code, reason)
    if isFirst { closeFrame = frame }
    let frame = afterMessage && turns.isTaken ? nil : closeFrame.take()
    return Closing(isFirst: isFirst, frame: frame, reader: reader.take())
  }

  /// Starts closing because the peer did, or because it violated the protocol, and sets the outcome in the same step:
  /// a caller that can no longer send gets the peer's code and reason (RFC 6455 §7.1.5).
  mutating func closeAtOnce(_ frame: [UInt8], _ outcome: Outcome) -> Closing {
    var outcome = outcome
    // What follows this side's close frame is no error: neither a response with any code, nor a message that is too big.
    if isClosing { outcome.error = nil }
    var closing = beginClosing(frame, outcome.code, outcome.reason, afterMessage: false)
    closing.waiting = end(outcome)
    return closing
  }

  /// Starts closing because nobody reads any more: the sequence of messages ends now, and not with the connection.
  mutating func discard(_ frame: [UInt8], code: WebSocketCloseCode) -> Closing {
    var closing = beginClosing(frame, code, "", afterMessage: true)
    closing.waiting = end(Outcome(code: code, reason: ""))
    queue = MessageQueue()
    return closing
  }

  /// The callers to resume when the messages, or the connection, have ended.
  struct Waiting {
    var receivers: [Receiver] = []
    /// Why the sequence of messages has ended; `nil` after a clean close.
    var receiveError: (any Error)?
    var turns: [CheckedContinuation<Void, any Error>] = []
    var pings: [PingQueue.Waiter] = []
    var sendError: any Error = WebSocketError.connectionLost(reason: "")
    var closers: [CheckedContinuation<Void, Never>] = []
    var closeTimer: Task<Void, Never>?

    func resume() {
      for receiver in receivers {
        if let receiveError { receiver.resume(throwing: receiveError) } else { receiver.resume(returning: nil) }
      }
      for turn in turns { turn.resume(throwing: sendError) }
      for ping in pings { ping.resume(throwing: sendError) }
      for closer in closers { closer.resume() }
      closeTimer?.cancel()
    }
  }

  mutating func end(_ outcome: Outcome) -> Waiting {
    guard self.outcome == nil else { return Waiting() }
    self.outcome = outcome
    return Waiting(
      receivers: receivers.removeAll(), receiveError: outcome.error, turns: turns.removeAll(),
      pings: pings.removeAll(), sendError: sendError)
  }

  mutating func finish() -> (Waiting, reader: CheckedContinuation<Void, Never>?) {
    isOver = true
    return (Waiting(closers: exchange(&closers, with: []), closeTimer: closeTimer.take()), reader.take())
  }

  /// Stores a continuation to resume at the end; returns false if the connection has ended already.
  mutating func awaitEnd(_ closer: CheckedContinuation<Void, Never>) -> Bool {
    guard !isOver else { return false }
    closers.append(closer)
    return true
  }

  /// Stores the timer that limits closing, to be cancelled at the end; returns false if the connection has ended already.
  mutating func keep(closeTimer timer: Task<Void, Never>) -> Bool {
    guard !isOver else { return false }
    closeTimer = timer
    return true
  }
}

/// What becomes of a caller that may have to wait.
enum WaitOutcome<Value: Sendable> {
  case now(Value)
  case wait
  case fail(any Error)

  /// Resumes the caller unless it has to wait; returns whether it has to.
  func resume(_ caller: CheckedContinuation<Value, any Error>) -> Bool {
    switch self {
    case .now(let value): caller.resume(returning: value)
    case .fail(let error): caller.resume(throwing: error)
    case .wait: return true
    }
    return false
  }
}

/// Decides at each interval whether a peer is alive. It is if bytes are received, or if it takes more of what waits to be
/// sent. That the system accepts bytes proves nothing: until its buffer is full, it accepts them for a dead peer as well.
/// The first interval has none before it to compare with: a peer that is silent from the start is pinged after two
/// intervals and given up after three.
struct KeepAliveState {
  enum Action { case wait, ping, end }

  /// The counts after the last interval.
  private var last: (received: Int?, sent: Int, unsent: Int, confirmed: UInt64?) = (nil, 0, 0, nil)
  private var isPinged = false

  /// Returns what to do after an interval.
  ///
  /// - Parameters:
  ///   - confirmed: The number of bytes that have arrived; `nil` if that is unknown. It includes what TLS adds to messages,
  ///     so that it cannot be compared with `sent`.
  ///   - isSending: Whether the system has accepted only a part of a message: its buffer is full, so that what it accepts
  ///     takes the place of what the peer has taken.
  ///   - isHeld: Whether nothing is read because the queue is full: the silence says nothing about the peer then.
  mutating func tick(
    received: Int, sent: Int, unsent: Int, confirmed: UInt64? = nil, isSending: Bool, isHeld: Bool
  ) -> Action {
    // A peer that takes all at once does so in its system, and says nothing about itself: a ping shows whether it lives.
    let isBehind = isSending || unsent > 0
    let old = exchange(&last, with: (received, sent, unsent, confirmed))
    let hasTakenMore =
      if let confirmed { confirmed > old.confirmed ?? 0 } else { sent - unsent > old.sent - old.unsent }
    let hasTaken = unsent < old.unsent || isBehind && hasTakenMore
    if received != old.received || hasTaken || isHeld {
      isPinged = false
      return .wait
    }
    if isPinged { return .end }
    isPinged = true
    return .ping
  }
}

/// The pings that wait for their pongs. A value: each method returns what to do.
///
/// What was passed to the transport cannot be taken back, so one frame at a time is: a ping that is cancelled before its
/// turn is never sent, however long the peer does not read.
struct PingQueue {
  typealias Waiter = CheckedContinuation<Void, any Error>

  private var waiters: [Data: Waiter] = [:]
  /// The payloads of the pings that have not been sent, in order.
  private var unsent = KeyedQueue<Data, Data>()
  private var isSending = false

  var count: Int { waiters.count }

  /// Returns whether to send the ping now.
  mutating func add(_ payload: Data, _ waiter: Waiter) -> Bool {
    waiters[payload] = waiter
    guard isSending else {
      isSending = true
      return true
    }
    unsent.append(payload, id: payload)
    return false
  }

  /// Handles a frame that the system has accepted; returns the payload of the next ping to send.
  mutating func sent() -> Data? {
    let next = unsent.popFirst()
    isSending = next != nil
    return next
  }

  /// Handles a frame that could not be sent, after which none can be; returns the pings that will get no pong.
  mutating func failed(_ payload: Data) -> [Waiter] {
    isSending = false
    return ([payload] + unsent.removeAll()).compactMap { waiters.removeValue(forKey: $0) }
  }

  /// Handles a pong; returns the ping with its payload, if that waits.
  mutating func answered(_ payload: Data) -> Waiter? { waiters.removeValue(forKey: payload) }

  /// Removes and returns a ping that was cancelled, if it still waits.
  mutating func cancelled(_ payload: Data) -> Waiter? {
    unsent.remove(payload)
    return waiters.removeValue(forKey: payload)
  }

  mutating func removeAll() -> [Waiter] {
    defer { (waiters, unsent) = ([:], KeyedQueue()) }
    return Array(waiters.values)
  }
}
