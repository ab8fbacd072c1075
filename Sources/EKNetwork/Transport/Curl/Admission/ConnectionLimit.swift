/// A limit on the requests of one session to one origin that are in progress, so that they need no more connections
/// than the session allows.
///
/// Over HTTP/1.1 each request in progress has a connection of its own. Over HTTP/2 they share connections (RFC 9113
/// §5), which only becomes known from observation: requests were sent from the same port, or a response reports it.
/// libcurl does not report how many streams the server allows (RFC 9113 §6.5.2); it opens the next connection when they
/// are used up, which shows in the ports as well.
struct ConnectionLimit {
  /// The maximum number of requests that libcurl puts on one connection, whatever the server allows.
  static let maximumStreams = 100
  /// The maximum number of requests that wait inside libcurl until it is known whether their connection can be shared.
  static let maximumConnecting = 8

  /// The maximum number of connections; at least 1.
  let connections: Int
  /// Whether the protocol is negotiated (RFC 7301): without TLS it is always HTTP/1.1.
  let negotiates: Bool

  /// The number of requests in progress, sent or not.
  private(set) var active = 0
  /// The number of requests in progress that libcurl has not begun to send: it is connecting for them, or looking for a
  /// stream.
  private(set) var unsent = 0
  /// The numbers of those among them that never share a connection.
  private var unshared = (active: 0, unsent: 0)
  /// The number of other requests in progress for each local port of a connection.
  private var streams: [Int32: Int] = [:]
  private var sharedPorts = 0
  private var hasHTTP2Response = false
  /// The number of streams that a connection has had room for, as far as that is known.
  private var streamsPerConnection = maximumStreams
  /// The number of requests that all shared connections have had room for, once that is known.
  private var ceiling = Int.max
  /// The ports that libcurl passed over in favour of one connection more than allowed, and from which nothing has been
  /// sent since: their connections are full, or the server is closing them (GOAWAY, RFC 9113 §6.8), which may take
  /// until their last stream ends.
  private var closing: Set<Int32> = []

  init(connections: Int, negotiates: Bool) {
    self.connections = max(1, connections)
    self.negotiates = negotiates
  }

  /// Whether requests share connections. Only valid when every request that has ended has been reported: a port that is
  /// used twice is only shared if the first request is not over.
  var isShared: Bool { sharedPorts > 0 || hasHTTP2Response }

  /// The number of requests in progress that may share connections, and of those that have not been sent.
  private var sharing: (active: Int, unsent: Int) { (active - unshared.active, unsent - unshared.unsent) }

  /// The number of connections for requests that may share them: those that never do leave at least one.
  private var share: Int { max(1, connections - unshared.active) }

  /// Whether a request that may share a connection and has not been sent waits for others on its connections, and not
  /// for the server.
  var waitsForStream: Bool { isShared && sharing.active > sharing.unsent }

  /// Returns whether one more request may begin.
  func hasRoom(for use: ConnectionUse = .shares) -> Bool {
    guard negotiates else { return active < connections }
    let sharing = sharing
    guard isShared else {
      guard active < connections else { return false }
      let isConnecting = sharing.unsent == sharing.active
      return use == .neverShares || !isConnecting || sharing.unsent < Self.maximumConnecting
    }
    // Each unsent request may open a connection. One may be opened beyond the limit: those that are open may last as
    // long as their streams.
    if use == .neverShares {
      let free = connections - streams.count - (unshared.active - unshared.unsent)
      return unsent < max(free, free == 0 ? 1 : 0)
    }
    let free = share - streams.count
    if use == .opensNew { return sharing.unsent < max(free, free == 0 ? 1 : 0) }
    if sharing.active < min(max(share, streams.count) * streamsPerConnection, ceiling) {
      // Each may open a connection if those that are open have no stream left.
      return sharing.unsent < max(1, min(free, Self.maximumConnecting))
    }
    // One request at a time bypasses connections that may be closing.
    return sharing.unsent == 0 && !closing.isEmpty && sharing.active == closing.reduce(0) { $0 + (streams[$1] ?? 0) }
  }

  mutating func begin(_ use: ConnectionUse = .shares) {
    active += 1
    unsent += 1
    guard use == .neverShares else { return }
    unshared.active += 1
    unshared.unsent += 1
  }

  /// Notes that a request is being sent, perhaps for the second time.
  ///
  /// - Parameters:
  ///   - port: The local port of the connection; 0 if it is not known.
  ///   - last: The port that was reported before; `nil` if this is the first time.
  mutating func sent(port: Int32, last: Int32?, use: ConnectionUse = .shares) {
    leave(last, use)
    guard port > 0, use != .neverShares else { return }
    closing.remove(port)
    let count = (streams[port] ?? 0) + 1
    streams[port] = count
    if count == 2 { sharedPorts += 1 }
    if count > streamsPerConnection { streamsPerConnection = min(count, Self.maximumStreams) }
    // If there is a shared connection, libcurl only opens another when that one is full or about to close.
    guard count == 1, isShared, streams.count > 1, use == .shares else { return }
    streamsPerConnection = streams.values.max() ?? streamsPerConnection
    if streams.count > share {
      ceiling = max(share, sharing.active - 1)
      closing.formUnion(streams.keys.lazy.filter { $0 != port })
    }
  }

  mutating func responded(isHTTP2: Bool) { hasHTTP2Response = isHTTP2 }

  /// Notes that a request is over, or leaves its connection.
  ///
  /// - Parameter port: The port that was reported; `nil` if the request was never sent.
  mutating func end(port: Int32?, use: ConnectionUse = .shares) {
    leave(port, use)
    active -= 1
    if use == .neverShares { unshared.active -= 1 }
    guard sharing.active == 0 else { return }
    let old = self
    self = ConnectionLimit(connections: connections, negotiates: negotiates)
    // The protocol of the next connection is not known once all are idle.
    guard old.active > 0 else { return }
    (active, unsent, unshared, hasHTTP2Response) = (old.active, old.unsent, old.unshared, old.hasHTTP2Response)
  }

  /// Notes that a request leaves its connection, or was not sent before.
  private mutating func leave(_ port: Int32?, _ use: ConnectionUse) {
    if let port {
      if use != .neverShares { release(port) }
    } else {
      unsent -= 1
      if use == .neverShares { unshared.unsent -= 1 }
    }
  }

  private mutating func release(_ port: Int32) {
    guard let count = streams[port] else { return }
    if count == 2 { sharedPorts -= 1 }
    streams[port] = count > 1 ? count - 1 : nil
  }
}
