#if os(Linux)
  import CCurl

  /// Detects whether an upload makes progress while its body is not read: the kernel may still have megabytes of it to
  /// send, which can take a slow network longer than a server may be idle.
  ///
  /// A value type, updated eight times in each idle time with what the kernel still has to send. A timeout is late by
  /// one such interval at most.
  struct SendProgress {
    private static var checksPerTimeout: UInt64 { 8 }
    /// The number of bytes of a body that may have been read and not yet passed to the kernel.
    private static var libraryBuffer: UInt64 { 256 * 1024 }

    private var lastCheck: UInt64 = 0
    private var last: ekn_socket_output?
    /// The number of confirmed bytes once all of the body that has been read has arrived. What follows on a shared
    /// connection belongs to another request.
    private var end: UInt64 = 0

    /// Returns when to check again.
    func nextCheck(after activity: UInt64, idle: UInt64) -> UInt64 {
      return max(activity, lastCheck).addingClamped(max(1, idle / Self.checksPerTimeout))
    }

    /// Takes the state of the connection in the kernel. Returns `true` if bytes of the body were sent since the last
    /// check; the first check cannot tell, and returns `true` if any bytes are queued.
    ///
    /// - Parameter activity: When part of the body was last read.
    mutating func hasMoved(_ output: ekn_socket_output, since activity: UInt64, at time: UInt64) -> Bool {
      defer {
        last = output
        lastCheck = time
      }
      if last == nil || activity > lastCheck { end = output.confirmed &+ output.queued &+ Self.libraryBuffer }
      guard let last else { return output.queued > 0 }
      guard output.confirmed > 0 else { return output.queued < last.queued }
      return output.confirmed > last.confirmed && last.confirmed < end
    }
  }
#endif
