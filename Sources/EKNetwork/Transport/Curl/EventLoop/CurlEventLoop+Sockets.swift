#if os(Linux)
  import CCurl

  extension CurlEventLoop {
    /// libcurl wants to know when a socket is ready. Done at once, never later in the turn: a descriptor may be closed
    /// and its number be another's by then.
    func watch(_ socket: Int32, _ what: Int32, pool: Int) {
      let tag = UInt64(pool) << 32 | UInt64(UInt32(bitPattern: socket))
      if what == EKN_POLL_REMOVE {
        sockets.remove(socket)
      } else if !sockets.want(socket, what, tag: tag) {
        return
      }
      poller.watch(socket, what, tag: tag)
    }

    /// libcurl keeps a connection for the next request. ``closes(_:)`` follows when it closes it.
    func letGo(_ socket: Int32) { sockets.letGo(socket) }

    /// A socket is going to be closed. The poller lets go of it by itself only where no other process has inherited it.
    func closes(_ socket: Int32) {
      if sockets.isWatched(socket) { poller.watch(socket, Int32(EKN_POLL_REMOVE), tag: 0) }
      sockets.remove(socket)
    }

    /// - Parameter withErrors: Whether to believe in errors. Not after a request was started directly, for the number may
    ///   be another socket's by now: if it is not, the next wait brings the error again. To try what is not ready does no
    ///   harm.
    func act(on ready: ArraySlice<ekn_ready>, withErrors: Bool) {
      for event in ready where withErrors || event.events & Int32(EKN_CSELECT_ERR) == 0 {
        let socket = Int32(bitPattern: UInt32(truncatingIfNeeded: event.tag))
        guard sockets.isWanted(socket) else {
          pools[Int(event.tag >> 32)]?.hears(from: socket)
          watch(socket, Int32(EKN_POLL_REMOVE), pool: 0)
          continue
        }
        pools[Int(event.tag >> 32)]?.act(on: socket, events: event.events)
      }
    }
  }
#endif
