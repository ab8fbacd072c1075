import Foundation

/// The state of reading ahead while the message queue is full: pings of the peer are answered immediately (RFC 6455
/// §5.5.2), and its pongs are noticed. The bytes are buffered, up to a limit, and decoded when there is room.
struct ReadAheadState {
  /// The number of buffered bytes from which nothing more is read, so that the system slows the peer down.
  static let limit = 256 * 1024

  private var scanner = ControlScanner()
  private var kept: [UInt8] = []
  private var failure: (any Error)?
  /// The number of pings in the buffered bytes that have been answered.
  private var answered = 0
  private(set) var isReading = false

  /// Whether the end of the connection has been read, so that no pong will arrive.
  var isAtEnd: Bool { failure != nil || scanner.isOver }

  /// Begins reading ahead, because the reader has to wait for room.
  ///
  /// - Parameter unscanned: The bytes that it has read but not decoded; `nil` if they have been scanned.
  /// - Returns: The control frames to answer, and whether to start a read.
  mutating func hold(_ unscanned: ArraySlice<UInt8>?) -> (controls: [ControlScanner.Control], beginsToRead: Bool) {
    var controls: [ControlScanner.Control] = []
    if let unscanned {
      // A message has just ended, so the bytes begin with a frame.
      scanner = ControlScanner()
      controls = scan(unscanned)
    }
    guard !isReading, hasRoom else { return (controls, false) }
    isReading = true
    return (controls, true)
  }

  /// Handles the result of a read.
  ///
  /// - Parameter isHeld: Whether the reader still waits for room.
  /// - Returns: The control frames to answer, and whether to continue reading.
  mutating func received(
    _ result: Result<[UInt8], any Error>, isHeld: Bool
  ) -> (controls: [ControlScanner.Control], goesOn: Bool) {
    var controls: [ControlScanner.Control] = []
    switch result {
    case .success(let bytes):
      controls = scan(bytes[...])
      if kept.isEmpty { kept = bytes } else { kept += bytes }
    case .failure(let error): failure = error
    }
    isReading = isHeld && hasRoom
    return (controls, isReading)
  }

  enum Next {
    case bytes([UInt8])
    case failure(any Error)
    /// A read is under way.
    case wait
    case read
  }

  mutating func take() -> Next {
    if !kept.isEmpty { return .bytes(exchange(&kept, with: [])) }
    if isReading { return .wait }
    if let failure { return .failure(failure) }
    return .read
  }

  /// Returns whether the next ping that the reader decodes has been answered already.
  mutating func takeAnsweredPing() -> Bool {
    guard answered > 0 else { return false }
    answered -= 1
    return true
  }

  private var hasRoom: Bool { failure == nil && !scanner.isOver && kept.count < Self.limit }

  private mutating func scan(_ bytes: ArraySlice<UInt8>) -> [ControlScanner.Control] {
    let controls = scanner.scan(bytes)
    for case .ping in controls { answered += 1 }
    return controls
  }
}

extension WebSocketConnection {
  /// Waits until the queue has room; returns whether it had to wait.
  func waitForRoom(_ unscanned: ArraySlice<UInt8>?, _ ahead: inout Task<Void, Never>?) async -> Bool {
    var hasWaited = false
    await withCheckedContinuation { continuation in
      guard let hold = state.withLock({ $0.awaitRoom(continuation, unscanned: unscanned) }) else {
        return continuation.resume()
      }
      hasWaited = true
      answer(hold.controls)
      if hold.beginsToRead { ahead = Task { await readAhead() } }
    }
    return hasWaited
  }

  private func readAhead() async {
    while true {
      let result: Result<[UInt8], any Error>
      do { result = .success(try await readOnce()) } catch { result = .failure(error) }
      let step = state.withLock { $0.ahead.received(result, isHeld: $0.isReaderHeld) }
      answer(step.controls)
      guard step.goesOn else { return }
    }
  }

  private func answer(_ controls: [ControlScanner.Control]) {
    for control in controls {
      switch control {
      case .ping(let payload): sendPong(payload)
      case .pong(let payload): state.withLock { $0.pings.answered(payload) }?.resume()
      }
    }
    // The end itself is reported when the messages before it have been read. No pong will arrive.
    let (lost, error) = state.withLock { ($0.takeLostPings(), $0.sendError) }
    for ping in lost { ping.resume(throwing: error) }
  }
}
