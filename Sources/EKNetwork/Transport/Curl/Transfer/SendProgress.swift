#if os(Linux)
  import CCurl

  /// Whether an upload moves although its body is not read: the kernel may have megabytes of it still to send, and a slow
  /// network takes longer for them than a server may be silent.
  ///
  /// A value, driven by looks at what the kernel has still to send, eight in each idle time. A timeout is late by at most one.
  struct SendProgress {
    private static var looks: UInt64 { 8 }
    /// What libcurl may hold of a body that it has read.
    private static var libraryBuffer: UInt64 { 256 * 1024 }

    private var lastLook: UInt64 = 0
    private var last: ekn_socket_output?
    /// How many bytes are confirmed once all of the body has arrived that has been read. What comes after it on a shared
    /// connection is another request's.
    private var end: UInt64 = 0

    /// When to look again.
    func nextLook(after activity: UInt64, idle: UInt64) -> UInt64 {
      return max(activity, lastLook).addingClamped(max(1, idle / Self.looks))
    }

    /// Takes what the kernel has of the connection. `true` when bytes of the body have left since the last look; of the first
    /// look that is unknown, so that it counts where there are any.
    ///
    /// - Parameter activity: When something of the body was read.
    mutating func hasMoved(_ output: ekn_socket_output, since activity: UInt64, at time: UInt64) -> Bool {
      defer {
        last = output
        lastLook = time
      }
      if last == nil || activity > lastLook { end = output.confirmed &+ output.queued &+ Self.libraryBuffer }
      guard let last else { return output.queued > 0 }
      guard output.confirmed > 0 else { return output.queued < last.queued }
      return output.confirmed > last.confirmed && last.confirmed < end
    }
  }
#endif
