#if os(Linux)
  import CCurl

  /// The connections of all sessions that may share them. It belongs to the thread that holds the event loop's turn.
  ///
  /// Sessions share idle connections: credentials belong to requests, not to connections. The number of requests of a
  /// session in progress is not limited here but by ``RequestQueue``, so that no session takes the places of another.
  final class ConnectionPool {
    let index: Int
    let identity: ConnectionIdentity
    var idle = IdleConnections()
    var shared = SharedConnections()
    /// The number of transfers that use the pool, waiting or in progress.
    fileprivate var users = 0
    /// When the pool is freed, unless it is in use; `.max` while it is.
    fileprivate var end = UInt64.max
    /// The names of connections that are not looked up as those of others; `nil` for the ones that all have in common.
    let names: OpaquePointer?
    /// The origins that do not want requests over HTTP/2.
    private var withoutHTTP2: Set<Origin> = []
    private static let maximumOrigins = 1_000

    init(index: Int, identity: ConnectionIdentity) {
      self.index = index
      self.identity = identity
      names = identity.route.hasOwnNames ? ekn_share_names() : nil
    }

    deinit { ekn_share_free(names) }

    /// Uses HTTP/1.1 for all further requests to an origin, unless HTTP/2 is required.
    func avoidHTTP2(_ origin: Origin) {
      if !requiresHTTP2, withoutHTTP2.count < Self.maximumOrigins { withoutHTTP2.insert(origin) }
    }

    /// Whether nothing else is spoken.
    var requiresHTTP2: Bool { identity.options.httpVersion == .http2 }

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
    /// How long unused pools and idle connections are kept, in nanoseconds.
    let lifetime: UInt64

    init(lifetime: UInt64) { self.lifetime = lifetime }

    /// When ``cleanUp(now:)`` is due; `.max` for never.
    var cleanup: UInt64 { pools.reduce(.max) { min($0, $1?.end ?? .max, $1?.idle.firstEnd ?? .max) } }

    var count: Int { numbers.count }

    /// Returns the pool of an identity, which is in use until ``release(_:now:)``.
    mutating func acquire(_ identity: ConnectionIdentity) -> ConnectionPool {
      let pool = numbers[identity].flatMap { pools[$0] } ?? add(identity)
      pool.users += 1
      pool.end = .max
      return pool
    }

    private mutating func add(_ identity: ConnectionIdentity) -> ConnectionPool {
      let number = pools.firstIndex { $0 == nil } ?? pools.count
      let pool = ConnectionPool(index: number, identity: identity)
      if number == pools.count { pools.append(pool) } else { pools[number] = pool }
      numbers[identity] = number
      return pool
    }

    /// Whether a request to an origin can be sent at once.
    func hasConnection(_ identity: ConnectionIdentity, to origin: Origin) -> Bool {
      guard let pool = numbers[identity].flatMap({ pools[$0] }) else { return false }
      return pool.idle.has(origin) || pool.mayOfferHTTP2(origin) && pool.shared.available(origin) != nil
    }

    /// Returns what the shared connections at a place have room for.
    func room(at place: RequestQueue<Transfer>.Place) -> StreamRoom {
      guard let pool = pools[place.pool] else { return StreamRoom() }
      return pool.shared.room(place.origin, mayBeUsed: pool.mayOfferHTTP2(place.origin))
    }

    func release(_ pool: ConnectionPool, now: UInt64) {
      pool.users -= 1
      if pool.users == 0 { pool.end = now.addingClamped(lifetime) }
    }

    /// Returns the idle connection of all pools that would be closed first, mostly the one that has not been used for the
    /// longest time. It has to be closed.
    func takeFirstIdle() -> LoopConnection? {
      let first = pools.lazy.compactMap { $0 }.min { $0.idle.firstEnd < $1.idle.firstEnd }
      return first?.idle.nextExpired(now: .max)
    }

    /// Frees the pools that have been unused for their lifetime, and closes the connections that have been idle for as
    /// long. Must not be called while events of the poller have yet to be handled.
    mutating func cleanUp(now: UInt64) {
      for case let pool? in pools {
        while let connection = pool.idle.nextExpired(now: now) { connection.close() }
        guard pool.end <= now else { continue }
        pools[pool.index] = nil
        numbers[pool.identity] = nil
        pool.close()
      }
    }
  }

  /// The connections of a pool on which nothing is in progress. Those of HTTP/1.1 wait here for the next request to their
  /// origin; those of HTTP/2 are only counted, and closed in time.
  struct IdleConnections {
    /// The number of idle connections to keep beside those in use.
    private static let maximum = 64

    private var byOrigin: [Origin: [HTTP1Connection]] = [:]
    private var idleCount = 0
    private var count = 0
    /// When they are closed: after the lifetime of the pool, or before, if their servers close them earlier.
    private var ends = DeadlineHeap<LoopConnection>()

    /// When ``nextExpired(now:)`` is due; `.max` for never.
    var firstEnd: UInt64 { ends.first ?? .max }

    var all: [HTTP1Connection] { byOrigin.values.flatMap { $0 } }

    /// Notes that the pool has one more connection, which is in use.
    mutating func opened() { count += 1 }

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

    func has(_ origin: Origin) -> Bool { byOrigin[origin]?.isEmpty == false }

    /// Returns the connection that was used last, if one is idle. It is not idle any more.
    mutating func take(_ origin: Origin) -> HTTP1Connection? {
      // The list stays until the connection is closed, because mostly the connection returns to it.
      guard let connection = byOrigin[origin]?.popLast() else { return nil }
      noteInUse(connection)
      return connection
    }

    mutating func noteInUse(_ connection: LoopConnection) {
      idleCount -= 1
      connection.isIdle = false
      ends.remove(connection)
    }

    mutating func nextExpired(now: UInt64) -> LoopConnection? { ends.popFirst(notAfter: now) }
  }

  /// What a pool knows of the origins with which HTTP/2 may be spoken: their connections, which requests share (RFC 9113
  /// §5), those that are being opened, and the origins that have chosen HTTP/1.1 instead.
  struct SharedConnections {
    private static let maximumOrigins = 1_000

    /// The newest come last.
    private var byOrigin: [Origin: [HTTP2Connection]] = [:]
    private var opening: [Origin: OpeningConnection] = [:]
    private var http1: Set<Origin> = []
    /// The origins to which a request could not be sent for lack of room.
    private var crowded: Set<Origin> = []

    var all: [HTTP2Connection] { byOrigin.values.flatMap { $0 } }

    /// Returns a connection, opened at this time at the earliest, on which one more request can be sent.
    func available(_ origin: Origin, since: UInt64 = 0) -> HTTP2Connection? {
      byOrigin[origin]?.first { $0.opened >= since && $0.hasRoom }
    }

    /// Returns what the connections to an origin have room for. If that is nothing, ``endsCrowding(of:)`` is true later.
    ///
    /// - Parameter mayBeUsed: Whether requests may be sent over them. Otherwise they stay until their last response ends.
    mutating func room(_ origin: Origin, mayBeUsed: Bool) -> StreamRoom {
      // Mostly there are none of HTTP/2 at all.
      guard !byOrigin.isEmpty, let connections = byOrigin[origin], !connections.isEmpty else { return StreamRoom() }
      guard mayBeUsed else { return StreamRoom(leaving: connections.map(\.number)) }
      if let newest = connections.last(where: \.hasRoom) {
        return StreamRoom(isShared: true, isFree: true, newest: newest.opened)
      }
      crowded.insert(origin)
      return StreamRoom(isShared: true, leaving: connections.filter { !$0.mayHaveRoom }.map(\.number))
    }

    /// Returns whether requests to an origin wait for room, and forgets it.
    mutating func endsCrowding(of origin: Origin) -> Bool { crowded.remove(origin) != nil }

    /// Returns the connection that is being opened to an origin, if it may become one that is shared.
    func opening(_ origin: Origin) -> OpeningConnection? { http1.contains(origin) ? nil : opening[origin] }

    /// Notes that a connection is being opened for a request, unless the request could wait for an earlier one.
    mutating func opens(_ connection: OpeningConnection, for transfer: Transfer) {
      let origin = connection.origin
      if connection.version != .http1, opening[origin]?.outlasts(transfer) != true { opening[origin] = connection }
    }

    /// Notes that it is not being opened any more.
    mutating func opened(_ connection: OpeningConnection) {
      if opening[connection.origin] === connection { opening[connection.origin] = nil }
    }

    /// Notes that an origin has chosen HTTP/1.1: requests to it need not wait for each other's connections.
    mutating func noteHTTP1(_ origin: Origin) {
      if http1.count >= Self.maximumOrigins { http1.removeAll() }
      http1.insert(origin)
    }

    mutating func add(_ connection: HTTP2Connection) {
      http1.remove(connection.origin)
      byOrigin[connection.origin, default: []].append(connection)
    }

    mutating func remove(_ connection: HTTP2Connection) {
      byOrigin[connection.origin]?.removeAll { $0 === connection }
      if byOrigin[connection.origin]?.isEmpty == true { byOrigin[connection.origin] = nil }
    }
  }
#endif
