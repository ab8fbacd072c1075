import Foundation

/// Reading ahead while the message queue is full, as ``ReadAheadState`` decides.
extension WebSocketConnection {
  /// Waits until the queue has room; returns whether it had to wait.
  ///
  /// - Parameters:
  ///   - unscanned: See ``ReadAheadState/hold(_:)``.
  ///   - ahead: The task that reads meanwhile.
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
      let step = state.withLock { $0.readAhead(result) }
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
