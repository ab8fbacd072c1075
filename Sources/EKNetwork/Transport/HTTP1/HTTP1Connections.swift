#if os(Linux)
  /// The connections of an event loop on which the library itself speaks HTTP/1.1.
  ///
  /// Sessions share idle connections: credentials belong to requests, not to connections. How many requests of a session
  /// are in progress is limited by ``RequestQueue``.
  struct HTTP1Connections {
    /// The properties that must all be the same for a connection to be used again.
    struct Key: Hashable {
      /// The number of the ``CurlPool``, which stands for the ``ConnectionIdentity``.
      let pool: Int
      let origin: Origin
    }

    /// The connections of a pool, which are kept independently of those of others.
    private struct Pool {
      var idle: [Origin: [HTTP1Connection]] = [:]
      var idleCount = 0
      var count = 0
      /// When idle connections are closed: the first has been idle for the longest time.
      var ends = DeadlineHeap<HTTP1Connection>()

      mutating func noteInUse(_ connection: HTTP1Connection) {
        if idle[connection.key.origin]?.isEmpty == true { idle[connection.key.origin] = nil }
        idleCount -= 1
        connection.isIdle = false
        ends.remove(connection)
      }
    }

    /// The number of idle connections to keep beside those in use.
    private static let maximumIdle = 64

    private let lifetime: UInt64
    private var connections: [UInt32: HTTP1Connection] = [:]
    private var pools: [Int: Pool] = [:]
    /// The timers of those in use.
    private var timers = DeadlineHeap<HTTP1Connection>()
    private var lastNumber: UInt32 = 0

    /// - Parameter lifetime: How long an idle connection is kept, in nanoseconds.
    init(lifetime: UInt64) { self.lifetime = lifetime }

    /// The number of the poller's tags from which on they are those of these connections.
    static let firstTag: UInt64 = 1 << 63

    /// The earliest timer of a connection in use; `.max` for none.
    var timer: UInt64 { timers.first ?? .max }

    /// When ``nextExpired(now:)`` is due; `.max` for never.
    var cleanup: UInt64 { pools.values.reduce(.max) { min($0, $1.ends.first ?? .max) } }

    subscript(number: UInt32) -> HTTP1Connection? { connections[number] }

    /// Creates a connection, which is closed.
    mutating func add(_ key: Key, for eventLoop: CurlEventLoop) -> HTTP1Connection {
      // The largest tag is that of the waker.
      repeat { lastNumber = (lastNumber + 1) & 0x3FFF_FFFF } while connections[lastNumber] != nil
      let connection = HTTP1Connection(number: lastNumber, key: key, eventLoop: eventLoop)
      connections[lastNumber] = connection
      pools[key.pool, default: Pool()].count += 1
      return connection
    }

    /// Forgets a connection that is closed.
    mutating func remove(_ connection: HTTP1Connection) {
      guard connections.removeValue(forKey: connection.number) != nil else { return }
      let key = connection.key
      if connection.isIdle {
        pools[key.pool]?.idle[key.origin]?.removeAll { $0 === connection }
        pools[key.pool]?.noteInUse(connection)
      } else {
        timers.remove(connection)
      }
      pools[key.pool]?.count -= 1
      if pools[key.pool]?.count == 0 { pools[key.pool] = nil }
    }

    /// Keeps a connection for the next request. Returns one to close, if there are more than are worth keeping.
    mutating func park(_ connection: HTTP1Connection, now: UInt64) -> HTTP1Connection? {
      let key = connection.key
      guard var pool = pools.removeValue(forKey: key.pool) else { return connection }
      pool.idle[key.origin, default: []].append(connection)
      pool.idleCount += 1
      connection.isIdle = true
      pool.ends.insert(connection, at: now.addingClamped(lifetime))
      let isExcessive = pool.idleCount > Self.maximumIdle + pool.count - pool.idleCount
      let oldest = isExcessive ? pool.ends.popFirst(notAfter: .max) : nil
      pools[key.pool] = pool
      return oldest
    }

    /// Returns the connection that was used last, if one is idle. It is not idle any more.
    mutating func takeIdle(_ key: Key) -> HTTP1Connection? {
      guard let connection = pools[key.pool]?.idle[key.origin]?.popLast() else { return nil }
      pools[key.pool]?.noteInUse(connection)
      return connection
    }

    /// Returns an idle connection to close, because its time is over.
    mutating func nextExpired(now: UInt64) -> HTTP1Connection? {
      for number in pools.keys {
        if let connection = pools[number]?.ends.popFirst(notAfter: now) { return connection }
      }
      return nil
    }

    /// Returns the idle connections of a pool that is freed.
    func idle(of pool: Int) -> [HTTP1Connection] { pools[pool]?.idle.values.flatMap { $0 } ?? [] }

    /// Sets when a connection in use has to be called; `nil` for never.
    mutating func setTimer(_ connection: HTTP1Connection, at time: UInt64?) {
      guard !connection.isIdle else { return }
      timers.remove(connection)
      if let time { timers.insert(connection, at: time) }
    }

    mutating func nextTimer(now: UInt64) -> HTTP1Connection? { timers.popFirst(notAfter: now) }
  }
#endif
