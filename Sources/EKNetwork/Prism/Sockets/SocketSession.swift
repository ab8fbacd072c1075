import Foundation

/// A connection of an adapter, which is read as frames.
actor SocketSession {
  enum Carrier: Sendable {
    case webSocket(WebSocket)
    case lines(any ByteTransport)

    /// Closes the connection.
    func cancel() {
      switch self {
      case .webSocket(let socket): socket.discard()
      case .lines(let transport): transport.cancel()
      }
    }
  }

  private let carrier: Carrier
  private var splitter: SocketLineSplitter
  /// Whether the splitter holds the rest of a message, whose end also ends a line.
  private var isInMessage = false
  /// Whether the peer or this side has ended the connection; there are no more frames then.
  private let isCancelled = Locked(false)
  /// The turns of the lines that are sent: a transport keeps what it has got, even if nobody waits for it any more.
  private let turns = Locked((queue: TurnQueue(), lastID: UInt64(0)))
  /// The reason why the frames ended; `nil` if the peer ended them properly, or this side did.
  private(set) var failure: (any Error)?

  init(_ carrier: Carrier, maximumLineLength: Int) {
    self.carrier = carrier
    splitter = SocketLineSplitter(maximumLength: maximumLineLength)
  }

  deinit { cancel() }

  /// Returns the next frame; `nil` if the connection has ended. After ``cancel()`` what has been received is not
  /// returned any more.
  func next() async -> Data? {
    while !isCancelled.withLock({ $0 }) {
      do {
        if let frame = try splitter.next() { return frame }
        if isInMessage {
          isInMessage = false
          if let frame = splitter.finish() { return frame }
        }
        try await receive()
      } catch {
        // The cancellation of the task that reads ends the connection from this side, even before it is known here.
        if !isCancelled.withLock({ $0 }), !(error is CancellationError) { failure = error }
        cancel()
      }
    }
    return nil
  }

  private func receive() async throws {
    switch carrier {
    case .webSocket(let socket):
      guard let message = try await socket.receive() else { break }
      let data: Data =
        switch message {
        case .text(let text): Data(text.utf8)
        case .binary(let data): data
        }
      splitter.append(data)
      isInMessage = true
      return
    case .lines(let transport):
      let bytes = try await transport.receive()
      guard !bytes.isEmpty else { break }
      return splitter.append(Data(bytes))
    }
    cancel()
  }

  nonisolated var isOver: Bool {
    if case .webSocket(let socket) = carrier, socket.closeCode != nil { return true }
    return isCancelled.withLock { $0 }
  }

  nonisolated func send(_ text: String) async throws {
    switch carrier {
    case .webSocket(let socket): try await socket.send(text)
    case .lines(let transport):
      try await takeTurn()
      let sent = SingleResult()
      transport.send(Array(text.utf8), isLast: false) { [turns] error in
        turns.withLock { $0.queue.end() }?.resume()
        sent.finish(error)
      }
      try await sent.value()
    }
  }

  private nonisolated func takeTurn() async throws {
    if !Task.isCancelled, turns.withLock({ $0.queue.takeFree() }) { return }
    let id = turns.withLock { turns in
      turns.lastID += 1
      return turns.lastID
    }
    try await withCancellableContinuation { turn in
      guard turns.withLock({ $0.queue.take(turn, id: id) }) else { return true }
      turn.resume()
      return false
    } leave: { [turns] in
      turns.withLock { $0.queue.remove(id) }
    }
  }

  /// Closes the connection, once.
  nonisolated func cancel() {
    let isFirst = isCancelled.withLock { isCancelled in
      defer { isCancelled = true }
      return !isCancelled
    }
    if isFirst { carrier.cancel() }
  }
}
