#if os(Linux)
  /// The connections of a pool that wait for the next request to their origin.
  ///
  /// Sessions share them: credentials belong to requests, not to connections. How many requests of a session are in
  /// progress is limited by ``RequestQueue``.
  struct IdleConnections {
    /// The number of idle connections to keep beside those in use.
    private static let maximum = 64

    private var byOrigin: [Origin: [HTTP1Connection]] = [:]
    private var idleCount = 0
    private var count = 0
    /// When they are closed: the first has been idle for the longest time.
    private var ends = DeadlineHeap<HTTP1Connection>()

    /// When ``nextExpired(now:)`` is due; `.max` for never.
    var firstEnd: UInt64 { ends.first ?? .max }

    var all: [HTTP1Connection] { byOrigin.values.flatMap { $0 } }

    /// Notes that the pool has one more connection, which is in use.
    mutating func opened() { count += 1 }

    /// Notes that a connection of the pool is closed.
    mutating func closed(_ connection: HTTP1Connection) {
      count -= 1
      if connection.isIdle {
        byOrigin[connection.origin]?.removeAll { $0 === connection }
        noteInUse(connection)
      }
      if byOrigin[connection.origin]?.isEmpty == true { byOrigin[connection.origin] = nil }
    }

    /// Keeps a connection for the next request. Returns one to close, if there are more than are worth keeping.
    mutating func park(_ connection: HTTP1Connection, until end: UInt64) -> HTTP1Connection? {
      byOrigin[connection.origin, default: []].append(connection)
      idleCount += 1
      connection.isIdle = true
      ends.insert(connection, at: end)
      return idleCount > Self.maximum + count - idleCount ? ends.popFirst(notAfter: .max) : nil
    }

    /// Whether there is one.
    func has(_ origin: Origin) -> Bool { byOrigin[origin]?.isEmpty == false }

    /// Returns the connection that was used last, if one is idle. It is not idle any more.
    mutating func take(_ origin: Origin) -> HTTP1Connection? {
      // The list stays until the connection is closed, because mostly the connection returns to it.
      guard let connection = byOrigin[origin]?.popLast() else { return nil }
      noteInUse(connection)
      return connection
    }

    private mutating func noteInUse(_ connection: HTTP1Connection) {
      idleCount -= 1
      connection.isIdle = false
      ends.remove(connection)
    }

    /// Returns an idle connection to close, because its time is over.
    mutating func nextExpired(now: UInt64) -> HTTP1Connection? { ends.popFirst(notAfter: now) }
  }
#endif
