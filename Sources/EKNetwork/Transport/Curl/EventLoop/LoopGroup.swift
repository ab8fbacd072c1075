#if os(Linux)
  /// The event loops of the process of one kind, each with a thread of its own that is started with the first use of it.
  final class LoopGroup<Loop: Sendable>: Sendable {
    private let slots: [Locked<Loop?>]
    private let make: @Sendable (LoopGroup, Int) -> Loop?

    /// - Parameter make: Makes the loop of an index. `nil` where there can be none now: the next use tries again.
    init(count: Int, make: @escaping @Sendable (LoopGroup, Int) -> Loop?) {
      slots = (0..<max(1, count)).map { _ in Locked(nil) }
      self.make = make
    }

    var count: Int { slots.count }

    /// Those that have been started.
    var started: [Loop] { slots.compactMap { $0.withLock(\.self) } }

    subscript(index: Int) -> Loop? {
      slots[index].withLock { loop in
        if loop == nil { loop = make(self, index) }
        return loop
      }
    }
  }
#endif
