#if os(Linux)
  /// The sockets of a pool's connections, which libcurl only tells by their ports and addresses.
  struct ConnectionSockets {
    private var ports: [Int32: Int] = [:]
    /// The system gives the same local port to connections with different peers.
    private var sockets: [Int: [Int32]] = [:]

    func contains(_ socket: Int32) -> Bool { ports[socket] != nil }

    mutating func add(_ socket: Int32, port: Int) {
      remove(socket)
      ports[socket] = port
      sockets[port, default: []].append(socket)
    }

    mutating func remove(_ socket: Int32) {
      guard let port = ports.removeValue(forKey: socket) else { return }
      sockets[port]?.removeAll { $0 == socket }
      if sockets[port]?.isEmpty == true { sockets[port] = nil }
    }

    /// - Parameters:
    ///   - port: The local port.
    ///   - hasPeer: Returns whether a socket is connected to the connection's peer. Only called if several sockets have
    ///     the port.
    func socket(port: Int, where hasPeer: (Int32) -> Bool) -> Int32? {
      guard let candidates = sockets[port] else { return nil }
      return candidates.count == 1 ? candidates[0] : candidates.first(where: hasPeer)
    }
  }
#endif
