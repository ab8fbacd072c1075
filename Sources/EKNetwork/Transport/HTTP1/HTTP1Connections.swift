#if os(Linux)
  /// The connections of an event loop on which the library itself speaks HTTP/1.1.
  struct HTTP1Connections {
    private var connections: [UInt32: HTTP1Connection] = [:]
    /// The timers of those in use.
    private var timers = DeadlineHeap<HTTP1Connection>()
    private var lastNumber: UInt32 = 0

    /// The number of the poller's tags from which on they are those of these connections.
    static let firstTag: UInt64 = 1 << 63

    /// The earliest timer of a connection in use; `.max` for none.
    var timer: UInt64 { timers.first ?? .max }

    subscript(number: UInt32) -> HTTP1Connection? { connections[number] }

    /// Creates a connection, which is closed.
    mutating func add(to pool: CurlPool, _ origin: Origin, for eventLoop: CurlEventLoop) -> HTTP1Connection {
      // The largest tag is that of the waker, and the first one that of ``CurlEventLoop/opening``.
      repeat { lastNumber = (lastNumber + 1) & 0x3FFF_FFFF } while lastNumber == 0 || connections[lastNumber] != nil
      let connection = HTTP1Connection(number: lastNumber, pool: pool, origin: origin, eventLoop: eventLoop)
      connections[lastNumber] = connection
      pool.idleConnections.opened()
      return connection
    }

    /// Forgets a connection that is closed.
    mutating func remove(_ connection: HTTP1Connection) {
      guard connections.removeValue(forKey: connection.number) != nil else { return }
      if !connection.isIdle { timers.remove(connection) }
      connection.pool.idleConnections.closed(connection)
    }

    /// Sets when a connection in use has to be called; `nil` for never.
    mutating func setTimer(_ connection: HTTP1Connection, at time: UInt64?) {
      guard !connection.isIdle else { return }
      timers.remove(connection)
      if let time { timers.insert(connection, at: time) }
    }

    mutating func nextTimer(now: UInt64) -> HTTP1Connection? { timers.popFirst(notAfter: now) }
  }
#endif
