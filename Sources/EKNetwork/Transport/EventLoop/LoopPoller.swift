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
    private let thread: LoopThread

    /// Returns `nil` if the process can have no more threads or descriptors.
    ///
    /// - Parameter name: The name of the loop's thread.
    init?(named name: String) {
      guard let thread = LoopThread(named: name) else { return nil }
      var poller: Int32 = -1
      var waker: Int32 = -1
      guard ekn_poller_open(&poller, &waker, Self.wakeTag) else {
        thread.run {}
        return nil
      }
      self.thread = thread
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

    /// Whether the loop has yet to take something.
    var hasOperations: Bool { inbox.withLock { !$0.operations.isEmpty } }

    /// Ends the loop's current sleep, or the next one.
    func wake() { ekn_waker_wake(waker) }

    // MARK: - The loop's thread

    /// Runs the loop, which ends with the process. To be called once.
    func startThread(_ run: @escaping @Sendable () -> Void) { thread.run(run) }

    /// Swaps the submitted operations for an empty array.
    func take(_ operations: inout [Operation]) {
      inbox.withLock { swap(&$0.operations, &operations) }
    }

    /// Watches a socket for events (`EKN_POLL_…`), or stops watching it. Its events carry the tag; the
    /// largest value is reserved.
    func watch(_ socket: Int32, _ what: Int32, tag: UInt64) {
      ekn_poller_watch(poller, socket, what, tag)
    }

    /// Sleeps until sockets are ready, something is submitted, or `timeout` nanoseconds have passed (-1: never), which
    /// is only evaluated if there is nothing to do. Returns how many elements of `ready` are valid.
    func wait(into ready: inout [ekn_ready], timeout: () -> Int64) -> Int {
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

  /// The thread of a loop. It exists before everything else of the loop, which would be made in vain if it cannot, and waits for
  /// what it runs. Foundation's does not tell that it cannot be started.
  final class LoopThread: Sendable {
    private let body = Locked<(@Sendable () -> Void)?>(nil)
    private let hasBody = DispatchSemaphore(value: 0)

    init?(named name: String, stackSize: Int = 1 << 20) {
      let thread = Unmanaged.passRetained(self)
      let hasStarted = ekn_thread_start(
        String(name.prefix(15)), stackSize,
        { pointer in
          guard let pointer else { return }
          let thread = Unmanaged<LoopThread>.fromOpaque(pointer).takeRetainedValue()
          thread.hasBody.wait()
          thread.body.withLock { $0.take() }?()
        }, thread.toOpaque())
      guard hasStarted else {
        thread.release()
        return nil
      }
    }

    func run(_ body: @escaping @Sendable () -> Void) {
      self.body.withLock { $0 = body }
      hasBody.signal()
    }
  }

  /// Stops the loops when the process ends: OpenSSL then frees what all its connections use, and a thread that was within one
  /// would crash.
  enum LoopsAtExit {
    /// For how long the end of the process waits at most, in nanoseconds: the thread that ends it may be that of a loop.
    private static var patience: UInt64 { 500_000_000 }
    private static let loops = Locked<[@Sendable () -> Bool]>([])

    /// Whether the process ends: no turn may begin, and one with many events, such as handshakes, stops between them.
    static var isDue: Bool { ekn_loops_are_stopped() }

    /// - Parameter isFree: Whether a loop is between two turns.
    static func add(isFree: @escaping @Sendable () -> Bool) {
      handler
      loops.withLock { $0.append(isFree) }
    }

    private static let handler: Void = {
      // Handlers run in reverse order.
      ekn_tls_initialise()
      atexit {
        ekn_loops_stop()
        let end = MonotonicClock.now().addingClamped(LoopsAtExit.patience)
        for isFree in LoopsAtExit.loops.withLock({ $0 }) {
          while !isFree(), MonotonicClock.now() < end { usleep(200) }
        }
      }
    }()
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

  /// Returns the events for which the poller watches a socket; `nil` if it does not.
  func events(of socket: Int32) -> Int32? {
    sockets.indices.contains(Int(socket)) ? sockets[Int(socket)].events : nil
  }
}

#if os(Linux)
  extension EventLoop {
    /// Watches a socket for a connection; 0 stands for ``opening``. This is done immediately, never later in the turn: by
    /// then a descriptor may have been closed and its number reused.
    func watch(_ socket: Int32, _ what: Int32, connection: UInt32) {
      let tag = UInt64(connection) << 32 | UInt64(UInt32(bitPattern: socket))
      if what == EKN_POLL_REMOVE {
        guard sockets.events(of: socket) != nil else { return }
        sockets.remove(socket)
      } else if !sockets.watch(socket, what, tag: tag) {
        return
      }
      poller.watch(socket, what, tag: tag)
    }

    /// Stops watching a socket that is about to be closed. The poller only does that by itself if no other process has
    /// inherited the socket.
    func willClose(_ socket: Int32) {
      if sockets.events(of: socket) != nil { poller.watch(socket, Int32(EKN_POLL_REMOVE), tag: 0) }
      sockets.remove(socket)
    }

    /// - Parameter withErrors: Whether to act on errors. Not after a request was started directly, because the number
    ///   may belong to another socket by now: if it does not, the next wait reports the error again. Trying a socket
    ///   that is not ready does no harm.
    func act(on ready: ArraySlice<ekn_ready>, withErrors: Bool) {
      for event in ready where withErrors || event.events & Int32(EKN_CSELECT_ERR) == 0 {
        guard !LoopsAtExit.isDue else { return }
        let socket = Int32(bitPattern: UInt32(truncatingIfNeeded: event.tag))
        let number = UInt32(truncatingIfNeeded: event.tag >> 32)
        if number == 0 {
          opening?.act(on: socket, events: event.events)
        } else if sockets.events(of: socket) != 0 {
          // Otherwise the event is an earlier one: now another thread waits for the socket (``DirectWait``).
          connections[number]?.ready(socket, events: event.events)
        }
      }
    }
  }
#endif

/// The state that the thread of an event loop shares with the threads that start a request directly.
struct LoopTurn {
  /// The time until which the thread sleeps if it is not woken.
  private(set) var alarm = UInt64.max
  /// Whether a request was started directly while the thread slept.
  var hadDirectStart = false
  /// The number of responses that were received by the threads that had started their requests.
  var directResponseCount = 0
  /// How often consumers have received something from the wire.
  var directReadCount = 0
  /// The maximum number of concurrent requests since there were none.
  private var peak = 0
  private(set) var isIdle = true

  /// Whether a request may be started on the thread that submits it: nothing is in progress, and requests arrive one at
  /// a time. For requests that arrive together, one turn of the loop is worth more than beginning the first at once.
  var allowsDirectStart: Bool { isIdle && peak <= 1 }

  mutating func began(_ requests: Int) {
    guard requests > 0 else { return }
    peak = isIdle ? requests : max(peak, requests)
    isIdle = false
  }

  mutating func ended(_ requests: Int) { isIdle = requests == 0 }

  /// Sets the alarm.
  ///
  /// - Parameters:
  ///   - due: When a request in progress needs the thread; `.max` for never.
  ///   - cleanup: When an unused resource has to be freed; `.max` for never.
  /// - Returns: The number of nanoseconds for which the thread may sleep; -1 for ever.
  mutating func sleep(due: UInt64, cleanup: UInt64, now: UInt64) -> Int64 {
    // If nothing is in progress any more, an earlier alarm is kept: the next request, whose deadline will be later,
    // then does not need to wake the thread.
    if due != .max || alarm <= now || cleanup < alarm { alarm = min(due, cleanup) }
    return LoopTime.sleep(until: alarm, now: now)
  }
}

/// Conversions of libcurl's and epoll's delays, in nanoseconds of the loop's clock.
enum LoopTime {
  /// Returns when a timer that libcurl requests is due, or `.max` if it requests none (less than 0).
  static func timer(milliseconds: Int, now: UInt64) -> UInt64 {
    guard milliseconds >= 0 else { return .max }
    // libcurl rounds its delay down, and does not request the timer again after a call that comes too early.
    return milliseconds == 0
      ? 0 : now.addingClamped((.milliseconds(milliseconds) + Duration.milliseconds(1)).clampedNanoseconds)
  }

  /// Returns for how many nanoseconds a loop may sleep; -1 for ever, if `alarm` is `.max`.
  static func sleep(until alarm: UInt64, now: UInt64) -> Int64 {
    guard alarm != .max else { return -1 }
    return alarm > now ? Int64(clamping: alarm - now) : 0
  }
}

/// The deadlines of the transfers of one event loop: a binary heap whose elements know their index, so that in the
/// usual case (a transfer that ends long before its deadline) the entry is removed at once and leaves nothing behind.
struct DeadlineHeap<Element: DeadlineHeapElement> {
  private var entries: [(deadline: UInt64, element: Element)] = []

  var first: UInt64? { entries.first?.deadline }

  mutating func insert(_ element: Element, at deadline: UInt64) {
    entries.append((deadline, element))
    element.deadlineIndex = entries.count - 1
    siftUp(entries.count - 1)
  }

  mutating func remove(_ element: Element) {
    let index = element.deadlineIndex
    guard index >= 0 else { return }
    element.deadlineIndex = -1
    let last = entries.count - 1
    if index != last {
      entries[index] = entries[last]
      entries[index].element.deadlineIndex = index
    }
    entries.removeLast()
    if index < entries.count {
      siftDown(index)
      siftUp(index)
    }
  }

  /// Removes and returns the element with the earliest deadline, if that is not after `now`.
  mutating func popFirst(notAfter now: UInt64) -> Element? {
    guard let first = entries.first, first.deadline <= now else { return nil }
    remove(first.element)
    return first.element
  }

  private mutating func siftUp(_ start: Int) {
    var index = start
    while index > 0 {
      let parent = (index - 1) / 2
      guard entries[index].deadline < entries[parent].deadline else { return }
      swap(index, parent)
      index = parent
    }
  }

  private mutating func siftDown(_ start: Int) {
    var index = start
    while true {
      var smallest = index
      for child in [2 * index + 1, 2 * index + 2]
      where child < entries.count && entries[child].deadline < entries[smallest].deadline {
        smallest = child
      }
      guard smallest != index else { return }
      swap(index, smallest)
      index = smallest
    }
  }

  private mutating func swap(_ first: Int, _ second: Int) {
    entries.swapAt(first, second)
    entries[first].element.deadlineIndex = first
    entries[second].element.deadlineIndex = second
  }
}

protocol DeadlineHeapElement: AnyObject {
  /// The element's index in the heap; -1 if it is in none.
  var deadlineIndex: Int { get set }
}
