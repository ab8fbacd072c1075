#if os(Linux)
  /// The connections of a pool on which nothing is in progress. Those of HTTP/1.1 wait here for the next request to their
  /// origin; those of HTTP/2 are only counted, and closed in time.
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
    private var ends = DeadlineHeap<LoopConnection>()

    /// When ``nextExpired(now:)`` is due; `.max` for never.
    var firstEnd: UInt64 { ends.first ?? .max }

    var all: [HTTP1Connection] { byOrigin.values.flatMap { $0 } }

    /// Notes that the pool has one more connection, which is in use.
    mutating func opened() { count += 1 }

    /// Notes that a connection of the pool is closed.
    mutating func closed(_ connection: LoopConnection) {
      count -= 1
      if connection.isIdle {
        byOrigin[connection.origin]?.removeAll { $0 === connection }
        noteInUse(connection)
      }
      if byOrigin[connection.origin]?.isEmpty == true { byOrigin[connection.origin] = nil }
    }

    /// Keeps a connection for the next request. Returns one to close, if there are more than are worth keeping.
    mutating func park(_ connection: HTTP1Connection, until end: UInt64) -> LoopConnection? {
      byOrigin[connection.origin, default: []].append(connection)
      return noteIdle(connection, until: end)
    }

    /// Notes that nothing is in progress on a connection. Returns one to close, if there are more than are worth keeping.
    mutating func noteIdle(_ connection: LoopConnection, until end: UInt64) -> LoopConnection? {
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

    /// Notes that an idle connection is in use.
    mutating func noteInUse(_ connection: LoopConnection) {
      idleCount -= 1
      connection.isIdle = false
      ends.remove(connection)
    }

    /// Returns an idle connection to close, because its time is over.
    mutating func nextExpired(now: UInt64) -> LoopConnection? { ends.popFirst(notAfter: now) }
  }
#endif
