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
