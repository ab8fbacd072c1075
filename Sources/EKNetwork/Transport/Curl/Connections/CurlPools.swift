#if os(Linux)
  import CCurl

  /// The pools of an event loop. What has not been used for a while is freed, with its idle connections.
  struct CurlPools {
    /// Pools by the number that the poller's tags bear.
    private var pools: [CurlPool?] = []
    private var numbers: [CurlPool.Key: Int] = [:]
    private var unused: UnusedResources<CurlPool>

    /// - Parameter lifetime: How long a pool is kept without being used, in nanoseconds.
    init(lifetime: UInt64) { unused = UnusedResources(lifetime: lifetime) }

    /// When ``freeUnused(now:)`` is due; `.max` for never.
    var cleanup: UInt64 { unused.deadline ?? .max }

    /// The earliest timer of a pool; `.max` for none.
    var timer: UInt64 { pools.reduce(.max) { min($0, $1?.timer ?? .max) } }

    /// Calls libcurl where it has asked for that. Whether it has.
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

    /// How many pools there are.
    var count: Int { numbers.count }

    subscript(number: Int) -> CurlPool? { pools.indices.contains(number) ? pools[number] : nil }

    /// By number.
    var all: [CurlPool?] { pools }

    /// The pool of a key, which is in use until ``release(_:now:)``.
    mutating func acquire(_ key: CurlPool.Key, for eventLoop: CurlEventLoop) -> CurlPool? {
      if let number = numbers[key], let pool = pools[number] {
        unused.begin(pool)
        return pool
      }
      let number = pools.firstIndex { $0 == nil } ?? pools.count
      guard let pool = CurlPool(index: number, key: key, eventLoop: eventLoop) else { return nil }
      if number == pools.count { pools.append(pool) } else { pools[number] = pool }
      numbers[key] = number
      unused.begin(pool)
      return pool
    }

    mutating func release(_ pool: CurlPool, now: UInt64) { unused.end(pool, at: now) }

    /// Lets go of what has not been used for its lifetime. Never while events of the poller wait to be looked at.
    mutating func freeUnused(now: UInt64) {
      while let pool = unused.next(notAfter: now) {
        // A transfer that was cancelled waits for its name to be resolved still.
        guard pool.activeCount == 0 else {
          unused.begin(pool)
          unused.end(pool, at: now)
          continue
        }
        pools[pool.index] = nil
        numbers[pool.key] = nil
        pool.close()
      }
    }
  }
#endif
