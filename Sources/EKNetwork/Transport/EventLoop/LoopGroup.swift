#if os(Linux)
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

    /// The loops that have been started.
    var started: [Loop] { slots.compactMap { $0.withLock(\.self) } }

    subscript(index: Int) -> Loop? {
      slots[index].withLock { loop in
        if loop == nil { loop = make() }
        return loop
      }
    }
  }
#endif
