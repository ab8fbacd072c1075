/// What the connections of HTTP/2 to an origin have room for.
struct StreamRoom {
  /// Whether there are such connections.
  var isShared = false
  /// Whether one more request can be sent over one of them.
  var isFree = false
  /// Those that take no more requests, and stay until their last response ends (GOAWAY, RFC 9113 §6.8).
  var leaving: [UInt32] = []
}

/// A limit on the requests of one session to one origin that are in progress, so that they need no more connections
/// than the session allows.
///
/// Over HTTP/1.1 each request in progress has a connection of its own. Over HTTP/2 they share connections (RFC 9113
/// §5), as many on each as its server allows.
struct ConnectionLimit {
  /// The maximum number of connections; at least 1.
  let connections: Int
  /// The number of requests in progress that have no connection yet, each of which may need one.
  private var connecting = 0
  /// The number of requests in progress on each connection.
  private var exchanges: [UInt32: Int] = [:]

  init(connections: Int) { self.connections = max(1, connections) }

  /// Whether nothing is in progress.
  var isUnused: Bool { connecting == 0 && exchanges.isEmpty }

  /// Returns whether one more request may begin.
  ///
  /// - Parameter opensNew: Whether a connection is opened for it in any case.
  func hasRoom(_ room: StreamRoom, opensNew: Bool = false) -> Bool {
    if room.isFree, !opensNew { return true }
    // Those that are leaving may stay for a long time. Each needs requests of its own, so that they are not too many.
    let leaving = min(room.leaving.count { exchanges[$0] != nil }, connections)
    // The same is true of one that has no room, or has refused a request that needs another.
    let beyond = opensNew && room.isShared ? 1 : 0
    return exchanges.count - leaving + connecting < connections + beyond
  }

  mutating func begin() { connecting += 1 }

  /// Notes that a request is being sent.
  mutating func sent(over connection: UInt32) {
    connecting -= 1
    exchanges[connection, default: 0] += 1
  }

  /// Notes that a request is over, or leaves its connection.
  ///
  /// - Parameter connection: The connection over which it was sent; `nil` if it never was.
  mutating func end(on connection: UInt32?) {
    guard let connection else {
      connecting -= 1
      return
    }
    let count = (exchanges[connection] ?? 1) - 1
    exchanges[connection] = count > 0 ? count : nil
  }
}
