#if os(Linux)
  import Foundation
  import FoundationNetworking

  /// The event loops that drive the requests of the process. All requests to an origin go to the same one, so that they
  /// find its connections; other origins have other loops, so that a server's cores share the work. Where an origin is busy,
  /// others help its loop: ``ConnectionLanes``.
  final class CurlEventLoops: Sendable {
    static let shared = CurlEventLoops(count: LoopCount.ofProcess)

    /// Why a request cannot begin while there is no loop.
    static var startError: any Error {
      URLError(
        .resourceUnavailable,
        userInfo: [NSLocalizedDescriptionKey: "The process has no file descriptors left to make a request with"])
    }

    private let loops: LoopGroup<CurlEventLoop>
    private let assignments: Locked<LoopAssignments<Origin>>

    /// - Parameter poolLifetime: How long unused connections are kept.
    init(count: Int, poolLifetime: Duration = CurlEventLoop.defaultPoolLifetime) {
      loops = LoopGroup(count: count) { CurlEventLoop(poolLifetime: poolLifetime, group: $0, index: $1) }
      assignments = Locked(LoopAssignments(loops: loops.count))
    }

    /// The loop for a request. `nil` when libcurl cannot be used, or while the process has no descriptors left.
    func loop(for origin: Origin) -> CurlEventLoop? {
      guard loops.count > 1 else { return loops[0] }
      return loops[assignments.withLock { $0.index(of: origin) }]
    }

    /// How many pools of connections there are.
    var poolCount: Int { loops.started.reduce(0) { $0 + $1.poolCount } }

    /// How many sockets are watched.
    var watchedCount: Int { loops.started.reduce(0) { $0 + $1.watchedCount } }
  }
#endif
