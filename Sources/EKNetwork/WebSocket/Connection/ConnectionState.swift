import Foundation

/// What a connection knows: its queue, who waits for what, and how it ended. A value: each method says what to do.
struct ConnectionState {
  typealias Receiver = CheckedContinuation<WebSocketMessage?, any Error>

  /// How the messages end: with `nil`, or with an error.
  struct Outcome {
    var code: WebSocketCloseCode
    var reason: String
    var error: WebSocketError?
  }

  let capacity: Int
  private(set) var outcome: Outcome?
  /// Whether a close frame was sent, after which nothing else is.
  private(set) var isClosing = false
  private(set) var isOver = false
  private var queue: [WebSocketMessage] = []
  private var receivers = WaiterQueue<WebSocketMessage?>()
  private var reader: CheckedContinuation<Void, Never>?
  private var turnTaken = false
  private var turns = WaiterQueue<Void>()
  var pings: [Data: CheckedContinuation<Void, any Error>] = [:]
  private var endings: [CheckedContinuation<Void, Never>] = []
  var pendingControls = 0
  /// How many times something was received.
  var activity = 0
  private var lastID: UInt64 = 0

  init(capacity: Int) { self.capacity = max(1, capacity) }

  mutating func makeID() -> UInt64 {
    lastID += 1
    return lastID
  }

  var isReaderHeld: Bool { reader != nil }

  // MARK: - Receiving

  enum Delivery {
    case handOver(Receiver)
    case kept
    /// The queue is full: read nothing more until ``awaitRoom(_:)`` resumes.
    case keptAndFull
    case dropped
  }

  mutating func deliver(_ message: WebSocketMessage) -> Delivery {
    if let receiver = receivers.popFirst() { return .handOver(receiver) }
    // Who closes has stopped listening: what no longer fits is let go, so that the peer's close frame can be read.
    if isClosing, queue.count >= capacity { return .dropped }
    queue.append(message)
    return queue.count >= capacity && !isClosing ? .keptAndFull : .kept
  }

  /// False when there is room already.
  mutating func awaitRoom(_ continuation: CheckedContinuation<Void, Never>) -> Bool {
    guard queue.count >= capacity, !isClosing, !isOver else { return false }
    reader = continuation
    return true
  }

  enum Reception {
    case message(WebSocketMessage, reader: CheckedContinuation<Void, Never>?)
    case end(WebSocketError?)
    case wait
  }

  mutating func receive(id: UInt64, _ receiver: Receiver) -> Reception {
    if let (message, reader) = takeMessage() { return .message(message, reader: reader) }
    if let outcome { return .end(outcome.error) }
    receivers.append(receiver, id: id)
    return .wait
  }

  /// What nobody has to wait for.
  mutating func takeMessage() -> (WebSocketMessage, reader: CheckedContinuation<Void, Never>?)? {
    guard !queue.isEmpty else { return nil }
    let message = queue.removeFirst()
    // Not for every message: the reader and the receiver would take turns, and each turn is a switch of tasks.
    return (message, queue.count <= capacity / 2 ? takeReader() : nil)
  }

  mutating func removeReceiver(_ id: UInt64) -> Receiver? { receivers.remove(id) }

  private mutating func takeReader() -> CheckedContinuation<Void, Never>? {
    defer { reader = nil }
    return reader
  }

  // MARK: - Sending

  /// Whether the turn is the caller's at once; `nil` when nothing may be sent any more.
  mutating func takeTurn(id: UInt64, _ turn: CheckedContinuation<Void, any Error>) -> Bool? {
    guard !isClosing, outcome == nil else { return nil }
    if takeFreeTurn() { return true }
    turns.append(turn, id: id)
    return false
  }

  mutating func takeFreeTurn() -> Bool {
    guard !turnTaken, !isClosing, outcome == nil else { return false }
    turnTaken = true
    return true
  }

  mutating func endTurn() -> CheckedContinuation<Void, any Error>? {
    let next = turns.popFirst()
    turnTaken = next != nil
    return next
  }

  mutating func removeTurn(_ id: UInt64) -> CheckedContinuation<Void, any Error>? { turns.remove(id) }

  // MARK: - Ending

  /// Whether a close frame is to be sent now.
  mutating func beginClosing() -> (sends: Bool, reader: CheckedContinuation<Void, Never>?) {
    defer { isClosing = true }
    return (!isClosing && outcome == nil && !isOver, takeReader())
  }

  /// What to resume when the messages have ended.
  struct Ending {
    var receivers: [Receiver] = []
    var turns: [CheckedContinuation<Void, any Error>] = []
    var pings: [CheckedContinuation<Void, any Error>] = []
    var endings: [CheckedContinuation<Void, Never>] = []
    var outcome: Outcome?

    func resume() {
      for receiver in receivers {
        if let error = outcome?.error { receiver.resume(throwing: error) } else { receiver.resume(returning: nil) }
      }
      let error =
        outcome.map { $0.error ?? .closed(code: $0.code, reason: $0.reason) } ?? .connectionLost(reason: "")
      for turn in turns { turn.resume(throwing: error) }
      for ping in pings { ping.resume(throwing: error) }
      for ending in endings { ending.resume() }
    }
  }

  /// The first outcome stays.
  mutating func end(_ outcome: Outcome) -> Ending {
    guard self.outcome == nil else { return Ending() }
    self.outcome = outcome
    defer { pings = [:] }
    return Ending(
      receivers: receivers.removeAll(), turns: turns.removeAll(), pings: Array(pings.values), outcome: outcome)
  }

  /// The connection itself is gone.
  mutating func finish() -> (Ending, reader: CheckedContinuation<Void, Never>?) {
    isOver = true
    defer { endings = [] }
    return (Ending(endings: endings), takeReader())
  }

  /// False when it is gone already.
  mutating func awaitEnd(_ ending: CheckedContinuation<Void, Never>) -> Bool {
    guard !isOver else { return false }
    endings.append(ending)
    return true
  }
}
