import Foundation

/// An open connection: reads in its own task, writes for its senders, and does what ``ConnectionState`` decides.
final class WebSocketConnection: Sendable {
  let transport: any ByteTransport
  let options: WebSocketOptions
  private let encoder: MessageEncoder
  let state: Locked<ConnectionState>

  init(_ transport: any ByteTransport, agreement: HandshakeResponse.Agreement, options: WebSocketOptions) {
    self.transport = transport
    self.options = options
    let parameters = agreement.compression
    encoder = MessageEncoder(
      deflater: parameters.flatMap {
        MessageDeflater(windowBits: $0.clientWindowBits, keepsContext: $0.clientKeepsContext)
      }, minimumSize: options.compression?.minimumSize ?? 0)
    state = Locked(
      ConnectionState(capacity: options.maximumQueuedMessages, byteCapacity: options.maximumQueuedBytes))
  }

  var outcome: ConnectionState.Outcome? { state.withLock { $0.outcome } }

  /// Starts reading. The tasks keep the connection alive, not the ``WebSocket``.
  func start(_ agreement: HandshakeResponse.Agreement) {
    Task {
      let keeper = options.keepAliveInterval.map { interval in Task { await self.keepAlive(every: interval) } }
      await read(agreement)
      keeper?.cancel()
    }
  }

  private func read(_ agreement: HandshakeResponse.Agreement) async {
    let inflater = agreement.compression.flatMap { MessageInflater(keepsContext: $0.serverKeepsContext) }
    var decoder = MessageDecoder(maximumMessageSize: options.maximumMessageSize, inflater: inflater)
    var (bytes, isScanned) = (agreement.rest, false)
    var ahead: Task<Void, Never>?
    do {
      while true {
        var offset = 0
        // One event at a time: each is delivered before the next one is inflated.
        while let event = bytes.withUnsafeBytes({ decoder.next(in: $0, from: &offset) }) {
          if handle(event), await waitForRoom(isScanned ? nil : bytes[offset...], &ahead) { isScanned = true }
        }
        if decoder.isEnded { break }
        bytes = []
        (bytes, isScanned) = try await nextBytes(ahead)
      }
      // RFC 6455 §7.1.1: the server closes the connection first; what it still sends is ignored.
      while true { _ = try await nextBytes(ahead) }
    } catch {
      lose(error)
    }
    transport.cancel()
    let (waiting, reader) = state.withLock { $0.finish() }
    reader?.resume()
    waiting.resume()
  }

  /// Returns the next bytes, and whether their pings have been answered.
  private func nextBytes(_ ahead: Task<Void, Never>?) async throws -> ([UInt8], isScanned: Bool) {
    while true {
      switch state.withLock({ $0.ahead.take() }) {
      case .bytes(let bytes): return (bytes, true)
      case .failure(let error): throw error
      case .wait: await ahead?.value
      case .read: return (try await readOnce(), false)
      }
    }
  }

  func readOnce() async throws -> [UInt8] {
    let bytes = try await transport.receive()
    if bytes.isEmpty { throw ByteTransportError.failed("The peer ended it without a close frame") }
    state.withLock { $0.received &+= 1 }
    return bytes
  }

  /// Returns whether the queue is full.
  private func handle(_ event: MessageDecoder.Event) -> Bool {
    switch event {
    case .message(let message): return deliver(message)
    case .ping(let payload):
      if !state.withLock({ $0.ahead.takeAnsweredPing() }) { sendPong(payload) }
    case .pong(let payload): state.withLock { $0.pings.answered(payload) }?.resume()
    case .close(let code, let reason):
      let isClean = code == .normalClosure || code == .goingAway || code == .noStatusReceived
      closeAtOnce(.init(code: code, reason: reason, error: isClean ? nil : .closed(code: code, reason: reason)))
    case .failure(let failure):
      let error = WebSocketError.protocolViolation(code: failure.code, reason: failure.reason)
      closeAtOnce(.init(code: failure.code, reason: failure.reason, error: error))
    }
    return false
  }

