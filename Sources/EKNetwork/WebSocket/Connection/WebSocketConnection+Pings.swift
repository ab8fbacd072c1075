import Foundation

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

  /// Sends a ping and waits for the pong.
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
    let isPending = state.withLock { state in
      defer { state.isKeepAlivePingPending = true }
      return state.isKeepAlivePingPending
    }
    guard !isPending else { return }
    transport.send(MessageEncoder.control(.ping, []), isLast: false) { _ in
      self.state.withLock { $0.isKeepAlivePingPending = false }
    }
  }

  func keepAlive(every interval: Duration) async {
    var keeper = KeepAliveState()
    let interval = max(interval, .milliseconds(10)).sleepable
    while true {
      guard (try? await options.clock.sleep(for: interval)) != nil else { return }
      let unsent = await transport.unsentBytes() ?? 0
      let action: KeepAliveState.Action? = state.withLock { state in
        guard !state.isOver, state.outcome == nil, !state.isClosing else { return nil }
        return keeper.tick(received: state.received, sent: state.sent, unsent: unsent, isHeld: state.isReadingStopped)
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
