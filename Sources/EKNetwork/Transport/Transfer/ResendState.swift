#if os(Linux)
  import CCurl

  /// The state that decides whether the request of a transfer is sent again, over another connection.
  ///
  /// It is sent a second time only where that is safe (RFC 9110 §9.2.2), or where the server has stated that it has not
  /// processed the first (RFC 9113 §8.7), and never once there is a response.
  struct ResendState {
    /// The way in which a transfer ended.
    struct Ending {
      /// libcurl's result code, or the corresponding one.
      var code: Int
      /// Whether the server has stated that it has not processed the request.
      var wasRefused = false
      /// Whether it may be sent over the same connection later, or another one that is used already (RFC 9113 §8.7).
      var keepsConnection = false
      var hasReusedConnection = false
      /// Whether part of a response was received, or there is another reason to fail.
      var isFinal = false

      /// The server has closed a reused connection without a response to the request.
      static let staleConnection = Ending(code: CurlError.emptyReply, hasReusedConnection: true)
    }

    private let isIdempotent: Bool
    /// Whether a second attempt has begun.
    private(set) var hasResent = false
    /// Whether it uses a connection of its own: others may have been lost in the same way.
    private(set) var needsNewConnection = false

    init(isIdempotent: Bool) { self.isIdempotent = isIdempotent }

    /// Returns whether the request, whose exchange has ended, is sent again.
    mutating func resends(after ending: Ending) -> Bool {
      guard !hasResent, CurlError.connectionLosses.contains(ending.code), !ending.isFinal,
        ending.wasRefused || isIdempotent && (ending.hasReusedConnection || ending.code == CurlError.framingLoss)
      else { return false }
      hasResent = true
      needsNewConnection = !ending.keepsConnection
      return true
    }
  }

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
