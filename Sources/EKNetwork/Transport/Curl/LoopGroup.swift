#if os(Linux)
  import Foundation

  /// The event loops of the process of one kind, each with a thread of its own that is started with the first use of it.
  final class LoopGroup<Loop: Sendable>: Sendable {
    private let slots: [Locked<Loop?>]
    private let make: @Sendable () -> Loop?

    /// - Parameter make: `nil` where there can be no loop now. The next use tries again.
    init(count: Int, make: @escaping @Sendable () -> Loop?) {
      slots = (0..<max(1, count)).map { _ in Locked(nil) }
      self.make = make
    }

    var count: Int { slots.count }

    /// Those that have been started.
    var started: [Loop] { slots.compactMap { $0.withLock(\.self) } }

    subscript(index: Int) -> Loop? {
      slots[index].withLock { loop in
        if loop == nil { loop = make() }
        return loop
      }
    }
  }

  /// How many event loops a process has.
  enum LoopCount {
    /// The name of the environment's variable that says it.
    static let variable = "EKNETWORK_EVENT_LOOPS"
    private static let maximum = 64
    private static let maximumByDefault = 8

    static let ofProcess = count(
      setting: ProcessInfo.processInfo.environment[variable], processors: ProcessInfo.processInfo.activeProcessorCount)

    /// - Parameter setting: What the environment says. Whatever is no number from 1 to 64 says nothing.
    static func count(setting: String?, processors: Int) -> Int {
      if let setting, let count = Int(setting), (1...maximum).contains(count) { return count }
      return min(max(1, processors), maximumByDefault)
    }
  }
#endif
