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

#if os(Linux)
  import CCurl

  extension EventLoop {
    /// Watches a socket for a connection; 0 stands for ``opening``. This is done immediately, never later in the turn: by
    /// then a descriptor may have been closed and its number reused.
    func watch(_ socket: Int32, _ what: Int32, connection: UInt32) {
      let tag = UInt64(connection) << 32 | UInt64(UInt32(bitPattern: socket))
      if what == EKN_POLL_REMOVE {
        guard sockets.isWatched(socket) else { return }
        sockets.remove(socket)
      } else if !sockets.watch(socket, what, tag: tag) {
        return
      }
      poller.watch(socket, what, tag: tag)
    }

    /// Stops watching a socket that is about to be closed. The poller only does that by itself if no other process has
    /// inherited the socket.
    func willClose(_ socket: Int32) {
      if sockets.isWatched(socket) { poller.watch(socket, Int32(EKN_POLL_REMOVE), tag: 0) }
      sockets.remove(socket)
    }

    /// - Parameter withErrors: Whether to act on errors. Not after a request was started directly, because the number
    ///   may belong to another socket by now: if it does not, the next wait reports the error again. Trying a socket
    ///   that is not ready does no harm.
    func act(on ready: ArraySlice<ekn_ready>, withErrors: Bool) {
      for event in ready where withErrors || event.events & Int32(EKN_CSELECT_ERR) == 0 {
        let socket = Int32(bitPattern: UInt32(truncatingIfNeeded: event.tag))
        let number = UInt32(truncatingIfNeeded: event.tag >> 32)
        if number == 0 {
          opening?.act(on: socket, events: event.events)
        } else {
          connections[number]?.ready(socket, events: event.events)
        }
      }
    }
  }
#endif
