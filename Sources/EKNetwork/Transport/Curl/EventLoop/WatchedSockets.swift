/// The events for which the poller watches each socket, so that it is only called when they change.
///
/// libcurl stops watching a connection's socket at the end of each response, and starts again with the next request:
/// three system calls for each. The socket of a connection that stays open is left in the poller instead, until it has
/// an event that libcurl does not wait for.
struct WatchedSockets {
  private struct Socket {
    /// `nil` while the poller does not watch it.
    var events: Int32?
    var tag: UInt64 = 0
    var isWanted = false
  }

  /// Indexed by descriptor: the system assigns the smallest number that is free.
  private var sockets: [Socket] = []

  /// The number of sockets that the poller watches.
  var count: Int { sockets.count { $0.events != nil } }

  /// Notes that libcurl waits for a socket's events, and returns whether the poller has to be called.
  mutating func want(_ socket: Int32, _ events: Int32, tag: UInt64) -> Bool {
    guard let index = Int(exactly: socket), index >= 0 else { return true }
    if index >= sockets.count { sockets += repeatElement(Socket(), count: index + 1 - sockets.count) }
    defer { sockets[index] = Socket(events: events, tag: tag, isWanted: true) }
    return sockets[index].events != events || sockets[index].tag != tag
  }

  /// Notes that libcurl no longer waits for a socket that stays open.
  mutating func letGo(_ socket: Int32) {
    if sockets.indices.contains(Int(socket)) { sockets[Int(socket)].isWanted = false }
  }

  /// Notes that the poller no longer watches a socket.
  mutating func remove(_ socket: Int32) {
    if sockets.indices.contains(Int(socket)) { sockets[Int(socket)] = Socket() }
  }

  /// Returns whether the poller watches a socket.
  func isWatched(_ socket: Int32) -> Bool {
    sockets.indices.contains(Int(socket)) && sockets[Int(socket)].events != nil
  }

  /// Returns whether libcurl waits for the events of a socket.
  func isWanted(_ socket: Int32) -> Bool { sockets.indices.contains(Int(socket)) && sockets[Int(socket)].isWanted }
}
