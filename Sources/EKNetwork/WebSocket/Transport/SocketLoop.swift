#if os(Linux)
  import CCurl
  import Foundation

  /// A thread for WebSocket connections. Only this thread uses their handles, as libcurl requires.
  ///
  /// Unchecked: any thread may use `poller`; all other state belongs to the loop's thread.
  final class SocketLoop: @unchecked Sendable {
    /// The loop for a new connection, chosen in round-robin order. `nil` if libcurl cannot be used, or while the
    /// process can have no more threads or descriptors.
    static var next: SocketLoop? { loops[turn.withLock { $0.increment() } % loops.count] }

    private static let loops = LoopGroup(count: LoopCount.ofProcess) { SocketLoop() }
    private static let turn = Locked(0)

    typealias Operation = @Sendable () -> Void

    private static let eventCapacity = 256

    private let poller: LoopPoller<Operation>
    /// Locked while the loop is at work. Not empty: the thread sanitizer takes an access to an empty state for one to the
    /// lock itself.
    private let work = Locked(false)
    private var transports: [UInt32: CurlByteTransport] = [:]
    private var timers: [UInt32: UInt64] = [:]
    private var nextNumber: UInt32 = 0
    /// The buffer into which every connection receives, before its bytes are copied.
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 * 1024, alignment: 4096)

    private init?() {
      guard CurlLibrary.capabilities != nil, let poller = LoopPoller<Operation>(named: "EKNetwork.WebSocket") else {
        return nil
      }
      self.poller = poller
      poller.startThread { [self] in run() }
      LoopsAtExit.add { [work] in work.withLockIfFree { _ in } != nil }
    }

    /// Runs an operation on the loop's thread, after those submitted before. May be called on any thread.
    func submit(_ operation: @escaping Operation) { poller.submit(operation) }

    // MARK: - The loop's thread

    func add(_ transport: CurlByteTransport) -> UInt32 {
      repeat { nextNumber &+= 1 } while transports[nextNumber] != nil || nextNumber == .max
      transports[nextNumber] = transport
      return nextNumber
    }

    func remove(_ number: UInt32) {
      transports[number] = nil
      timers[number] = nil
    }

    /// Sets when to call a connection again that is being opened, or that cannot send; -1 for never.
    func setTimer(_ number: UInt32, milliseconds: Int) {
      let time = LoopTime.timer(milliseconds: milliseconds, now: MonotonicClock.now())
      timers[number] = time < .max ? time : nil
    }

    func watch(_ socket: Int32, _ what: Int32, number: UInt32) {
      poller.watch(socket, what, tag: UInt64(number) << 32 | UInt64(UInt32(bitPattern: socket)))
    }

    private func run() {
      _ = ekn_hold_broken_pipe_signal()
      var operations: [Operation] = []
      var ready = [ekn_ready](repeating: ekn_ready(), count: Self.eventCapacity)
      var count = 0
      while true {
        let isOver = work.withLock { _ in
          guard !LoopsAtExit.isDue else { return true }
          act(on: ready[..<count])
          poller.take(&operations)
          for operation in operations { operation() }
          operations.removeAll(keepingCapacity: operations.count <= 1024)
          fireTimers()
          return false
        }
        if isOver { return }
        count = poller.wait(into: &ready) { timeout() }
      }
    }

    private func fireTimers() {
      guard !timers.isEmpty else { return }
      let now = MonotonicClock.now()
      for (number, time) in timers where time <= now {
        timers[number] = nil
        transports[number]?.loopReady(Int32(EKN_SOCKET_TIMEOUT), events: 0)
      }
    }

    private func act(on ready: ArraySlice<ekn_ready>) {
      for event in ready where !LoopsAtExit.isDue {
        transports[UInt32(event.tag >> 32)]?.loopReady(
          Int32(bitPattern: UInt32(truncatingIfNeeded: event.tag)), events: event.events)
      }
    }

    private func timeout() -> Int64 {
      LoopTime.sleep(until: timers.values.min() ?? .max, now: MonotonicClock.now())
    }
  }
#endif
