/// A monitor that reports whether the machine has a network, and when that changes.
///
/// On Linux it listens to the kernel (rtnetlink(7)): there is a network if a link other than the loopback is running,
/// has an address, and is the link of a default route or of another route via a gateway. On Apple's platforms it uses
/// `NWPathMonitor`. It neither polls nor sends anything.
///
/// A network does not imply a reachable server: the monitor tells when to try, not whether that will succeed.
public final class PrismConnectivityMonitor: Sendable {
  private let broadcast: ConnectivityBroadcast
  private let source: (any ConnectivitySource)?

  /// Creates a monitor, which listens until it is deallocated.
  public init() {
    // Without a source, connectivity is unknown: assume that there is a network.
    let broadcast = ConnectivityBroadcast(isConnected: true)
    self.broadcast = broadcast
    source = ConnectivitySources.make { broadcast.report($0) }
  }

  /// Creates a monitor whose state a test sets.
  init(_ broadcast: ConnectivityBroadcast) {
    self.broadcast = broadcast
    source = nil
  }

  deinit {
    source?.stop()
    broadcast.finish()
  }

  /// Whether there is a network at the moment; `true` where that is unknown.
  public var isConnected: Bool { broadcast.isConnected }

  /// Returns a stream of whether there is a network: the current state, and each change. A slow reader gets only the
  /// latest state. The stream ends when the monitor is deallocated.
  public func connectionStream() -> AsyncStream<Bool> { broadcast.stream() }
}

/// A source of connectivity reports for one platform.
protocol ConnectivitySource: Sendable {
  func stop()
}

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

#if canImport(Network)
  import Dispatch
  import Network
#endif

/// Selects the implementation that monitors the network.
enum ConnectivitySources {
  /// Returns a source; `nil` where the platform has none. The first report may come before this returns, the others on
  /// any thread.
  static func make(_ report: @escaping @Sendable (Bool) -> Void) -> (any ConnectivitySource)? {
    #if os(Linux)
      NetlinkSource(report)
    #elseif canImport(Network)
      PathSource(report)
    #else
      nil
    #endif
  }
}

#if canImport(Network) && !os(Linux)
  /// A source based on `NWPathMonitor`.
  // Sendable, unchecked: once started, the monitor is only cancelled, which any thread may do.
  private struct PathSource: ConnectivitySource, @unchecked Sendable {
    private let monitor = NWPathMonitor()

    init(_ report: @escaping @Sendable (Bool) -> Void) {
      // A path that requires a connection gets one with the first request, as with a VPN on demand.
      monitor.pathUpdateHandler = { report($0.status != .unsatisfied) }
      monitor.start(queue: DispatchQueue(label: "EKNetwork.connectivity"))
    }

    func stop() { monitor.cancel() }
  }
#endif
