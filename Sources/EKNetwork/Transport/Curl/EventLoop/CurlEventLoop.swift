#if os(Linux)
  import CCurl
  import Foundation
  import FoundationNetworking

  /// One thread that drives transfers: its own epoll, and `curl_multi_socket_action` for the sockets that are
  /// ready. `curl_multi_poll` would look at every waiting transfer in every turn.
  ///
  /// A turn: tell libcurl about ready sockets, take all submissions, collect what has finished, begin what may begin, fire
  /// timers, hand everything to the consumers, sleep. Batching each of these is worth half of the throughput. Where
  /// nothing is under way, a request is started in a turn on the thread that submits it: waking the loop's thread first
  /// would take longer than that.
  ///
  /// libcurl gets what can begin at once, and nothing else: those who wait are in `queue`.
  ///
  /// Unchecked: `poller`, `group` and `index` are for every thread; all other state, and libcurl, belong to the thread that holds
  /// `turn`.
  final class CurlEventLoop: @unchecked Sendable {
    /// How long connections are kept for the next request: as long as libcurl uses them again (CURLOPT_MAXAGE_CONN).
    static let defaultPoolLifetime = Duration.seconds(118)

    enum Operation {
      case start(CurlTransfer)
      case cancel(CurlTransfer)
      case resumeReceiving(CurlTransfer)
      case resumeSending(CurlTransfer)
      /// From the loop whose queue it is in: carry it out.
      case take(CurlTransfer)
      /// From the loop that has carried it out: it is over, or to be sent again.
      case takeBack(CurlTransfer, resends: Bool)
    }

    private static let noResources = "libcurl is out of resources"
    private static let eventCapacity = 256
    /// How often requests may begin within a turn because others have ended in it.
    private static let maximumPasses = 8
    /// How many turns at most the deadlines wait for events that have not been looked at.
    private static let maximumBatches = 16

    let capabilities: CurlCapabilities
    let group: LoopGroup<CurlEventLoop>
    let index: Int
    let poller: LoopPoller<Operation>
    private let turn = Locked(LoopTurn())

    private(set) var now = MonotonicClock.now()
    var pools: CurlPools
    var queue: RequestQueue<CurlTransfer>
    var deadlines = DeadlineHeap<CurlTransfer>()
    /// Transfers in queues of other loops that this one carries out.
    var borrowed: Set<ObjectIdentifier> = []
    var sockets = WatchedSockets()
    /// With something for their consumers.
    var dirty: [CurlTransfer] = []
    /// Something came from the server while their bodies had nothing to send.
    var heard: [CurlTransfer] = []
    var deliveries: [CurlTransfer.Queue.Delivery] = []

    /// Lives as long as the process does, and costs nothing while nothing happens. `nil` when libcurl cannot be used, or while
    /// the process has no descriptors left.
    ///
    /// - Parameters:
    ///   - poolLifetime: How long unused connections are kept.
    ///   - group: The loops that help each other.
    ///   - index: This loop's in the group.
    init?(poolLifetime: Duration, group: LoopGroup<CurlEventLoop>, index: Int) {
      guard let capabilities = CurlLibrary.capabilities, let poller = LoopPoller<Operation>() else { return nil }
      self.group = group
      self.index = index
      self.capabilities = capabilities
      self.poller = poller
      pools = CurlPools(lifetime: poolLifetime.clampedNanoseconds)
      queue = RequestQueue(mayShareConnections: capabilities.speaksHTTP2, loops: group.count)
      poller.startThread(named: "EKNetwork") { [self] in run() }
    }

    /// Queues an operation. From any thread; never waits for the loop.
    func submit(_ operation: Operation) {
      if case .start(let transfer) = operation, transfer.request.isQuickToStart, startDirectly(transfer) { return }
      poller.submit(operation)
    }

    /// How many pools there are.
    var poolCount: Int { turn.withLock { _ in pools.count } }

    /// How many sockets the poller watches.
    var watchedCount: Int { turn.withLock { _ in sockets.count } }

    /// Starts a transfer on the calling thread, if the turn is free and nothing is under way.
    private func startDirectly(_ transfer: CurlTransfer) -> Bool {
      var finished: [CurlTransfer.Queue.Delivery] = []
      let mustWake: Bool? = turn.withLockIfFree { turn -> Bool? in
        guard turn.allowsDirectStart else { return nil }
        let wasHeld = ekn_hold_broken_pipe_signal()
        now = MonotonicClock.now()
        turn.hadDirectStart = true
        start(transfer)
        finishTurn(&turn, into: &finished, expires: true)
        ekn_release_broken_pipe_signal(wasHeld)
        return min(due, pools.cleanup) < turn.alarm
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
      var fullBatches = 0
      while true {
        // Behind a full batch there are more, perhaps just for what would time out: the process may have been stopped.
        fullBatches = count < Self.eventCapacity - 1 ? 0 : (fullBatches + 1) % Self.maximumBatches
        turn.withLock { turn in
          now = MonotonicClock.now()
          act(on: ready[..<count], withErrors: !turn.hadDirectStart)
          turn.hadDirectStart = false
          poller.take(&operations)
          for operation in operations { perform(operation) }
          operations.removeAll(keepingCapacity: operations.count <= 1024)
          finishTurn(&turn, into: &finished, expires: fullBatches == 0)
          pools.freeUnused(now: now)
        }
        for delivery in finished { delivery.resume() }
        finished.removeAll(keepingCapacity: true)
        count = poller.wait(into: &ready) {
          turn.withLock { $0.sleep(due: due, cleanup: pools.cleanup, now: MonotonicClock.now()) }
        }
      }
    }

    // MARK: - A turn

    /// - Parameter expires: Whether transfers whose time is over are ended.
    private func finishTurn(
      _ turn: inout LoopTurn, into finished: inout [CurlTransfer.Queue.Delivery], expires: Bool
    ) {
      turn.began(queue.count + borrowed.count)
      collectFinished()
      if expires { expireDeadlines() }
      admit()
      var passes = 0
      while passes < Self.maximumPasses, pools.fireTimers(now: now) {
        collectFinished()
        passes += 1
        // What could not begin in this turn has a timer that is due: the next one comes at once.
        guard admit() else { break }
      }
      gatherDeliveries(into: &finished)
      admit()
      turn.ended(queue.count + borrowed.count)
    }

    private func perform(_ operation: Operation) {
      if passesOn(operation) { return }
      switch operation {
      case .start(let transfer): start(transfer)
      case .take(let transfer): borrow(transfer)
      case .takeBack(let transfer, let resends): takeBack(transfer, resends: resends)
      case .cancel(let transfer): remove(transfer)
      case .resumeReceiving(let transfer): resume(transfer, bit: Int(EKN_PAUSE_RECV))
      case .resumeSending(let transfer): resume(transfer, bit: Int(EKN_PAUSE_SEND))
      }
    }

    /// Puts a transfer into its queue.
    private func start(_ transfer: CurlTransfer) {
      guard !transfer.isOver else { return }
      guard let pool = pools.acquire(transfer.request.pool, for: self) else { return fail(transfer) }
      transfer.loopPool = pool
      transfer.loopSubmitted = now
      transfer.loopTicket = queue.submit(
        transfer,
        key: .init(session: transfer.request.session, pool: pool.index, origin: transfer.request.origin),
        connections: transfer.request.connectionsPerHost)
      if transfer.request.deadline != .max { deadlines.insert(transfer, at: transfer.request.deadline) }
    }

    /// Begins whatever may begin. Whether there was something.
    @discardableResult
    private func admit() -> Bool {
      let waiting = queue.waitingCount
      while let (transfer, ticket) = queue.next() {
        if !lend(transfer, ticket) { begin(transfer) }
      }
      return queue.waitingCount < waiting
    }

    func begin(_ transfer: CurlTransfer) {
      // Cancelled while it waited; the loop has not come to that yet.
      if transfer.loopSubmitted < now, transfer.isOver { return remove(transfer) }
      transfer.loopLastActivity = now
      transfer.loopBegun = now
      transfer.request.upload?.setReadyHandler { [weak self, weak transfer] in
        if let self, let transfer { submit(.resumeSending(transfer)) }
      }
      guard let pool = transfer.loopPool, pool.add(transfer) else {
        if let refusal = transfer.loopFailure { return finish(transfer, with: refusal) }
        return fail(transfer)
      }
      if !pool.reportsSending { sent(transfer, port: 0) }
      deadlines.remove(transfer)
      deadlines.insert(transfer, at: transfer.loopDeadline)
    }

    func fail(_ transfer: CurlTransfer, _ code: URLError.Code = .unknown, _ text: String = noResources) {
      finish(transfer, with: CurlError.make(code, text, url: transfer.request.url))
    }

    /// libcurl sends a transfer's request, from this local port.
    func sent(_ transfer: CurlTransfer, port: Int32) {
      transfer.loopLastActivity = now
      guard transfer.request.mayUseHTTP2, let ticket = transfer.loopTicket else { return }
      queue.sent(ticket, port: port)
    }

    /// A transfer's response head is there.
    func responded(_ transfer: CurlTransfer, isHTTP2: Bool) {
      guard transfer.request.mayUseHTTP2, let ticket = transfer.loopTicket else { return }
      queue.responded(ticket, isHTTP2: isHTTP2)
    }

    private func resume(_ transfer: CurlTransfer, bit: Int) {
      guard let handle = transfer.loopHandle, transfer.loopPauseBits & bit != 0 else { return }
      transfer.loopPauseBits &= ~bit
      if bit == Int(EKN_PAUSE_SEND) { transfer.loopPool?.goesOn(transfer) }
      if capabilities.readsWhilePaused { transfer.loopPool?.watchAgain(handle) }
      transfer.loopLastActivity = now
      deadlines.remove(transfer)
      deadlines.insert(transfer, at: transfer.loopDeadline)
      _ = ekn_easy_pause(handle.easy, Int32(transfer.loopPauseBits))
    }

    private func collectFinished() {
      for case let pool? in pools.all where pool.activeCount > 0 {
        while let (transfer, code) = pool.nextFinished() {
          ended(transfer, code)
        }
      }
      lookAtPausedBodies()
    }

    func ended(_ transfer: CurlTransfer, _ code: Int) {
      if transfer.loopMayResend(after: code) {
        transfer.loopPool?.remove(transfer)
        deadlines.remove(transfer)
        return resend(transfer)
      }
      transfer.loopMeasure()
      finish(transfer, with: transfer.loopError(code: code))
    }

    private func expireDeadlines() {
      while let transfer = deadlines.popFirst(notAfter: now) {
        transfer.loopLook(at: now)
        // Who waits for another request on the same connection does not wait for the server. Who connects has a socket.
        if transfer.request.deadline > now, transfer.loopHandle?.watched == nil, let ticket = transfer.loopTicket,
          queue.waitsForStream(ticket)
        {
          transfer.loopLastActivity = now
        }
        guard transfer.loopDeadline <= now else {
          deadlines.insert(transfer, at: transfer.loopDeadline)
          continue
        }
        let wait = transfer.loopHandle == nil ? " while all connections to the host were in use" : ""
        fail(transfer, .timedOut, "The request timed out" + wait)
      }
    }

    /// Ends a transfer; its consumer hears of it at the end of the turn.
    private func finish(_ transfer: CurlTransfer, with error: (any Error)?) {
      remove(transfer)
      transfer.loopOutcome = error.map { .failure($0) } ?? .success(())
      markDirty(transfer)
    }

    func remove(_ transfer: CurlTransfer) {
      deadlines.remove(transfer)
      transfer.request.upload?.close()
      if let pool = transfer.loopPool {
        if transfer.loopHandle != nil { pool.remove(transfer) }
        transfer.loopPool = nil
        pools.release(pool, now: now)
      }
      if let ticket = transfer.loopTicket { queue.remove(ticket) }
      transfer.loopTicket = nil
      giveBack(transfer, resends: false)
    }

    /// When a timer or a deadline is due.
    private var due: UInt64 { min(deadlines.first ?? .max, pools.timer) }
  }
#endif