  private func closeAtOnce(_ outcome: ConnectionState.Outcome) {
    let frame = MessageEncoder.close(outcome.code, outcome.reason)
    perform(state.withLock { $0.closeAtOnce(frame, outcome) })
  }

  private func deliver(_ message: WebSocketMessage) -> Bool {
    switch state.withLock({ $0.deliver(message) }) {
    case .handOver(let receiver): receiver.resume(returning: message)
    case .kept, .dropped: break
    case .keptAndFull: return true
    }
    return false
  }

  private func lose(_ error: any Error) {
    let (isClosing, given) = state.withLock { ($0.isClosing, $0.lossReason) }
    if let given, !isClosing { return end(.abnormalClosure, "", given) }
    let text = (error as? ByteTransportError)?.reason ?? error.localizedDescription
    end(.abnormalClosure, text, isClosing ? nil : .connectionLost(reason: text))
  }

  private func end(_ code: WebSocketCloseCode, _ reason: String, _ error: WebSocketError?) {
    state.withLock { $0.end(.init(code: code, reason: reason, error: error)) }.resume()
  }

  /// Returns the next message; `nil` after a clean close. Cancelling the task closes the connection.
  func receive() async throws -> WebSocketMessage? {
    if !Task.isCancelled, let (message, reader) = state.withLock({ $0.takeMessage() }) {
      reader?.resume()
      return message
    }
    let id = state.withLock { $0.makeID() }
    return try await withCancellableContinuation { receiver in
      let (outcome, reader) = state.withLock { $0.receive(id: id, receiver) }
      reader?.resume()
      return outcome.resume(receiver)
    } leave: {
      defer { self.abandon() }
      return self.state.withLock { $0.receivers.remove(id) }
    }
  }

  /// Sends a message and returns when the system has accepted it. If the task is cancelled while the message waits for
  /// its turn, it is not sent; if later, it is sent completely, because a partial message would break the connection.
  func send(_ message: WebSocketMessage) async throws {
    try await takeTurn()
    let waiter = SingleResult()
    sendFrame(of: encoder.frames(of: message), waiter)
    do {
      try await waiter.value()
    } catch let error as ByteTransportError {
      guard case .failed(let reason) = error, outcome == nil else { throw failure() }
      throw WebSocketError.connectionLost(reason: reason)
    }
  }

  /// Sends the next frame of a message, and then the remaining ones. Control frames can be sent between them.
  private func sendFrame(of message: OutgoingMessage, _ waiter: SingleResult) {
    let (frame, isLast) = message.next()
    let size = frame.count
    transport.send(frame, isLast: false) { error in
      if error == nil { self.state.withLock { $0.sent &+= size } }
      if error == nil, !isLast { return self.sendFrame(of: message, waiter) }
      let (closeFrame, next) = self.state.withLock { $0.endTurn() }
      if let closeFrame { self.transport.send(closeFrame, isLast: true) { _ in } }
      next?.resume()
      waiter.finish(error)
    }
  }

  private func takeTurn() async throws {
    if !Task.isCancelled, state.withLock({ $0.takeFreeTurn() }) { return }
    let id = state.withLock { $0.makeID() }
    try await withCancellableContinuation { turn in
      state.withLock { $0.takeTurn(id: id, turn) }.resume(turn)
    } leave: { [state] in
      state.withLock { $0.turns.remove(id) }
    }
  }

  func failure() -> WebSocketError { state.withLock { $0.sendError } }

  private func perform(_ closing: ConnectionState.Closing) {
    closing.reader?.resume()
    if let frame = closing.frame { transport.send(frame, isLast: true) { _ in } }
    closing.waiting.resume()
    if closing.isFirst { limitClosing() }
  }

  /// Ends the connection when the peer has not done so in time, whichever side has begun to close it.
  private func limitClosing() {
    let (transport, clock, timeout) = (transport, options.clock, options.closeTimeout)
    let timer = Task {
      if (try? await clock.sleep(for: timeout.sleepable)) != nil { transport.cancel() }
    }
    if !state.withLock({ $0.keep(closeTimer: timer) }) { timer.cancel() }
  }

