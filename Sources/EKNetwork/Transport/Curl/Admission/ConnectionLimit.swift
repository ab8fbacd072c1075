/// How many requests of one session to one origin may be under way, so that they need no more connections than the
/// session allows.
///
/// Over HTTP/1.1 each request under way has a connection of its own. Over HTTP/2 they share (RFC 9113 §5), and whether
/// that is so is only known from what happens: requests that were sent from the same port, or a response that says so.
/// How many streams the server allows (RFC 9113 §6.5.2) libcurl does not tell; it opens the next connection when they are
/// used up, which shows in the ports, too.
struct ConnectionLimit {
  /// What libcurl puts on one connection at most, whatever the server allows.
  static let maximumStreams = 100
  /// How many requests wait at most inside libcurl until it is known whether their connection can be shared.
  static let maximumConnecting = 8

  /// How many connections there may be; at least 1.
  let connections: Int
  /// Whether the protocol is negotiated (RFC 7301): without TLS it is always HTTP/1.1.
  let negotiates: Bool

  /// Requests under way, sent or not.
  private(set) var active = 0
  /// Requests under way that libcurl has not begun to send: it connects for them, or looks for a stream.
  private(set) var unsent = 0
  /// Requests under way by the local port of their connection.
  private var streams: [Int32: Int] = [:]
  private var sharedPorts = 0
  private var hasHTTP2Response = false
  /// How many streams a connection has had room for, as far as that is known.
  private var streamsPerConnection = maximumStreams
  /// How many requests all connections have had room for, once that has turned out.
  private var ceiling = Int.max
  /// Ports to which libcurl has preferred one connection more than there may be, and from which nothing has been sent
  /// since: they are full, or the server closes them (GOAWAY, RFC 9113 §6.8), which may take as long as their last stream.
  private var closing: Set<Int32> = []

  init(connections: Int, negotiates: Bool) {
    self.connections = max(1, connections)
    self.negotiates = negotiates
  }

  /// Whether requests share connections. To be read only when every request that has ended has been reported: a port
  /// that is used twice is shared only if the first request is not over.
  var isShared: Bool { sharedPorts > 0 || hasHTTP2Response }

  /// Whether a request that is not sent yet waits for others on its connections, not for the server.
  var waitsForStream: Bool { isShared && active > unsent }

  /// Whether one more request may begin.
  ///
  /// - Parameter ownConnection: Whether it must not share, nor use a connection that is open already.
  func hasRoom(ownConnection: Bool = false) -> Bool {
    guard negotiates else { return active < connections }
    guard isShared else {
      let isConnecting = unsent == active
      return active < (isConnecting ? min(connections, Self.maximumConnecting) : connections)
    }
    // Each that is not sent may open a connection, if those that are open have no stream left.
    let free = connections - streams.count
    // One may be opened past the limit: those that are open may last as long as their streams.
    if ownConnection { return unsent < max(free, free == 0 ? 1 : 0) }
    if active < min(connections * streamsPerConnection, ceiling) {
      return unsent < max(1, min(free, Self.maximumConnecting))
    }
    // One at a time goes past connections that may be closing.
    return unsent == 0 && !closing.isEmpty && active == closing.reduce(0) { $0 + (streams[$1] ?? 0) }
  }

  mutating func begin() {
    active += 1
    unsent += 1
  }

  /// A request is being sent, perhaps for the second time.
  ///
  /// - Parameters:
  ///   - port: The connection's local port; 0 when it is not known.
  ///   - last: The same as it was reported before; `nil` when this is the first time.
  ///   - ownConnection: Whether the connection was opened for it although others may have had room.
  mutating func sent(port: Int32, last: Int32?, ownConnection: Bool = false) {
    if let last { release(last) } else { unsent -= 1 }
    guard port > 0 else { return }
    closing.remove(port)
    let count = (streams[port] ?? 0) + 1
    streams[port] = count
    if count == 2 { sharedPorts += 1 }
    if count > streamsPerConnection { streamsPerConnection = min(count, Self.maximumStreams) }
    // Beside a connection that is shared, libcurl opens another only because that one is full, or about to close.
    guard count == 1, isShared, streams.count > 1, !ownConnection else { return }
    streamsPerConnection = streams.values.max() ?? streamsPerConnection
    if streams.count > connections {
      ceiling = max(connections, active - 1)
      closing.formUnion(streams.keys.lazy.filter { $0 != port })
    }
  }

  mutating func responded(isHTTP2: Bool) { hasHTTP2Response = isHTTP2 }

  /// A request is over, or leaves its connection.
  ///
  /// - Parameter port: As it was reported; `nil` when it was never sent.
  mutating func end(port: Int32?) {
    active -= 1
    if let port { release(port) } else { unsent -= 1 }
    // What the next connection will speak is not known.
    if active == 0 { self = ConnectionLimit(connections: connections, negotiates: negotiates) }
  }

  private mutating func release(_ port: Int32) {
    guard let count = streams[port] else { return }
    if count == 2 { sharedPorts -= 1 }
    streams[port] = count > 1 ? count - 1 : nil
  }
}
