/// The events for which the poller watches each socket, so that it is only called when they change.
struct WatchedSockets {
  private struct Socket {
    /// `nil` while the poller does not watch it.
    var events: Int32?
    var tag: UInt64 = 0
  }

  /// Indexed by descriptor: the system assigns the smallest number that is free.
  private var sockets: [Socket] = []

  /// The number of sockets that the poller watches.
  var count: Int { sockets.count { $0.events != nil } }

  /// Notes that a socket is to be watched, and returns whether the poller has to be called.
  mutating func watch(_ socket: Int32, _ events: Int32, tag: UInt64) -> Bool {
    guard let index = Int(exactly: socket), index >= 0 else { return true }
    if index >= sockets.count { sockets += repeatElement(Socket(), count: index + 1 - sockets.count) }
    defer { sockets[index] = Socket(events: events, tag: tag) }
    return sockets[index].events != events || sockets[index].tag != tag
  }

  /// Notes that the poller no longer watches a socket.
  mutating func remove(_ socket: Int32) {
    if sockets.indices.contains(Int(socket)) { sockets[Int(socket)] = Socket() }
  }

  /// Returns whether the poller watches a socket.
  func isWatched(_ socket: Int32) -> Bool {
    sockets.indices.contains(Int(socket)) && sockets[Int(socket)].events != nil
  }
}
