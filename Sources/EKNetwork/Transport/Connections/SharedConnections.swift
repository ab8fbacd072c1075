#if os(Linux)
  /// What a pool knows of the origins with which HTTP/2 may be spoken: their connections, which requests share (RFC 9113
  /// §5), those that are being opened, and the origins that have chosen HTTP/1.1 instead.
  struct SharedConnections {
    private static let maximumOrigins = 1_000

    private var byOrigin: [Origin: [HTTP2Connection]] = [:]
    private var opening: [Origin: OpeningConnection] = [:]
    private var http1: Set<Origin> = []
    /// The origins to which a request could not be sent for lack of room.
    private var crowded: Set<Origin> = []

    var all: [HTTP2Connection] { byOrigin.values.flatMap { $0 } }

    /// Returns a connection on which one more request can be sent.
    func available(_ origin: Origin) -> HTTP2Connection? { byOrigin[origin]?.first { $0.hasRoom } }

    /// Returns what the connections to an origin have room for. If that is nothing, ``endsCrowding(of:)`` is true later.
    mutating func room(_ origin: Origin) -> StreamRoom {
      // Mostly there are none of HTTP/2 at all.
      guard !byOrigin.isEmpty, let connections = byOrigin[origin], !connections.isEmpty else { return StreamRoom() }
      guard available(origin) == nil else { return StreamRoom(isShared: true, isFree: true) }
      crowded.insert(origin)
      return StreamRoom(isShared: true, leaving: connections.filter { !$0.mayHaveRoom }.map(\.number))
    }

    /// Returns whether requests to an origin wait for room, and forgets it.
    mutating func endsCrowding(of origin: Origin) -> Bool { crowded.remove(origin) != nil }

    /// Returns the connection that is being opened to an origin, if it may become one that is shared.
    func opening(_ origin: Origin) -> OpeningConnection? { http1.contains(origin) ? nil : opening[origin] }

    /// Notes that a connection is being opened.
    mutating func opens(_ connection: OpeningConnection) {
      if connection.version != .http1, opening[connection.origin] == nil { opening[connection.origin] = connection }
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
