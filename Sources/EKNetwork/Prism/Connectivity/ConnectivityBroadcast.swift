/// The current connectivity, and the streams that receive its changes.
final class ConnectivityBroadcast: Sendable {
  private struct State {
    var isConnected: Bool
    var listeners: [UInt64: AsyncStream<Bool>.Continuation] = [:]
    var nextID: UInt64 = 0
    var isOver = false
  }

  private let state: Locked<State>

  init(isConnected: Bool) { state = Locked(State(isConnected: isConnected)) }

  var isConnected: Bool { state.withLock { $0.isConnected } }
  var listenerCount: Int { state.withLock { $0.listeners.count } }

  /// Yields the state to all streams, if it has changed.
  func report(_ isConnected: Bool) {
    let listeners = state.withLock { state in
      guard state.isConnected != isConnected else { return [AsyncStream<Bool>.Continuation]() }
      state.isConnected = isConnected
      return Array(state.listeners.values)
    }
    for listener in listeners { listener.yield(isConnected) }
  }

  /// Finishes all streams; nothing is reported afterwards.
  func finish() {
    let listeners = state.withLock { state in
      state.isOver = true
      defer { state.listeners = [:] }
      return Array(state.listeners.values)
    }
    for listener in listeners { listener.finish() }
  }

  /// Returns a stream of the current state and each that follows. A slow reader gets only the latest one.
  func stream() -> AsyncStream<Bool> {
    let (stream, continuation) = AsyncStream<Bool>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let (id, first, isOver) = state.withLock { state in
      state.nextID += 1
      if !state.isOver { state.listeners[state.nextID] = continuation }
      return (state.nextID, state.isConnected, state.isOver)
    }
    continuation.onTermination = { [weak self] _ in
      // Released outside the lock: the last reference ends the stream.
      _ = self?.state.withLock { $0.listeners.removeValue(forKey: id) }
    }
    // A change may have been reported before the previous state is yielded: the newest state has to come last.
    var (yielded, current) = (!first, first)
    while current != yielded {
      continuation.yield(current)
      (yielded, current) = (current, isConnected)
    }
    if isOver { continuation.finish() }
    return stream
  }
}
