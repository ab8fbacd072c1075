#if os(Linux)
  import CCurl
  import Foundation
  import FoundationNetworking

  /// One thread that drives every transfer: its own epoll, and `curl_multi_socket_action` for the sockets that are
  /// ready. `curl_multi_poll` would look at every waiting transfer in every turn.
  ///
  /// A turn: take all submissions, fire timers, tell libcurl about ready sockets, collect what has finished, hand
  /// everything to the consumers, sleep. Batching each of these is worth half of the throughput.
  ///
  /// Unchecked: `poller` is for every thread; all other state belongs to the loop's thread, which alone calls `run` and the
  /// methods after it.
  final class CurlEventLoop: @unchecked Sendable {
    /// The loop of the process. It lives as long as the process does, and costs nothing while nothing happens. `nil`
    /// when libcurl cannot be opened.
    static let shared: CurlEventLoop? = CurlEventLoop()

    enum Operation {
      case start(CurlTransfer)
      case cancel(CurlTransfer)
      case resumeReceiving(CurlTransfer)
      case resumeSending(CurlTransfer)
    }

    private static let eventCapacity = 256

    private let poller: LoopPoller<Operation>

    private(set) var now = MonotonicClock.now()
    private var pools: [CurlPool] = []
    private var deadlines = DeadlineHeap<CurlTransfer>()
    private var dirty: [CurlTransfer] = []
    private var deliveries: [CurlTransfer.Queue.Delivery] = []

    private init?() {
      guard ekn_curl_load(), let poller = LoopPoller<Operation>() else { return nil }
      self.poller = poller
      let thread = Thread { [unowned self] in run() }
      thread.name = "EKNetwork"
      thread.stackSize = 1 << 20
      thread.start()
    }

    /// Queues an operation. From any thread; never blocks on the loop.
    func submit(_ operation: Operation) { poller.submit(operation) }

    // MARK: - The loop's thread

    private func run() {
      ekn_block_broken_pipe_signal()
      var operations: [Operation] = []
      var ready = [ekn_ready](repeating: ekn_ready(), count: Self.eventCapacity)
      while true {
        poller.take(&operations)
        for operation in operations { perform(operation) }
        operations.removeAll(keepingCapacity: operations.count <= 1024)
        fireTimers()
        collectFinished()
        expireDeadlines()
        deliverAll()
        wait(into: &ready)
      }
    }

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
        finish(transfer, with: CurlError.make(.unknown, "libcurl is out of resources", url: transfer.request.url))
        return
      }
      deadlines.insert(transfer, at: transfer.loopDeadline)
    }

    private func resume(_ transfer: CurlTransfer, bit: Int) {
      guard let handle = transfer.loopHandle, transfer.loopPauseBits & bit != 0 else { return }
      transfer.loopPauseBits &= ~bit
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
      }
    }

    private func deliverAll() {
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
      for delivery in deliveries { delivery.resume() }
      deliveries.removeAll(keepingCapacity: true)
    }

    // MARK: - Sockets

    /// libcurl wants to know when a socket is ready. Done at once, never later in the turn: a descriptor may be closed
    /// and its number be somebody else's by then.
    func watch(_ socket: Int32, _ what: Int32, pool: Int) {
      poller.watch(socket, what, tag: UInt64(pool) << 32 | UInt64(UInt32(bitPattern: socket)))
    }

    private func wait(into ready: inout [ekn_ready]) {
      let count = poller.wait(into: &ready) { timeout() }
      now = MonotonicClock.now()
      for event in ready[..<count] {
        pools[Int(event.tag >> 32)].act(
          on: Int32(bitPattern: UInt32(truncatingIfNeeded: event.tag)), events: event.events)
      }
    }

    /// Milliseconds until a timer or a deadline, rounded up; -1 for none.
    private func timeout() -> Int32 {
      var next = deadlines.first ?? .max
      for pool in pools { next = min(next, pool.timer ?? .max) }
      guard next != .max else { return -1 }
      let current = MonotonicClock.now()
      guard next > current else { return 0 }
      return Int32(clamping: (next - current + 999_999) / 1_000_000)
    }
  }
#endif
