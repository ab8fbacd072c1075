#if os(Linux)
  import CCurl

  /// The pools of an event loop. Those that have not been used for a while are freed, with their idle connections.
  struct CurlPools {
    /// The pools by the number in the poller's tags.
    private var pools: [CurlPool?] = []
    private var numbers: [CurlPool.Key: Int] = [:]
    private var unused: UnusedResources<CurlPool>

    /// - Parameter lifetime: How long an unused pool is kept, in nanoseconds.
    init(lifetime: UInt64) { unused = UnusedResources(lifetime: lifetime) }

    /// How long unused pools and idle connections are kept, in nanoseconds.
    var lifetime: UInt64 { unused.lifetime }

    /// When ``freeUnused(now:)`` or ``closeExpiredConnections(now:)`` is due; `.max` for never.
    var cleanup: UInt64 { pools.reduce(unused.deadline ?? .max) { min($0, $1?.idleConnections.firstEnd ?? .max) } }

    /// The earliest timer of a pool; `.max` for none.
    var timer: UInt64 { pools.reduce(.max) { min($0, $1?.timer ?? .max) } }

    /// Calls libcurl for the timers that are due, and returns whether there were any.
    func fireTimers(now: UInt64) -> Bool {
      var hasFired = false
      for case let pool? in pools {
        guard let timer = pool.timer, timer <= now else { continue }
        pool.timer = nil
        pool.act(on: Int32(EKN_SOCKET_TIMEOUT), events: 0)
        hasFired = true
      }
      return hasFired
    }

    /// The number of pools.
    var count: Int { numbers.count }

    subscript(number: Int) -> CurlPool? { pools.indices.contains(number) ? pools[number] : nil }

    /// The pools by number.
    var all: [CurlPool?] { pools }

    /// Returns the pool of a key, which is in use until ``release(_:now:)``.
    mutating func acquire(_ key: CurlPool.Key, for eventLoop: CurlEventLoop) -> CurlPool? {
      if let number = numbers[key], let pool = pools[number] {
        unused.begin(pool)
        return pool
      }
      var sharedPool: CurlPool?
      if key.neverShares {
        var key = key
        key.neverShares = false
        // In use until the new pool is freed.
        sharedPool = acquire(key, for: eventLoop)
        guard sharedPool != nil else { return nil }
      }
      let number = pools.firstIndex { $0 == nil } ?? pools.count
      guard let pool = CurlPool(index: number, key: key, sharedPool: sharedPool, eventLoop: eventLoop) else {
        if let sharedPool { release(sharedPool, now: eventLoop.now) }
        return nil
      }
      if number == pools.count { pools.append(pool) } else { pools[number] = pool }
      numbers[key] = number
      unused.begin(pool)
      return pool
    }

    /// Whether a request to an origin can be sent at once over a connection of the library itself.
    func hasConnection(_ key: CurlPool.Key, to origin: Origin) -> Bool {
      guard let pool = numbers[key].flatMap({ pools[$0] }) else { return false }
      return pool.idleConnections.has(origin) || pool.shared.available(origin) != nil
    }

    mutating func release(_ pool: CurlPool, now: UInt64) { unused.end(pool, at: now) }

    /// Frees the pools that have been unused for their lifetime. Must not be called while events of the poller have yet
    /// to be handled.
    mutating func freeUnused(now: UInt64) {
      while let pool = unused.next(notAfter: now) {
        // A cancelled transfer still waits for its name to be resolved.
        guard pool.activeCount == 0 else {
          unused.begin(pool)
          unused.end(pool, at: now)
          continue
        }
        pools[pool.index] = nil
        numbers[pool.key] = nil
        if let sharedPool = pool.sharedPool { release(sharedPool, now: now) }
        pool.close()
      }
    }

    /// Closes the connections that have been idle for their lifetime.
    func closeExpiredConnections(now: UInt64) {
      for case let pool? in pools {
        while let connection = pool.idleConnections.nextExpired(now: now) { connection.close() }
      }
    }
  }
#endif
