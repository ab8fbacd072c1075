#if os(Linux)
  import Foundation
  import FoundationNetworking

  /// The event loops that drive the requests of the process. All requests to an origin use the same loop, so that they
  /// find its connections; other origins use other loops, so that the work is divided among a server's cores.
  final class EventLoops: Sendable {
    static let shared = EventLoops(count: LoopCount.ofProcess)

    /// The error of a request that cannot begin because there is no loop.
    static var startError: any Error {
      URLError(
        .resourceUnavailable,
        userInfo: [NSLocalizedDescriptionKey: "The process has no file descriptors left to make a request with"])
    }

    private let loops: LoopGroup<EventLoop>
    private let assignments: Locked<LoopAssignments<Origin>>

    /// - Parameter poolLifetime: How long unused connections are kept.
    init(count: Int, poolLifetime: Duration = EventLoop.defaultPoolLifetime) {
      loops = LoopGroup(count: count) { EventLoop(poolLifetime: poolLifetime) }
      assignments = Locked(LoopAssignments(loops: loops.count))
    }

    /// Returns the loop for a request, or `nil` if libcurl cannot be used or the process has no descriptors left.
    func loop(for origin: Origin) -> EventLoop? {
      guard loops.count > 1 else { return loops[0] }
      return loops[assignments.withLock { $0.index(of: origin) }]
    }

    /// The number of connection pools.
    var poolCount: Int { loops.started.reduce(0) { $0 + $1.poolCount } }

    /// The number of watched sockets.
    var watchedCount: Int { loops.started.reduce(0) { $0 + $1.watchedCount } }
  }
#endif
