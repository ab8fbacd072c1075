/// A monitor that reports whether the machine has a network, and when that changes.
///
/// On Linux it listens to the kernel (rtnetlink(7)): there is a network if a link other than the loopback is running,
/// has an address, and is the link of a default route or of another route via a gateway. On Apple's platforms it uses
/// `NWPathMonitor`. It neither polls nor sends anything.
///
/// A network does not imply a reachable server: the monitor tells when to try, not whether that will succeed.
public final class PrismConnectivityMonitor: Sendable {
  private let state: ObservedValue<Bool>
  // Listens until it is released.
  private let source: (any Sendable)?

  /// Creates a monitor, which listens until it is deallocated.
  public init() {
    // Without a source, connectivity is unknown: assume that there is a network.
    let state = ObservedValue(true)
    self.state = state
    // The first report may come before the source exists, the others on any thread.
    let report: @Sendable (Bool) -> Void = { isConnected in state.update { $0 = isConnected } }
    #if os(Linux)
      source = NetlinkSource(report)
    #elseif canImport(Network)
      source = PathSource(report)
    #else
      source = nil
    #endif
  }

  /// Creates a monitor whose state a test sets.
  init(_ state: ObservedValue<Bool>) {
    self.state = state
    source = nil
  }

  deinit { state.finish() }

  /// Whether there is a network at the moment; `true` where that is unknown.
  public var isConnected: Bool { state.current }

  /// Returns a stream of whether there is a network: the current state, and each change. A slow reader gets only the
  /// latest state. The stream ends when the monitor is deallocated.
  public func connectionStream() -> AsyncStream<Bool> {
    let seen = Locked<UInt64?>(nil)
    return AsyncStream { [state] in
      guard let next = await state.next(after: seen.withLock { $0 }, isolation: nil) else { return nil }
      seen.withLock { $0 = next.version }
      return next.value
    }
  }
}

#if canImport(Network) && !os(Linux)
  import Dispatch
  import Network

  // Sendable, unchecked: once started, the monitor is only cancelled, which any thread may do.
  private final class PathSource: @unchecked Sendable {
    private let monitor = NWPathMonitor()

    init(_ report: @escaping @Sendable (Bool) -> Void) {
      // A path that requires a connection gets one with the first request, as with a VPN on demand.
      monitor.pathUpdateHandler = { report($0.status != .unsatisfied) }
      monitor.start(queue: DispatchQueue(label: "EKNetwork.connectivity"))
    }

    deinit { monitor.cancel() }
  }
#endif
