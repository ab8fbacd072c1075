import Foundation

/// Opens connections one after another and reads them in its own task, as ``ReconnectRetryState`` decides; sends on the
/// open one, as ``ReconnectingConnectionState`` decides.
final class ReconnectingConnection: Sendable {
  private let open: @Sendable () async throws -> WebSocket
  private let clock: any Clock<Duration>
  private let policy: WebSocketReconnectPolicy
  private let events: AsyncStream<WebSocketEvent>.Continuation
  private let state: Locked<ReconnectingConnectionState>

  init(
    policy: WebSocketReconnectPolicy, clock: any Clock<Duration>, events: AsyncStream<WebSocketEvent>.Continuation,
    open: @escaping @Sendable () async throws -> WebSocket
  ) {
    self.open = open
    self.clock = clock
    self.policy = policy
    self.events = events
    state = Locked(
      ReconnectingConnectionState(maximumCount: policy.maximumPendingMessages, maximumBytes: policy.maximumPendingBytes)
    )
  }

  /// Starts connecting. The task keeps this object alive, not the ``ReconnectingWebSocket``.
  func start() {
    let driver = Task { await self.run() }
    state.withLock { $0.driver = driver }
  }

  /// The driver: all that follows to ``deliver(_:)`` is part of its task.
  private func run() async {
    let outcome = await connectAgainAndAgain()
    state.withLock { $0.finish(outcome) }.resume()
    events.yield(.ended(outcome))
    events.finish()
  }

  /// Connects until there are no more attempts, and returns the error that ended it.
  private func connectAgainAndAgain() async -> (any Error)? {
    var decisions = ReconnectRetryState(policy: policy)
    while true {
      let (error, lasted) = await connect { decisions.received() }
      guard state.withLock({ $0.isRunning }) else { return nil }
      events.yield(.lost(error))
      switch decisions.lost(because: error, after: lasted, now: Date()) {
      case .stop(let error): return error
      case .retry(let delay):
        events.yield(.retrying(after: delay))
        // Only closing cancels the sleep.
        guard (try? await clock.sleep(for: delay.sleepable)) != nil else { return nil }
      }
    }
  }

  /// Opens a connection and reads it to its end; returns the error that ended it and how long it was open.
  private func connect(received: () -> Void) async -> (any Error, Duration?) {
    let socket: WebSocket
    do {
      socket = try await open()
    } catch {
      return (error, nil)
    }
    let (close, waiter) = state.withLock { ($0.open(socket), $0.takeLinkWaiter()) }
    if let close {
      socket.connection.abandon(close.code, close.reason)
      return (CancellationError(), nil)
    }
    let elapsed = clock.stopwatch()
    events.yield(.connected(subprotocol: socket.subprotocol))
    waiter?.resume(returning: socket)
    let error = await read(socket, received: received)
    state.withLock { $0.drop(socket) }?.resume(returning: true)
    return (error, .nanoseconds(Int64(clamping: elapsed.nanoseconds)))
  }

  private func read(_ socket: WebSocket, received: () -> Void) async -> any Error {
    do {
      while let message = try await socket.receive() {
        received()
        guard await deliver(message) else {
          return WebSocketError.connectionLost(reason: "Too many of its messages wait to be read")
        }
      }
      return WebSocketError.closed(code: socket.closeCode ?? .noStatusReceived, reason: socket.closeReason ?? "")
    } catch {
      return error
    }
  }

  /// Returns whether to read on.
  private func deliver(_ message: WebSocketMessage) async -> Bool {
    await withCheckedContinuation { deliverer in
      switch state.withLock({ $0.deliver(message, deliverer) }) {
      case .handOver(let receiver):
        receiver.resume(returning: message)
        deliverer.resume(returning: true)
      case .done(let hasRoom): deliverer.resume(returning: hasRoom)
      case .wait: break
      }
    }
  }

  /// Returns the next message, from any of the connections. Cancelling the task closes permanently.
  func receive() async throws -> WebSocketMessage? {
    let id = state.withLock { $0.makeID() }
    return try await withCancellableContinuation { receiver in
      let (outcome, deliverer) = state.withLock { $0.receive(id, receiver) }
      deliverer?.resume(returning: true)
      return outcome.resume(receiver)
    } leave: {
      defer { self.abandon() }
      return self.state.withLock { $0.receivers.remove(id) }
    }
  }

  /// Sends a message on the open connection, or on the next one. A message that a lost connection did not accept
  /// completely is sent on the next; one that it accepted is not sent again.
  func send(_ message: WebSocketMessage) async throws {
    let size = message.byteCount
    guard state.withLock({ $0.enter(size) }) else { throw WebSocketError.sendQueueFull }
    defer { state.withLock { $0.leave(size) } }
    try await takeTurn()
    defer { state.withLock { $0.turns.passOn() }?.resume() }
    while true {
      let socket = try await link()
      do {
        return try await socket.send(message)
      } catch let error where !(error is CancellationError) {
        state.withLock { $0.drop(socket) }?.resume(returning: true)
      }
    }
  }

  private func takeTurn() async throws {
    let id = state.withLock { $0.makeID() }
    try await withCancellableContinuation { turn in
      state.withLock { $0.takeTurn(id, turn) }.resume(turn)
    } leave: { [state] in
      state.withLock { $0.turns.remove(id) }
    }
  }

  private func link() async throws -> WebSocket {
    try await withCancellableContinuation { waiter in
      state.withLock { $0.awaitLink(waiter) }.resume(waiter)
    } leave: { [state] in
      state.withLock { $0.takeLinkWaiter() }
    }
  }

  /// Closes permanently and waits for the end, at most for the close timeout. Cancelling the task ends the connection
  /// immediately.
  func close(_ code: WebSocketCloseCode, _ reason: String) async throws {
    let ending = state.withLock { $0.close(code, reason) }
    ending.resume()
    if let link = ending.link {
      try await link.close(code: code, reason: reason)
    } else {
      ending.driver?.cancel()
    }
    await ending.driver?.value
  }

  /// Closes permanently, in the background.
  func abandon() {
    let ending = state.withLock { $0.close(.goingAway) }
    ending.resume()
    // While the driver reads, this sends a close frame; anywhere else it stops the driver.
    ending.driver?.cancel()
  }
}
