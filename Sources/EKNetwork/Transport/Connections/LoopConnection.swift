#if os(Linux)
  import CCurl

  /// A connection of an event loop, while it is being opened, and whatever is spoken on it then. It belongs to the thread
  /// that holds the turn of its loop.
  class LoopConnection: DeadlineHeapElement {
    let number: UInt32
    /// Stands for the ``ConnectionIdentity``. It is freed after its connections are closed.
    unowned let pool: ConnectionPool
    let origin: Origin
    unowned let eventLoop: EventLoop
    /// Its place among the timers, or, while it is idle, among those to be closed.
    var deadlineIndex = -1
    var isIdle = false
    var directWait: DirectWait

    init(number: UInt32, pool: ConnectionPool, origin: Origin, eventLoop: EventLoop) {
      self.number = number
      self.pool = pool
      self.origin = origin
      self.eventLoop = eventLoop
      directWait = eventLoop.directWait
    }

    /// Takes the place of a connection, which must not be used any more.
    init(inPlaceOf other: LoopConnection) {
      number = other.number
      pool = other.pool
      origin = other.origin
      eventLoop = other.eventLoop
      directWait = other.directWait
    }

    func ready(_ descriptor: Int32, events: Int32) {}

    /// The socket, if nothing is left to be done but to wait for the response to one request.
    var responseSocket: Int32? { nil }

    /// The socket, if all that is left to be done is to receive the body of one response, of which much arrives at once. With
    /// TLS, receiving takes so long that the consumer better does something else meanwhile.
    var bodySocket: Int32? { nil }

    /// Notes that a response begins, and returns the time.
    ///
    /// - Parameter begun: When its request was begun.
    func responds(since begun: UInt64) -> UInt64 {
      let time = MonotonicClock.now()
      directWait.responded(after: time - min(begun, time))
      return time
    }

    /// The state of the connection's output in the kernel.
    var kernelOutput: ekn_socket_output { ekn_socket_output() }

    /// The number of bytes that it has not passed to the kernel.
    var unsentCount: Int { 0 }

    func timerFired() {}

    func close() {}
  }

  /// A connection that is open, on which HTTP is spoken.
  class HTTPConnection: LoopConnection {
    /// When to try again to send what needs input, in nanoseconds, should the input have been missed.
    static let retryInterval: UInt64 = 50_000_000

    /// `nil` once it is closed.
    var bytes: ConnectionBytes?
    private let times: ConnectionOpener.Times
    /// Whether reading stopped although there may be bytes that have left the socket.
    var hasUnreadBytes = false
    var outputNeedsInput = false

    init(_ bytes: ConnectionBytes, _ times: ConnectionOpener.Times, inPlaceOf opening: OpeningConnection) {
      self.bytes = bytes
      self.times = times
      super.init(inPlaceOf: opening)
    }

    override var kernelOutput: ekn_socket_output {
      bytes.map { ekn_socket_get_output($0.socket) } ?? ekn_socket_output()
    }

    /// Returns the timings of an exchange that was begun at that time.
    func timings(since begun: UInt64, isReused: Bool, firstByte: UInt64?, version: String?) -> NetworkTimings {
      func elapsed(_ time: UInt64) -> Duration { .nanoseconds(Int64(clamping: time - min(begun, time))) }
      return NetworkTimings(
        nameLookup: isReused ? nil : times.lookup, connect: isReused ? nil : times.connect - times.lookup,
        secureConnect: isReused ? nil : times.secureConnect,
        firstByte: firstByte.map(elapsed), total: elapsed(MonotonicClock.now()), isConnectionReused: isReused,
        protocolName: version, remoteAddress: bytes?.peerAddress)
    }
  }

  /// What carries a transfer on an event loop's own connections.
  protocol LoopExchange: AnyObject {
    var carrier: LoopConnection { get }
    /// Continues after the transfer was paused: its consumer has read, or its body has something to send.
    func resumed()
    /// Notes that the transfer is paused: nothing is read for it until it is resumed.
    func paused()
    /// Notes that what was received was passed to the consumer, who takes more.
    func delivered()
    /// Ends the exchange before the response is complete.
    func abandon(_ transfer: Transfer)
    func timings(of transfer: Transfer) -> NetworkTimings
  }

  struct LoopConnections {
    private var connections: [UInt32: LoopConnection] = [:]
    /// The timers of those in use.
    private var timers = DeadlineHeap<LoopConnection>()
    private var lastNumber: UInt32 = 0

    /// The earliest timer of a connection in use; `.max` for none.
    var timer: UInt64 { timers.first ?? .max }

    subscript(number: UInt32) -> LoopConnection? { connections[number] }

    mutating func nextNumber() -> UInt32 {
      // 0 stands for ``EventLoop/opening``, and the largest tag is that of the waker.
      repeat { lastNumber = (lastNumber + 1) & 0x3FFF_FFFF } while lastNumber == 0 || connections[lastNumber] != nil
      return lastNumber
    }

    mutating func add(_ connection: LoopConnection) {
      connections[connection.number] = connection
      connection.pool.idle.opened()
    }

    /// Puts a connection in the place of the one with its number.
    mutating func replace(with connection: LoopConnection) {
      if let old = connections.updateValue(connection, forKey: connection.number) { timers.remove(old) }
    }

    mutating func remove(_ connection: LoopConnection) {
      guard connections[connection.number] === connection else { return }
      connections[connection.number] = nil
      if !connection.isIdle { timers.remove(connection) }
      connection.pool.idle.closed(connection)
    }

    /// Sets when a connection in use has to be called; `.max` for never.
    mutating func setTimer(_ connection: LoopConnection, at time: UInt64) {
      guard !connection.isIdle else { return }
      timers.remove(connection)
      if time < .max { timers.insert(connection, at: time) }
    }

    mutating func nextTimer(now: UInt64) -> LoopConnection? { timers.popFirst(notAfter: now) }
  }
#endif
