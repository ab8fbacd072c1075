#if os(Linux)
  import CCurl
  import Foundation

  /// The connections of all sessions that may share them. It belongs to the thread that holds the event loop's turn.
  ///
  /// Sessions share idle connections: credentials belong to requests, not to connections. The number of requests of a
  /// session in progress is not limited here but by ``RequestQueue``, so that no session takes the places of another.
  final class CurlPool: Disposable {
    /// The number of idle connections to keep for reuse, and likewise of idle easy handles.
    private static let maximumIdle = 64

    /// The properties that must all be the same for connections to be shared.
    struct Key: Hashable, Sendable {
      let connection: ConnectionIdentity
      /// Whether HTTP/1.1 is used, although the servers may speak HTTP/2. In a pool with connections of both, libcurl
      /// puts a request that may share one on any connection in use, and lets it wait until the protocol of the first
      /// is known.
      var neverShares = false
    }

    let multi: OpaquePointer
    let index: Int
    let key: Key
    /// If the key says that nothing is shared, the pool in which it is. Their transfers are counted together.
    let sharedPool: CurlPool?
    /// When libcurl has to be called even if no socket is ready, in nanoseconds of the loop's clock.
    var timer: UInt64?
    /// The connections on which the library itself speaks.
    var idleConnections = IdleConnections()
    var shared = SharedConnections()
    private(set) var activeCount = 0
    /// The number of transfers that use the pool, waiting or in progress.
    var users = 0
    var unusedSince: UInt64 = 0
    var deadlineIndex = -1
    /// The number of connections that libcurl keeps, including those in use.
    private var capacity = 0
    private var idleHandles: [CurlHandle] = []
    /// The handles of cancelled transfers that libcurl has yet to end.
    private var abandonedHandles: [ObjectIdentifier: CurlHandle] = [:]
    /// The origins that have claimed a version of HTTP that was not negotiated. libcurl believes it, and would from
    /// then on send several requests at once over connections to that origin that cannot tell their responses apart.
    private var distrusted: Set<Origin> = []
    private static let maximumDistrusted = 1_000
    /// The transfers that may share their connection, by its socket, if libcurl may leave data behind.
    private var sharing: [Int32: [ObjectIdentifier: CurlTransfer]] = [:]
    private var sockets = ConnectionSockets()
    /// The transfers whose bodies have nothing to send, by their sockets, because libcurl would only wait for the
    /// bodies.
    private var pausedBodies: [Int32: CurlTransfer] = [:]
    private unowned let eventLoop: CurlEventLoop

    init?(index: Int, key: Key, sharedPool: CurlPool?, eventLoop: CurlEventLoop) {
      guard let multi = ekn_multi_init() else { return nil }
      self.multi = multi
      self.index = index
      self.key = key
      self.sharedPool = sharedPool
      self.eventLoop = eventLoop
      guard ekn_multi_set_socket_callback(multi, socketCallback, context) == 0,
        ekn_multi_set_timer_callback(multi, timerCallback, context) == 0
      else {
        ekn_multi_cleanup(multi)
        return nil
      }
      fitCapacity()
    }

    private var context: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    /// Whether libcurl reports when it begins to send a request.
    var reportsSending: Bool { eventLoop.capabilities.hasPrereqCallback }

    /// Uses HTTP/1.1 for all further requests to an origin, so that they share no connection.
    func distrust(_ origin: Origin) {
      if distrusted.count < Self.maximumDistrusted { distrusted.insert(origin) }
    }

    /// Returns whether HTTP/2 may be negotiated with an origin. Once too many origins are distrusted, it is with none.
    func trusts(_ origin: Origin) -> Bool {
      distrusted.isEmpty || (distrusted.count < Self.maximumDistrusted && !distrusted.contains(origin))
    }

    /// Closes all connections permanently. Must only be called when nothing is in progress.
    func close() {
      for connection in idleConnections.all { connection.close() }
      for connection in shared.all { connection.close() }
      idleHandles = []
      ekn_multi_cleanup(multi)
    }

    func add(_ transfer: CurlTransfer) -> Bool {
      guard let handle = idleHandles.popLast() ?? CurlHandle(eventLoop: eventLoop) else { return false }
      transfer.loopFailure = handle.prepare(for: transfer)
      transfer.loopHandle = handle
      guard transfer.loopFailure == nil, ekn_easy_set_close_callback(handle.easy, closeCallback, context) == 0,
        ekn_multi_add(multi, handle.easy) == 0
      else {
        release(handle)
        return false
      }
      activeCount += 1
      fitCapacity()
      return true
    }

    /// Notes that a transfer's body has nothing to send for now.
    func bodyPaused(_ transfer: CurlTransfer, at socket: Int32) {
      bodyResumed(transfer)
      transfer.loopPausedSocket = socket
      pausedBodies[socket] = transfer
      // The server may already have closed the connection, in which case there are no further events.
      eventLoop.inputArrived(for: transfer)
    }

    /// Notes that there is more of the body, or that the transfer is over.
    func bodyResumed(_ transfer: CurlTransfer) {
      guard transfer.loopPausedSocket >= 0 else { return }
      if pausedBodies[transfer.loopPausedSocket] === transfer { pausedBodies[transfer.loopPausedSocket] = nil }
      transfer.loopPausedSocket = -1
    }

    func remove(_ transfer: CurlTransfer) {
      leaveConnection(transfer)
      bodyResumed(transfer)
      guard let handle = transfer.loopHandle else { return }
      if handle.isResolving {
        transfer.loopHandle = nil
        handle.abandon()
        abandonedHandles[ObjectIdentifier(handle)] = handle
      } else {
        end(handle)
      }
    }

    private func end(_ handle: CurlHandle) {
      _ = ekn_multi_remove(multi, handle.easy)
      activeCount -= 1
      fitCapacity()
      release(handle)
    }

    /// Adjusts the number of connections to keep. libcurl counts those in use along with idle ones. Its default, four
    /// times the current number of handles, closes connections after a burst; a constant would leave none for reuse
    /// beside many streams.
    private func fitCapacity() {
      let wanted = activeCount + Self.maximumIdle
      guard wanted > capacity || wanted < capacity / 4 else { return }
      // If libcurl refuses it, fewer connections are reused.
      if ekn_multi_set_long(multi, Int32(EKN_MOPT_MAXCONNECTS), wanted * 2) == 0 { capacity = wanted * 2 }
    }

    /// Notes that a transfer that may share its connection is being sent over it.
    func noteSent(_ transfer: CurlTransfer, over connection: CurlConnection) {
      guard eventLoop.capabilities.leavesDataBehind, let socket = socket(of: connection),
        socket != transfer.loopSharedSocket
      else { return }
      leaveConnection(transfer)
      transfer.loopSharedSocket = socket
      sharing[socket, default: [:]][ObjectIdentifier(transfer)] = transfer
    }

    private func leaveConnection(_ transfer: CurlTransfer) {
      guard let socket = transfer.loopSharedSocket else { return }
      sharing[socket]?[ObjectIdentifier(transfer)] = nil
      stoppedReading(transfer)
      if sharing[socket]?.isEmpty == true { sharing[socket] = nil }
      transfer.loopSharedSocket = nil
    }

    /// Handles a transfer that stops reading, for now or for good: another has to check for data that its connection
    /// holds. One is enough, because it reads for all.
    func stoppedReading(_ transfer: CurlTransfer) {
      guard let socket = transfer.loopSharedSocket else { return }
      let others = sharing[socket]?.values
      let other = others?.first { $0 !== transfer && $0.loopPauseBits == 0 }
      guard let handle = other?.loopHandle else { return }
      // It is not paused, but this makes libcurl run it in its next turn.
      _ = ekn_easy_pause(handle.easy, Int32(EKN_PAUSE_CONT))
      timer = 0
    }

    /// Tells libcurl that a socket is ready, or that its timer has fired.
    func act(on socket: Int32, events: Int32) {
      var running: Int32 = 0
      _ = ekn_multi_socket_action(multi, socket, events, &running)
      inputArrived(on: socket)
    }

    /// Handles input on a socket, whether libcurl waits for it or not.
    func inputArrived(on socket: Int32) {
      if let transfer = pausedBodies[socket] { eventLoop.inputArrived(for: transfer) }
    }

    /// Returns the next transfer that has ended, and libcurl's result code.
    func nextFinished() -> (transfer: CurlTransfer, code: Int)? {
      while true {
        let completion = ekn_multi_next_completion(multi)
        guard let easy = completion.easy else { return nil }
        guard let context = ekn_easy_context(easy) else { continue }
        let handle = Unmanaged<CurlHandle>.fromOpaque(context).takeUnretainedValue()
        handle.ended()
        if let transfer = handle.transfer { return (transfer, Int(completion.code)) }
        if abandonedHandles.removeValue(forKey: ObjectIdentifier(handle)) != nil { end(handle) }
      }
    }

    private func release(_ handle: CurlHandle) {
      handle.transfer?.loopHandle = nil
      guard eventLoop.capabilities.reusesHandles, idleHandles.count < Self.maximumIdle else { return }
      handle.finish()
      idleHandles.append(handle)
    }

    fileprivate func watch(_ socket: Int32, _ what: Int32, easy: OpaquePointer?) {
      let handle = easy.flatMap { ekn_easy_context($0) }.map {
        Unmanaged<CurlHandle>.fromOpaque($0).takeUnretainedValue()
      }
      if what == EKN_POLL_REMOVE {
        // Once there is a response, it is the socket of a connection, whose closing is reported. Before that, it may be
        // a resolver's socket.
        if let handle, handle.hasResponse {
          _ = handle.watch(socket, what)
          return eventLoop.letGo(socket)
        }
      } else if !sockets.contains(socket) {
        // A socket that is not TCP is a resolver's, whose closing is not reported.
        let port = Int(ekn_socket_local_port(socket))
        if port > 0 { sockets.add(socket, port: port) }
      }
      eventLoop.watch(socket, handle?.watch(socket, what) ?? what, pool: index)
    }

    fileprivate func willClose(_ socket: Int32) {
      sockets.remove(socket)
      // The next connection may get the same descriptor.
      sharing.removeValue(forKey: socket)?.values.forEach { $0.loopSharedSocket = nil }
      eventLoop.willClose(socket)
    }

    /// Returns the socket of a connection.
    func socket(of connection: CurlConnection) -> Int32? {
      sockets.socket(port: Int(connection.localPort)) {
        ekn_socket_has_peer($0, connection.address, connection.port)
      }
    }

    /// Updates how the socket of a transfer that was paused or resumed is watched.
    func watchAgain(_ handle: CurlHandle) {
      guard let (socket, what) = handle.watched else { return }
      eventLoop.watch(socket, handle.watch(socket, what), pool: index)
    }

    fileprivate func setTimer(milliseconds: Int) {
      timer = LoopTime.timer(milliseconds: milliseconds, now: MonotonicClock.now())
    }
  }

  private func pool(_ context: UnsafeMutableRawPointer?) -> CurlPool? {
    context.map { Unmanaged<CurlPool>.fromOpaque($0).takeUnretainedValue() }
  }

  private let socketCallback: ekn_socket_callback = { easy, socket, what, context, _ in
    pool(context)?.watch(socket, what, easy: easy)
    return 0
  }

  private let closeCallback: ekn_close_callback = { context, socket in
    pool(context)?.willClose(socket)
    return close(socket)
  }

  private let timerCallback: ekn_timer_callback = { _, milliseconds, context in
    pool(context)?.setTimer(milliseconds: milliseconds)
    return 0
  }
#endif
