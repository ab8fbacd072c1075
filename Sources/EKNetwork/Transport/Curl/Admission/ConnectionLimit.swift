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
  /// The number of requests in progress for each local port of a connection.
  private var streams: [Int32: Int] = [:]
  private var sharedPorts = 0
  private var hasHTTP2Response = false
  /// The number of streams that a connection has had room for, as far as that is known.
  private var streamsPerConnection = maximumStreams
  /// The number of requests that all connections have had room for, once that is known.
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

  /// Whether a request that has not been sent waits for others on its connections, and not for the server.
  var waitsForStream: Bool { isShared && active > unsent }

  /// Returns whether one more request may begin.
  ///
  /// - Parameter ownConnection: Whether it must neither share a connection nor use an open one.
  func hasRoom(ownConnection: Bool = false) -> Bool {
    guard negotiates else { return active < connections }
    guard isShared else {
      let isConnecting = unsent == active
      return active < (isConnecting ? min(connections, Self.maximumConnecting) : connections)
    }
    // Each unsent request may open a connection if those that are open have no stream left.
    let free = connections - streams.count
    // One may be opened beyond the limit: those that are open may last as long as their streams.
    if ownConnection { return unsent < max(free, free == 0 ? 1 : 0) }
    if active < min(connections * streamsPerConnection, ceiling) {
      return unsent < max(1, min(free, Self.maximumConnecting))
    }
    // One request at a time bypasses connections that may be closing.
    return unsent == 0 && !closing.isEmpty && active == closing.reduce(0) { $0 + (streams[$1] ?? 0) }
  }

  mutating func begin() {
    active += 1
    unsent += 1
  }

  /// Notes that a request is being sent, perhaps for the second time.
  ///
  /// - Parameters:
  ///   - port: The local port of the connection; 0 if it is not known.
  ///   - last: The port that was reported before; `nil` if this is the first time.
  ///   - ownConnection: Whether a connection was opened for it although others may have had room.
  mutating func sent(port: Int32, last: Int32?, ownConnection: Bool = false) {
    if let last { release(last) } else { unsent -= 1 }
    guard port > 0 else { return }
    closing.remove(port)
    let count = (streams[port] ?? 0) + 1
    streams[port] = count
    if count == 2 { sharedPorts += 1 }
    if count > streamsPerConnection { streamsPerConnection = min(count, Self.maximumStreams) }
    // If there is a shared connection, libcurl only opens another when that one is full or about to close.
    guard count == 1, isShared, streams.count > 1, !ownConnection else { return }
    streamsPerConnection = streams.values.max() ?? streamsPerConnection
    if streams.count > connections {
      ceiling = max(connections, active - 1)
      closing.formUnion(streams.keys.lazy.filter { $0 != port })
    }
  }

  mutating func responded(isHTTP2: Bool) { hasHTTP2Response = isHTTP2 }

  /// Notes that a request is over, or leaves its connection.
  ///
  /// - Parameter port: The port that was reported; `nil` if the request was never sent.
  mutating func end(port: Int32?) {
    active -= 1
    if let port { release(port) } else { unsent -= 1 }
    // The protocol of the next connection is not known.
    if active == 0 { self = ConnectionLimit(connections: connections, negotiates: negotiates) }
  }

  private mutating func release(_ port: Int32) {
    guard let count = streams[port] else { return }
    if count == 2 { sharedPorts -= 1 }
    streams[port] = count > 1 ? count - 1 : nil
  }
}
