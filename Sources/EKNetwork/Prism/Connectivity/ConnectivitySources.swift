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