  /// Closes the connection and waits for its end. Cancelling the task ends the connection immediately.
  func close(_ code: WebSocketCloseCode, _ reason: String) async {
    abandon(code, reason)
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        if !state.withLock({ $0.awaitEnd(continuation) }) { continuation.resume() }
      }
    } onCancel: {
      transport.cancel()
    }
  }

  func cancel() { transport.cancel() }

  /// Closes the connection in the background: sends a close frame after the current message.
  func abandon(_ code: WebSocketCloseCode = .goingAway, _ reason: String = "") {
    let frame = MessageEncoder.close(code, reason)
    perform(state.withLock { $0.close(frame, code: code, reason: reason) })
  }

  /// Closes the connection in the background; nothing more can be read, and what has been received is discarded.
  func discard(_ code: WebSocketCloseCode) {
    let frame = MessageEncoder.close(code, "")
    perform(state.withLock { $0.discard(frame, code: code) })
  }
}

/// Pings, pongs, and the keep-alive made of them (RFC 6455 §5.5).
extension WebSocketConnection {
  private static let maximumPendingPongs = 64

  /// Sends a pong. The number of pending pongs is limited: a peer that pings without reading gets no more (RFC 6455
  /// §5.5.3).
  func sendPong(_ payload: Data) {
    let fits = state.withLock { state in
      guard state.pendingPongs < Self.maximumPendingPongs else { return false }
      state.pendingPongs += 1
      return true
    }
    guard fits else { return }
    transport.send(MessageEncoder.control(.pong, payload), isLast: false) { _ in
      self.state.withLock { $0.pendingPongs -= 1 }
    }
  }

  func ping() async throws {
    let payload = withUnsafeBytes(of: UInt64.random(in: .min ... .max)) { Data($0) }
    try await withCancellableContinuation { waiter in
      switch state.withLock({ $0.addPing(payload, waiter) }) {
      case true?: sendPing(payload)
      case false?: break
      case nil:
        waiter.resume(throwing: failure())
        return false
      }
      return true
    } leave: { [state] in
      state.withLock { $0.pings.cancelled(payload) }
    }
  }

  private func sendPing(_ payload: Data) {
    transport.send(MessageEncoder.control(.ping, payload), isLast: false) { error in
      if error == nil {
        if let next = self.state.withLock({ $0.pings.sent() }) { self.sendPing(next) }
      } else {
        for ping in self.state.withLock({ $0.pings.failed(payload) }) { ping.resume(throwing: self.failure()) }
      }
    }
  }

  /// Sends a ping, unless the last one still waits for the system: a peer that does not read gets no more.
  private func sendKeepAlivePing() {
    guard !state.withLock({ exchange(&$0.isKeepAlivePingPending, with: true) }) else { return }
    transport.send(MessageEncoder.control(.ping, []), isLast: false) { _ in
      self.state.withLock { $0.isKeepAlivePingPending = false }
    }
  }

  func keepAlive(every interval: Duration) async {
    var keeper = KeepAliveState()
    let interval = max(interval, .milliseconds(10)).sleepable
    while true {
      guard (try? await options.clock.sleep(for: interval)) != nil else { return }
      let output = await transport.output()
      let action: KeepAliveState.Action? = state.withLock { state in
        guard !state.isOver, state.outcome == nil, !state.isClosing else { return nil }
        return keeper.tick(
          received: state.received, sent: state.sent, unsent: output.unsent, confirmed: output.confirmed,
          isSending: state.isSending, isHeld: state.isReadingStopped)
      }
      switch action {
      case nil: return
      case .wait?: break
      case .ping?: sendKeepAlivePing()
      case .end?:
        // The messages that have arrived are delivered first.
        state.withLock { $0.lossReason = .timedOut }
        return transport.cancel()
      }
    }
  }
}
