#if os(Linux)
  import CCurl
  import Foundation
  import FoundationNetworking

  /// A variable of an event loop. Only the thread that holds the loop's turn uses it, so that no two uses overlap; an
  /// optimised build does not check that again on each of the many uses in a turn. It is never freed, as loops are not.
  @propertyWrapper
  struct TurnConfined<Value> {
    #if DEBUG
      private final class Storage {
        var value: Value
        init(_ value: Value) { self.value = value }
      }

      private let storage: Storage

      init(wrappedValue: Value) { storage = Storage(wrappedValue) }

      var wrappedValue: Value {
        _read { yield storage.value }
        nonmutating _modify { yield &storage.value }
      }
    #else
      private let storage: UnsafeMutablePointer<Value>

      init(wrappedValue: Value) {
        storage = .allocate(capacity: 1)
        storage.initialize(to: wrappedValue)
      }

      var wrappedValue: Value {
        _read { yield storage.pointee }
        nonmutating _modify { yield &storage.pointee }
      }
    #endif
  }

  /// A thread that drives transfers, with its own epoll instance.
  ///
  /// A turn: let the connections read and write whose sockets are ready, take all submissions, begin the transfers that may
  /// begin, fire timers, deliver everything to the consumers, sleep. Batching each of these steps is worth half of the
  /// throughput. If nothing is in progress, a request is started in a turn on the thread that submits it: waking the
  /// loop's thread first would take longer.
  ///
  /// Unchecked: `poller` may be used on every thread; all other state, and libcurl, belong to the
  /// thread that holds `turn`.
  final class EventLoop: @unchecked Sendable {
    /// How long connections are kept for the next request: as long as libcurl keeps its own (CURLOPT_MAXAGE_CONN).
    static let defaultPoolLifetime = Duration.seconds(118)

    enum Operation {
      case start(Transfer)
      case cancel(Transfer)
      case resumeReceiving(Transfer)
      case resumeSending(Transfer)
    }

    private static let eventCapacity = 256
    /// How often requests may begin within a turn because others have ended in it.
    private static let maximumPasses = 8
    /// The maximum number of turns for which deadlines wait for events that have not been handled.
    private static let maximumBatches = 16

    let capabilities: CurlCapabilities
    let poller: LoopPoller<Operation>
    /// How long a connection of HTTP/2 may be quiet before it is asked whether its server is there.
    let trustedQuiet: UInt64
    let directWait: DirectWait
    let turn = Locked(LoopTurn())

    var now = MonotonicClock.now()
    @TurnConfined var pools: ConnectionPools
    @TurnConfined var connections = LoopConnections()
    /// The connections that have something to send at the end of the turn.
    @TurnConfined var unsent: [HTTP2Connection] = []
    /// The transfer whose body its consumer reads from the wire, if that is the last one.
    @TurnConfined var held: Transfer?
    /// In which connections without TLS are opened.
    let opening = OpeningMulti()
    /// The addresses that connections with TLS have in common.
    let names = ekn_share_names()
    @TurnConfined var queue = RequestQueue<Transfer>()
    @TurnConfined var deadlines = DeadlineHeap<Transfer>()
    @TurnConfined var sockets = WatchedSockets()
    /// The transfers that have something for their consumers.
    @TurnConfined var dirty: [Transfer] = []
    /// Those of which more is about to arrive, and when the first one no longer waits for it.
    @TurnConfined var gathering: (transfers: [Transfer], end: UInt64) = ([], .max)
    @TurnConfined var deliveries: [Transfer.Queue.Delivery] = []
    /// Into which every connection receives.
    let receiveBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 * 1024, alignment: 4096)

    /// Creates a loop, which exists as long as the process and uses no CPU time while nothing happens. Returns `nil` if
    /// libcurl cannot be used, or if the process can have no more threads or descriptors.
    ///
    /// - Parameters:
    ///   - poolLifetime: How long unused connections are kept.
    ///   - trustedQuiet: ``ConnectionHealth/trustedQuiet``, or less for tests.
    ///   - directWait: What new connections begin with.
    init?(poolLifetime: Duration, trustedQuiet: UInt64, directWait: DirectWait) {
      guard let capabilities = CurlLibrary.capabilities, let poller = LoopPoller<Operation>(named: "EKNetwork") else {
        return nil
      }
      self.capabilities = capabilities
      self.poller = poller
      self.trustedQuiet = trustedQuiet
      self.directWait = directWait
      pools = ConnectionPools(lifetime: poolLifetime.clampedNanoseconds)
      opening?.onWatch = { [unowned self] in watch($0, $1, connection: 0) }
      poller.startThread { [self] in run() }
      LoopsAtExit.add { [turn] in turn.withLockIfFree { _ in } != nil }
    }

    /// Queues an operation. May be called on any thread; never waits for the loop.
    func submit(_ operation: Operation) {
      if case .start(let transfer) = operation, transfer.request.isQuickToStart, startDirectly(transfer) { return }
      poller.submit(operation)
    }

    var poolCount: Int { turn.withLock { _ in pools.count } }

    /// The number of responses for which the threads have waited that had sent the requests.
    var directResponseCount: Int { turn.withLock { $0.directResponseCount } }

    /// How often consumers of bodies have read from the wire themselves.
    var directReadCount: Int { turn.withLock { $0.directReadCount } }

    var watchedCount: Int { turn.withLock { _ in sockets.count } }

    // MARK: - The loop's thread

    private func run() {
      _ = ekn_hold_broken_pipe_signal()
      var operations: [Operation] = []
      var finished: [Transfer.Queue.Delivery] = []
      var ready = [ekn_ready](repeating: ekn_ready(), count: Self.eventCapacity)
      var count = 0
      var fullBatches = 0
      while true {
        // After a full batch there are more events, perhaps for transfers that would time out: the process may have
        // been suspended.
        fullBatches = count < Self.eventCapacity - 1 ? 0 : (fullBatches + 1) % Self.maximumBatches
        let isOver = turn.withLock { turn in
          guard !LoopsAtExit.isDue else { return true }
          now = MonotonicClock.now()
          act(on: ready[..<count], withErrors: !turn.hadDirectStart)
          turn.hadDirectStart = false
          poller.take(&operations)
          for operation in operations { perform(operation) }
          operations.removeAll(keepingCapacity: operations.count <= 1024)
          finishTurn(&turn, into: &finished, expires: fullBatches == 0)
          if pools.cleanup <= now { pools.cleanUp(now: now) }
          return false
        }
        if isOver { return }
        for delivery in finished { delivery.resume() }
        finished.removeAll(keepingCapacity: true)
        count = poller.wait(into: &ready) {
          turn.withLock { $0.sleep(due: due, cleanup: pools.cleanup, now: MonotonicClock.now()) }
        }
      }
    }

    // MARK: - A turn

    /// - Parameter expires: Whether to end transfers that have timed out.
    func finishTurn(
      _ turn: inout LoopTurn, into finished: inout [Transfer.Queue.Delivery], expires: Bool
    ) {
      turn.began(queue.count)
      if !gathering.transfers.isEmpty {
        dirty += gathering.transfers
        gathering.transfers.removeAll(keepingCapacity: true)
        gathering.end = .max
      }
      if expires { expireDeadlines() }
      admit()
      if fireConnectionTimers() { admit() }
      settle(into: &finished)
      turn.ended(queue.count)
    }

    /// Sends and delivers what the turn has brought, which may make room for other requests.
    private func settle(into finished: inout [Transfer.Queue.Delivery]) {
      for pass in 0...Self.maximumPasses {
        if pass > 0 { admit() }
        flush()
        gatherDeliveries(into: &finished)
        if unsent.isEmpty, dirty.isEmpty, !queue.mayHaveNext { return }
      }
      poller.wake()
    }

    private func perform(_ operation: Operation) {
      switch operation {
      case .start(let transfer): start(transfer)
      case .cancel(let transfer): remove(transfer)
      case .resumeReceiving(let transfer): resume(transfer, .receiving)
      case .resumeSending(let transfer): resume(transfer, .sending)
      }
    }

    func start(_ transfer: Transfer) {
      guard !transfer.isOver else { return }
      // The connection that it has may be the one that this request needs.
      if let held = exchange(&held, with: nil) {
        held.loopReleaseHold()
        resume(held, .receiving)
      }
      let pool = pools.acquire(transfer.request.connection)
      transfer.loopPool = pool
      transfer.loopSubmitted = now
      transfer.loopTicket = queue.submit(
        transfer, key: .init(session: transfer.request.session, pool: pool.index, origin: transfer.request.origin),
        connections: transfer.request.connectionsPerHost)
      if transfer.request.deadline != .max { deadlines.insert(transfer, at: transfer.request.deadline) }
    }

    private func admit() {
      while let (transfer, _) = queue.next(room: { pools.room(at: $0) }) { begin(transfer) }
    }

    func begin(_ transfer: Transfer) {
      // It was cancelled while it waited, and the loop has not handled that yet.
      if transfer.loopSubmitted < now, transfer.isOver { return remove(transfer) }
      transfer.loopLastActivity = now
      transfer.loopBegun = now
      transfer.request.upload?.setReadyHandler { [weak self, weak transfer] in
        if let self, let transfer { submit(.resumeSending(transfer)) }
      }
      guard let pool = transfer.loopPool else {
        return failed(transfer, .noResources, .init(code: CurlError.noResources))
      }
      guard isBodyAsDeclared(transfer) else { return }
      connect(transfer, in: pool)
      renewDeadline(of: transfer)
    }

    /// Whether a body is empty that is declared to be: nothing is sent before. If it is not known yet, the transfer is begun
    /// once more when it may be.
    private func isBodyAsDeclared(_ transfer: Transfer) -> Bool {
      guard let upload = transfer.request.upload, upload.isDeclaredEmpty else { return true }
      var byte: UInt8 = 0
      switch withUnsafeMutableBytes(of: &byte, { upload.read(into: $0) }) {
      case .end: return true
      case .bytes: fail(transfer, .requestBodyStreamExhausted, "The body is longer than its length")
      case .pending: transfer.loopPauses.insert(.sending)
      case .failed(let error): finish(transfer, with: error)
      }
      return false
    }

    /// Notes that something has happened that sets another deadline, if the transfer is in progress.
    func renewDeadline(of transfer: Transfer) {
      guard transfer.loopIsRunning else { return }
      deadlines.remove(transfer)
      deadlines.insert(transfer, at: transfer.loopDeadline)
    }

    func fail(_ transfer: Transfer, _ code: URLError.Code, _ text: String) {
      finish(transfer, with: URLError(code, url: transfer.request.url, description: text))
    }

    /// Notes that a transfer's request is being sent over a connection.
    func sent(_ transfer: Transfer, over connection: LoopConnection) {
      transfer.loopLastActivity = now
      guard transfer.request.version != .http1, let ticket = transfer.loopTicket else { return }
      queue.sent(ticket, over: connection.number)
    }

    /// Sends a transfer, which is no longer in progress, again.
    func resend(_ transfer: Transfer) {
      guard let ticket = transfer.loopTicket else { return }
      queue.resend(ticket, since: transfer.loopResends.connectionSince)
      if transfer.request.deadline != .max { deadlines.insert(transfer, at: transfer.request.deadline) }
    }

    func resume(_ transfer: Transfer, _ pause: Transfer.Pauses) {
      // More may have arrived since the consumer has read.
      if pause == .receiving, transfer.loopMustPause { return }
      guard transfer.loopPool != nil, transfer.loopPauses.remove(pause) != nil else { return }
      // It has not begun before its body is known to be empty.
      guard let connection = transfer.loopConnection else { return begin(transfer) }
      transfer.loopLastActivity = now
      connection.resumed()
      renewDeadline(of: transfer)
    }

    private func expireDeadlines() {
      while let transfer = deadlines.popFirst(notAfter: now) {
        transfer.loopCheckProgress(at: now)
        guard transfer.loopDeadline <= now else {
          deadlines.insert(transfer, at: transfer.loopDeadline)
          continue
        }
        let isWaiting = !transfer.loopIsRunning && transfer.loopPauses.isEmpty
        let wait = isWaiting ? " while all connections to the host were in use" : ""
        let isUnsent = !transfer.loopIsRunning || transfer.loopConnection is OpeningConnection
        let error = URLError(
          .timedOut, url: transfer.request.url, description: "The request timed out" + wait,
          cause: isUnsent ? UnsentRequestError() : nil)
        finish(transfer, with: error)
      }
    }

    /// Ends a transfer; its consumer is resumed at the end of the turn.
    func finish(_ transfer: Transfer, with error: (any Error)?) {
      remove(transfer)
      transfer.loopOutcome = error.map { .failure($0) } ?? .success(())
      markDirty(transfer)
    }

    func remove(_ transfer: Transfer) {
      if held === transfer { held = nil }
      deadlines.remove(transfer)
      transfer.request.upload?.close()
      transfer.loopConnection?.abandon(transfer)
      if let pool = transfer.loopPool {
        transfer.loopPool = nil
        pools.release(pool, now: now)
      }
      if let ticket = transfer.loopTicket { queue.remove(ticket) }
      transfer.loopTicket = nil
    }

    /// The time at which the next timer or deadline is due.
    var due: UInt64 {
      min(deadlines.first ?? .max, connections.timer, opening?.timer ?? .max, gathering.end)
    }
  }

  extension EventLoop {
    func markDirty(_ transfer: Transfer) {
      guard !transfer.loopIsDirty else { return }
      transfer.loopIsDirty = true
      dirty.append(transfer)
    }

    /// Delivers what a transfer has gathered, and pauses receiving if its consumer falls behind.
    func deliver(_ transfer: Transfer) {
      let mayHold =
        transfer.loopDirectReads.begins && queue.count == 1 && transfer.loopConnection?.carrier.bodySocket != nil
      let delivery = transfer.loopDeliver(holds: mayHold)
      if delivery.head != nil || delivery.chunk != nil { deliveries.append(delivery) }
      guard let connection = transfer.loopConnection else { return }
      guard delivery.pauses else {
        // Its consumer has waited for it.
        if delivery.chunk != nil { transfer.loopDirectReads.responded(after: 0) }
        if !transfer.loopPauses.contains(.receiving) { connection.delivered() }
        return
      }
      if mayHold { held = transfer }
      transfer.loopPauses.insert(.receiving)
      connection.paused()
    }

    /// Gathers the deliveries of the turn. Consumers are resumed once it is over, so that their code does not run
    /// within it.
    func gatherDeliveries(into finished: inout [Transfer.Queue.Delivery]) {
      for transfer in dirty {
        if let end = transfer.loopWait(at: now) {
          gathering.transfers.append(transfer)
          gathering.end = min(gathering.end, end)
          continue
        }
        transfer.loopIsDirty = false
        deliver(transfer)
      }
      dirty.removeAll(keepingCapacity: true)
      if finished.isEmpty { swap(&deliveries, &finished) } else { finished += deliveries }
      deliveries.removeAll(keepingCapacity: true)
    }
  }
#endif
