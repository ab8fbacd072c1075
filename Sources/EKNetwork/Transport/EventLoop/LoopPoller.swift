#if os(Linux)
  import CCurl
  import Foundation
#endif

#if os(Linux)
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

/// The events for which the poller watches each socket, so that it is only called when they change.
struct WatchedSockets {
  private struct Socket {
    /// `nil` while the poller does not watch it.
    var events: Int32?
    var tag: UInt64 = 0
  }

  /// Indexed by descriptor: the system assigns the smallest number that is free.
  private var sockets: [Socket] = []

  /// The number of sockets that the poller watches.
  var count: Int { sockets.count { $0.events != nil } }

  /// Notes that a socket is to be watched, and returns whether the poller has to be called.
  mutating func watch(_ socket: Int32, _ events: Int32, tag: UInt64) -> Bool {
    guard let index = Int(exactly: socket), index >= 0 else { return true }
    if index >= sockets.count { sockets += repeatElement(Socket(), count: index + 1 - sockets.count) }
    defer { sockets[index] = Socket(events: events, tag: tag) }
    return sockets[index].events != events || sockets[index].tag != tag
  }

  /// Notes that the poller no longer watches a socket.
  mutating func remove(_ socket: Int32) {
    if sockets.indices.contains(Int(socket)) { sockets[Int(socket)] = Socket() }
  }

  /// Returns whether the poller watches a socket.
  func isWatched(_ socket: Int32) -> Bool {
    sockets.indices.contains(Int(socket)) && sockets[Int(socket)].events != nil
  }
}

#if os(Linux)
  import CCurl

  extension EventLoop {
    /// Watches a socket for a connection; 0 stands for ``opening``. This is done immediately, never later in the turn: by
    /// then a descriptor may have been closed and its number reused.
    func watch(_ socket: Int32, _ what: Int32, connection: UInt32) {
      let tag = UInt64(connection) << 32 | UInt64(UInt32(bitPattern: socket))
      if what == EKN_POLL_REMOVE {
        guard sockets.isWatched(socket) else { return }
        sockets.remove(socket)
      } else if !sockets.watch(socket, what, tag: tag) {
        return
      }
      poller.watch(socket, what, tag: tag)
    }

    /// Stops watching a socket that is about to be closed. The poller only does that by itself if no other process has
    /// inherited the socket.
    func willClose(_ socket: Int32) {
      if sockets.isWatched(socket) { poller.watch(socket, Int32(EKN_POLL_REMOVE), tag: 0) }
      sockets.remove(socket)
    }

    /// - Parameter withErrors: Whether to act on errors. Not after a request was started directly, because the number
    ///   may belong to another socket by now: if it does not, the next wait reports the error again. Trying a socket
    ///   that is not ready does no harm.
    func act(on ready: ArraySlice<ekn_ready>, withErrors: Bool) {
      for event in ready where withErrors || event.events & Int32(EKN_CSELECT_ERR) == 0 {
        let socket = Int32(bitPattern: UInt32(truncatingIfNeeded: event.tag))
        let number = UInt32(truncatingIfNeeded: event.tag >> 32)
        if number == 0 {
          opening?.act(on: socket, events: event.events)
        } else {
          connections[number]?.ready(socket, events: event.events)
        }
      }
    }
  }
#endif
