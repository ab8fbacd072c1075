/// Says whether the machine has a network, and when that changes.
///
/// On Linux it listens to the kernel (rtnetlink(7)): there is a network where a link other than the loopback runs, has an
/// address, and a default route or another one by way of a gateway leads through it. On Apple's platforms it is
/// `NWPathMonitor` that says. Nothing is polled, and nothing is sent.
///
/// A network is not a server: it says when to try, not whether that will succeed.
public final class PrismConnectivityMonitor: Sendable {
  private let broadcast: ConnectivityBroadcast
  private let source: (any ConnectivitySource)?

  /// A monitor that listens until its last reference is gone.
  public init() {
    // Where the kernel cannot be asked, trying is the only way to know.
    let broadcast = ConnectivityBroadcast(isConnected: true)
    self.broadcast = broadcast
    source = ConnectivitySources.make { broadcast.report($0) }
  }

  /// For tests: a monitor whose state is set by the test.
  init(_ broadcast: ConnectivityBroadcast) {
    self.broadcast = broadcast
    source = nil
  }

  deinit {
    source?.stop()
    broadcast.finish()
  }

  /// Whether there is a network at this moment; `true` where that cannot be known.
  public var isConnected: Bool { broadcast.isConnected }

  /// Whether there is a network: at this moment, and whenever that changes. A slow reader gets the latest state, and
  /// not each in between. The stream ends with the monitor.
  public func connectionStream() -> AsyncStream<Bool> { broadcast.stream() }
}

/// What watches the network of a platform.
protocol ConnectivitySource: Sendable {
  func stop()
}
