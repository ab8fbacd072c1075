#if os(Linux)
  /// The event loops of one kind in the process, each with a thread of its own that is started on first use.
  final class LoopGroup<Loop: Sendable>: Sendable {
    private let slots: [Locked<Loop?>]
    private let make: @Sendable (LoopGroup, Int) -> Loop?

    /// - Parameter make: Creates the loop of an index. If it returns `nil`, the next use tries again.
    init(count: Int, make: @escaping @Sendable (LoopGroup, Int) -> Loop?) {
      slots = (0..<max(1, count)).map { _ in Locked(nil) }
      self.make = make
    }

    var count: Int { slots.count }

    /// The loops that have been started.
    var started: [Loop] { slots.compactMap { $0.withLock(\.self) } }

    subscript(index: Int) -> Loop? {
      slots[index].withLock { loop in
        if loop == nil { loop = make(self, index) }
        return loop
      }
    }
  }
#endif
