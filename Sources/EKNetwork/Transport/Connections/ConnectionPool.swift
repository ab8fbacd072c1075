#if os(Linux)
  /// The connections of all sessions that may share them. It belongs to the thread that holds the event loop's turn.
  ///
  /// Sessions share idle connections: credentials belong to requests, not to connections. The number of requests of a
  /// session in progress is not limited here but by ``RequestQueue``, so that no session takes the places of another.
  final class ConnectionPool: Disposable {
    let index: Int
    let identity: ConnectionIdentity
    var idle = IdleConnections()
    var shared = SharedConnections()
    /// The number of transfers that use the pool, waiting or in progress.
    var users = 0
    var unusedSince: UInt64 = 0
    var deadlineIndex = -1
    /// The origins that do not want requests over HTTP/2.
    private var withoutHTTP2: Set<Origin> = []
    private static let maximumOrigins = 1_000

    init(index: Int, identity: ConnectionIdentity) {
      self.index = index
      self.identity = identity
    }

    /// Uses HTTP/1.1 for all further requests to an origin.
    func avoidHTTP2(_ origin: Origin) {
      if withoutHTTP2.count < Self.maximumOrigins { withoutHTTP2.insert(origin) }
    }

    /// Returns whether HTTP/2 may be offered to an origin. Once too many want none, it is offered to none.
    func mayOfferHTTP2(_ origin: Origin) -> Bool {
      withoutHTTP2.isEmpty || withoutHTTP2.count < Self.maximumOrigins && !withoutHTTP2.contains(origin)
    }

    /// Closes all connections permanently. Must only be called when nothing is in progress.
    func close() {
      for connection in idle.all { connection.close() }
      for connection in shared.all { connection.close() }
    }
  }

  /// The pools of an event loop. Those that have not been used for a while are freed, with their idle connections.
  struct ConnectionPools {
    private var pools: [ConnectionPool?] = []
    private var numbers: [ConnectionIdentity: Int] = [:]
    private var unused: UnusedResources<ConnectionPool>

    /// - Parameter lifetime: How long an unused pool is kept, in nanoseconds.
    init(lifetime: UInt64) { unused = UnusedResources(lifetime: lifetime) }

    /// How long unused pools and idle connections are kept, in nanoseconds.
    var lifetime: UInt64 { unused.lifetime }

    /// When ``freeUnused(now:)`` or ``closeExpiredConnections(now:)`` is due; `.max` for never.
    var cleanup: UInt64 { pools.reduce(unused.deadline ?? .max) { min($0, $1?.idle.firstEnd ?? .max) } }

    /// The number of pools.
    var count: Int { numbers.count }

    /// Returns the pool of an identity, which is in use until ``release(_:now:)``.
    mutating func acquire(_ identity: ConnectionIdentity) -> ConnectionPool {
      if let number = numbers[identity], let pool = pools[number] {
        unused.begin(pool)
        return pool
      }
      let number = pools.firstIndex { $0 == nil } ?? pools.count
      let pool = ConnectionPool(index: number, identity: identity)
      if number == pools.count { pools.append(pool) } else { pools[number] = pool }
      numbers[identity] = number
      unused.begin(pool)
      return pool
    }

    /// Whether a request to an origin can be sent at once.
    func hasConnection(_ identity: ConnectionIdentity, to origin: Origin) -> Bool {
      guard let pool = numbers[identity].flatMap({ pools[$0] }) else { return false }
      return pool.idle.has(origin) || pool.shared.available(origin) != nil
    }

    /// Returns what the shared connections at a place have room for.
    func room(at place: RequestQueue<Transfer>.Place) -> StreamRoom {
      pools[place.pool]?.shared.room(place.origin) ?? StreamRoom()
    }

    mutating func release(_ pool: ConnectionPool, now: UInt64) { unused.end(pool, at: now) }

    /// Frees the pools that have been unused for their lifetime. Must not be called while events of the poller have yet
    /// to be handled.
    mutating func freeUnused(now: UInt64) {
      while let pool = unused.next(notAfter: now) {
        pools[pool.index] = nil
        numbers[pool.identity] = nil
        pool.close()
      }
    }

    /// Closes the connections that have been idle for their lifetime.
    func closeExpiredConnections(now: UInt64) {
      for case let pool? in pools {
        while let connection = pool.idle.nextExpired(now: now) { connection.close() }
      }
    }
  }
#endif
