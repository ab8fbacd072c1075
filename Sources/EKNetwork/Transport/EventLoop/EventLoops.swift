/// The assignment of destinations to event loops: a new destination gets the loop with the fewest, and keeps it,
/// because that loop has its connections and their limit.
struct LoopAssignments<Destination: Hashable & Sendable>: Sendable {
  /// Beyond this number the hash decides, which does not change either.
  private static var maximumRemembered: Int { 1_000 }

  private var indices: [Destination: Int] = [:]
  private var counts: [Int]

  /// - Parameter loops: The number of loops; at least one.
  init(loops: Int) { counts = Array(repeating: 0, count: max(1, loops)) }

  mutating func index(of destination: Destination) -> Int {
    if let index = indices[destination] { return index }
    guard indices.count < Self.maximumRemembered else {
      return Int(UInt(bitPattern: destination.hashValue) % UInt(counts.count))
    }
    let index = counts.indices.min { counts[$0] < counts[$1] } ?? 0
    counts[index] += 1
    indices[destination] = index
    return index
  }
}

#if os(Linux)
  import CCurl
  import Foundation
  import FoundationNetworking

  /// The event loops that drive the requests of the process. All requests to an origin use the same loop, so that they
  /// find its connections; other origins use other loops, so that the work is divided among a server's cores.
  final class EventLoops: Sendable {
    static let shared = EventLoops(count: LoopCount.ofProcess)

    /// The error of a request, or of a connection, that cannot begin because there is no loop.
    static var startError: any Error {
      URLError(
        .resourceUnavailable, url: nil,
        description: "The process can have no more threads or file descriptors")
    }

    private let loops: LoopGroup<EventLoop>
    private let assignments: Locked<LoopAssignments<Origin>>

    /// - Parameters:
    ///   - poolLifetime: How long unused connections are kept.
    ///   - trustedQuiet: ``ConnectionHealth/trustedQuiet``, for tests.
    ///   - directWait: What new connections begin with.
    init(
      count: Int, poolLifetime: Duration = EventLoop.defaultPoolLifetime,
      trustedQuiet: UInt64 = ConnectionHealth.trustedQuiet, directWait: DirectWait = .ofProcess
    ) {
      loops = LoopGroup(count: count) {
        EventLoop(poolLifetime: poolLifetime, trustedQuiet: trustedQuiet, directWait: directWait)
      }
      assignments = Locked(LoopAssignments(loops: loops.count))
    }

    /// Returns the loop for a request, or `nil` if libcurl cannot be used or the process can have no more threads
    /// or descriptors.
    func loop(for origin: Origin) -> EventLoop? {
      guard loops.count > 1 else { return loops[0] }
      return loops[assignments.withLock { $0.index(of: origin) }]
    }

    var poolCount: Int { loops.started.reduce(0) { $0 + $1.poolCount } }

    var directResponseCount: Int { loops.started.reduce(0) { $0 + $1.directResponseCount } }

    var directReadCount: Int { loops.started.reduce(0) { $0 + $1.directReadCount } }

    var watchedCount: Int { loops.started.reduce(0) { $0 + $1.watchedCount } }
  }

  enum LoopCount {
    /// The environment variable that sets the number.
    static let variable = "EKNETWORK_EVENT_LOOPS"
    private static let maximum = 64
    private static let maximumByDefault = 8

    static let ofProcess = count(
      setting: ProcessInfo.processInfo.environment[variable], processors: Int(ekn_processor_count()))

    /// - Parameter setting: The value of the environment variable. Anything but a number from 1 to 64 is ignored.
    static func count(setting: String?, processors: Int) -> Int {
      if let setting, let count = Int(setting), (1...maximum).contains(count) { return count }
      return min(max(1, processors), maximumByDefault)
    }
  }

  /// The event loops of one kind in the process, each with a thread of its own that is started on first use.
  final class LoopGroup<Loop: Sendable>: Sendable {
    private let slots: [Locked<Loop?>]
    private let make: @Sendable () -> Loop?

    /// - Parameter make: Creates a loop. If it returns `nil`, the next use tries again.
    init(count: Int, make: @escaping @Sendable () -> Loop?) {
      slots = (0..<max(1, count)).map { _ in Locked(nil) }
      self.make = make
    }

    var count: Int { slots.count }

    var started: [Loop] { slots.compactMap { $0.withLock(\.self) } }

    subscript(index: Int) -> Loop? {
      slots[index].withLock { loop in
        if loop == nil { loop = make() }
        return loop
      }
    }
  }
#endif
