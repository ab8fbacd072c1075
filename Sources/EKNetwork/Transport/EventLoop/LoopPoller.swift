#if os(Linux)
  import CCurl
  import Foundation

  /// The poller in which the thread of a loop sleeps, and the inbox through which other threads reach it: submitted
  /// operations are kept until the loop takes them, and the loop is only woken if it sleeps or is about to.
  struct LoopPoller<Operation: Sendable>: Sendable {
    private struct Inbox {
      var operations: [Operation] = []
      var isAsleep = false
    }

    private static var wakeTag: UInt64 { .max }

    private let poller: Int32
    private let waker: Int32
    private let inbox = Locked(Inbox())

    /// Returns `nil` if the process has no descriptors left.
    init?() {
      var poller: Int32 = -1
      var waker: Int32 = -1
      guard ekn_poller_open(&poller, &waker, Self.wakeTag) else { return nil }
      self.poller = poller
      self.waker = waker
    }

    /// Adds an operation to the inbox. May be called on any thread; never blocks on the loop.
    func submit(_ operation: Operation) {
      let mustWake = inbox.withLock { inbox in
        inbox.operations.append(operation)
        defer { inbox.isAsleep = false }
        return inbox.isAsleep
      }
      if mustWake { ekn_waker_wake(waker) }
    }

    /// Ends the loop's current sleep, or the next one.
    func wake() { ekn_waker_wake(waker) }

    // MARK: - The loop's thread

    /// Starts the thread of a loop, which never ends.
    func startThread(named name: String, _ run: @escaping @Sendable () -> Void) {
      let thread = Thread(block: run)
      thread.name = name
      thread.stackSize = 1 << 20
      thread.start()
    }

    /// Swaps the submitted operations for an empty array.
    func take(_ operations: inout [Operation]) {
      inbox.withLock { swap(&$0.operations, &operations) }
    }

    /// Watches a socket for events (`EKN_POLL_…`), or stops watching it. Its events carry the tag; the
    /// largest value is reserved.
    func watch(_ socket: Int32, _ what: Int32, tag: UInt64) {
      ekn_poller_watch(poller, socket, what, tag)
    }

    /// Sleeps until sockets are ready, something is submitted, or `timeout` milliseconds have passed (-1: never), which
    /// is only evaluated if there is nothing to do. Returns how many elements of `ready` are valid.
    func wait(into ready: inout [ekn_ready], timeout: () -> Int32) -> Int {
      let hasWork = inbox.withLock { inbox in
        inbox.isAsleep = inbox.operations.isEmpty
        return !inbox.isAsleep
      }
      var count = Int(ekn_poller_wait(poller, &ready, Int32(ready.count), hasWork ? 0 : timeout()))
      inbox.withLock { $0.isAsleep = false }
      guard count > 0 else { return 0 }
      if let wake = ready[..<count].firstIndex(where: { $0.tag == Self.wakeTag }) {
        ekn_waker_drain(waker)
        count -= 1
        ready[wake] = ready[count]
      }
      return count
    }
  }
#endif
