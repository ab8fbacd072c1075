#if os(Linux)
  import CCurl
  import Foundation
  import FoundationNetworking

  /// One thread that drives every transfer: its own epoll, and `curl_multi_socket_action` for the sockets that are
  /// ready. `curl_multi_poll` would look at every waiting transfer in every turn.
  ///
  /// A turn: tell libcurl about ready sockets, take all submissions, fire timers, collect what has finished, hand
  /// everything to the consumers, sleep. Batching each of these is worth half of the throughput. Where nothing is under
  /// way, whoever brings a request has a turn of his own to send it: waking the thread first would take longer than that.
  ///
  /// Unchecked: `poller` is for every thread; all other state, and libcurl, belong to whoever holds `turn`.
  final class CurlEventLoop: @unchecked Sendable {
    /// The loop of the process. It lives as long as the process does, and costs nothing while nothing happens. `nil`
    /// when libcurl cannot be used, or while the process has no descriptors left: the next request tries again.
    static var shared: CurlEventLoop? {
      loop.withLock { loop in
        if loop == nil { loop = CurlEventLoop() }
        return loop
      }
    }

    private static let loop = Locked<CurlEventLoop?>(nil)

    /// Why a request cannot begin while there is no loop.
    static var startError: any Error {
      URLError(
        .resourceUnavailable,
        userInfo: [NSLocalizedDescriptionKey: "The process has no file descriptors left to make a request with"])
    }

    enum Operation {
      case start(CurlTransfer)
      case cancel(CurlTransfer)
      case resumeReceiving(CurlTransfer)
      case resumeSending(CurlTransfer)
    }

    private struct Turn {
      /// Until when the thread sleeps, if nobody wakes it.
      var alarm = UInt64.max
      /// Whether somebody else has had a turn while the thread slept.
      var hadGuest = false
      /// How many transfers have been under way at once since there were none.
      var crowd = 0
      var isIdle = true

      /// Whether requests come one after the other. Of those that come together the loop makes one turn, which is worth
      /// more than to begin with the first of them at once.
      var isForGuests: Bool { isIdle && crowd <= 1 }

      mutating func began(_ active: Int) {
        guard active > 0 else { return }
        crowd = isIdle ? active : max(crowd, active)
        isIdle = false
      }
    }

    private static let eventCapacity = 256

    let capabilities: CurlCapabilities
    private let poller: LoopPoller<Operation>
    private let turn = Locked(Turn())

    private(set) var now = MonotonicClock.now()
    private var pools: [CurlPool] = []
    private var deadlines = DeadlineHeap<CurlTransfer>()
    private var dirty: [CurlTransfer] = []
    private var deliveries: [CurlTransfer.Queue.Delivery] = []

    private init?() {
      guard let capabilities = CurlLibrary.capabilities, let poller = LoopPoller<Operation>() else { return nil }
      self.capabilities = capabilities
      self.poller = poller
      let thread = Thread { [unowned self] in run() }
      thread.name = "EKNetwork"
      thread.stackSize = 1 << 20
      thread.start()
    }

    /// Queues an operation. From any thread; never waits for the loop.
    func submit(_ operation: Operation) {
      if case .start(let transfer) = operation, transfer.request.isQuickToStart, startAsGuest(transfer) { return }
      poller.submit(operation)
    }

    /// Starts a transfer on the calling thread, if the turn is free and nothing is under way.
    private func startAsGuest(_ transfer: CurlTransfer) -> Bool {
      var finished: [CurlTransfer.Queue.Delivery] = []
      let mustWake: Bool? = turn.withLockIfFree { turn -> Bool? in
        guard turn.isForGuests else { return nil }
        let wasHeld = ekn_hold_broken_pipe_signal()
        now = MonotonicClock.now()
        turn.hadGuest = true
        start(transfer)
        turn.began(activeCount)
        fireTimers()
        collectFinished()
        gatherDeliveries(into: &finished)
        turn.isIdle = activeCount == 0
        ekn_release_broken_pipe_signal(wasHeld)
        return nextAlarm < turn.alarm
      }.flatMap { $0 }
      guard let mustWake else { return false }
      if mustWake { poller.wake() }
      for delivery in finished { delivery.resume() }
      return true
    }

    // MARK: - The loop's thread

    private func run() {
      ekn_block_broken_pipe_signal()
      var operations: [Operation] = []
      var finished: [CurlTransfer.Queue.Delivery] = []
      var ready = [ekn_ready](repeating: ekn_ready(), count: Self.eventCapacity)
      var count = 0
      while true {
        turn.withLock { turn in
          now = MonotonicClock.now()
          act(on: ready[..<count], withErrors: !turn.hadGuest)
          turn.hadGuest = false
          poller.take(&operations)
          for operation in operations { perform(operation) }
          operations.removeAll(keepingCapacity: operations.count <= 1024)
          turn.began(activeCount)
          fireTimers()
          collectFinished()
          expireDeadlines()
          gatherDeliveries(into: &finished)
          turn.isIdle = activeCount == 0
        }
        for delivery in finished { delivery.resume() }
        finished.removeAll(keepingCapacity: true)
        count = poller.wait(into: &ready) { turn.withLock { timeout(&$0.alarm) } }
      }
    }

    // MARK: - A turn

    private var activeCount: Int { pools.reduce(0) { $0 + $1.activeCount } }

    private func perform(_ operation: Operation) {
      switch operation {
      case .start(let transfer): start(transfer)
      case .cancel(let transfer): remove(transfer)
      case .resumeReceiving(let transfer): resume(transfer, bit: Int(EKN_PAUSE_RECV))
      case .resumeSending(let transfer): resume(transfer, bit: Int(EKN_PAUSE_SEND))
      }
    }

    private func start(_ transfer: CurlTransfer) {
      guard !transfer.isOver else { return }
      transfer.loopLastActivity = now
      transfer.request.upload?.setReadyHandler { [weak self, weak transfer] in
        if let self, let transfer { submit(.resumeSending(transfer)) }
      }
      guard let pool = pool(transfer.request.pool), pool.add(transfer) else {
        finish(
          transfer,
          with: transfer.loopFailure
            ?? CurlError.make(.unknown, "libcurl is out of resources", url: transfer.request.url))
        return
      }
      deadlines.insert(transfer, at: transfer.loopDeadline)
    }

    private func resume(_ transfer: CurlTransfer, bit: Int) {
      guard let handle = transfer.loopHandle, transfer.loopPauseBits & bit != 0 else { return }
      transfer.loopPauseBits &= ~bit
      if capabilities.readsWhilePaused { pool(transfer.request.pool)?.watchAgain(handle) }
      transfer.loopLastActivity = now
      deadlines.remove(transfer)
      deadlines.insert(transfer, at: transfer.loopDeadline)
      _ = ekn_easy_pause(handle.easy, Int32(transfer.loopPauseBits))
    }

    private func pool(_ key: CurlPool.Key) -> CurlPool? {
      if let pool = pools.first(where: { $0.key == key }) { return pool }
      guard let pool = CurlPool(index: pools.count, key: key, eventLoop: self) else { return nil }
      pools.append(pool)
      return pool
    }

    private func fireTimers() {
      for pool in pools {
        guard let timer = pool.timer, timer <= now else { continue }
        pool.timer = nil
        pool.act(on: Int32(EKN_SOCKET_TIMEOUT), events: 0)
      }
    }

    private func collectFinished() {
      for pool in pools where pool.activeCount > 0 {
        while let (transfer, code) = pool.nextFinished() {
          if transfer.loopMayResend(after: code), pool.resend(transfer) { continue }
          transfer.loopMeasure()
          finish(transfer, with: transfer.loopError(code: code))
        }
      }
    }

    private func expireDeadlines() {
      while let transfer = deadlines.popFirst(notAfter: now) {
        transfer.loopLook(at: now)
        let deadline = transfer.loopDeadline
        if deadline > now {
          deadlines.insert(transfer, at: deadline)
        } else {
          finish(transfer, with: CurlError.make(.timedOut, "The request timed out", url: transfer.request.url))
        }
      }
    }

    /// Ends a transfer; its consumer hears of it at the end of the turn.
    private func finish(_ transfer: CurlTransfer, with error: (any Error)?) {
      remove(transfer)
      transfer.loopOutcome = error.map { .failure($0) } ?? .success(())
      markDirty(transfer)
    }

    private func remove(_ transfer: CurlTransfer) {
      deadlines.remove(transfer)
      transfer.request.upload?.close()
      guard transfer.loopHandle != nil else { return }
      pool(transfer.request.pool)?.remove(transfer)
    }

    // MARK: - Delivery

    func markDirty(_ transfer: CurlTransfer) {
      guard !transfer.loopIsDirty else { return }
      transfer.loopIsDirty = true
      dirty.append(transfer)
    }

    /// Hands on what a transfer has gathered, and stops its receiving when its consumer is behind.
    func deliver(_ transfer: CurlTransfer) {
      let delivery = transfer.loopDeliver()
      if delivery.head != nil || delivery.chunk != nil { deliveries.append(delivery) }
      if delivery.pauses, let handle = transfer.loopHandle {
        transfer.loopPauseBits |= Int(EKN_PAUSE_RECV)
        _ = ekn_easy_pause(handle.easy, Int32(transfer.loopPauseBits))
        if capabilities.readsWhilePaused { pool(transfer.request.pool)?.watchAgain(handle) }
      }
    }

    /// Consumers are told once the turn is over: what they go on with is theirs.
    private func gatherDeliveries(into finished: inout [CurlTransfer.Queue.Delivery]) {
      for transfer in dirty {
        transfer.loopIsDirty = false
        if transfer.loopIsAnsweredEarly {
          transfer.loopMeasure()
          remove(transfer)
          transfer.loopOutcome = .success(())
        }
        deliver(transfer)
      }
      dirty.removeAll(keepingCapacity: true)
      swap(&deliveries, &finished)
    }

    // MARK: - Sockets

    /// libcurl wants to know when a socket is ready. Done at once, never later in the turn: a descriptor may be closed
    /// and its number be somebody else's by then.
    func watch(_ socket: Int32, _ what: Int32, pool: Int) {
      poller.watch(socket, what, tag: UInt64(pool) << 32 | UInt64(UInt32(bitPattern: socket)))
    }

    /// - Parameter withErrors: Whether to believe in errors. Not after a guest's turn, for the number may be another
    ///   socket's by now: if it is not, the next wait brings the error again. To try what is not ready does no harm.
    private func act(on ready: ArraySlice<ekn_ready>, withErrors: Bool) {
      for event in ready where withErrors || event.events & Int32(EKN_CSELECT_ERR) == 0 {
        pools[Int(event.tag >> 32)].act(
          on: Int32(bitPattern: UInt32(truncatingIfNeeded: event.tag)), events: event.events)
      }
    }

    /// When a timer or a deadline is due.
    private var nextAlarm: UInt64 { pools.reduce(deadlines.first ?? .max) { min($0, $1.timer ?? .max) } }

    /// Milliseconds until the thread has to wake, rounded up; -1 for never.
    private func timeout(_ alarm: inout UInt64) -> Int32 {
      let current = MonotonicClock.now()
      let next = nextAlarm
      // Where nothing is due any more, the last alarm stays: with it in place the next request, whose deadline will be
      // later, needs not wake the thread.
      if next != .max || alarm <= current { alarm = next }
      guard alarm != .max else { return -1 }
      guard alarm > current else { return 0 }
      return Int32(clamping: (alarm - current + 999_999) / 1_000_000)
    }
  }
#endif
