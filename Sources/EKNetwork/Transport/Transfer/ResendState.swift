#if os(Linux)
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
#endif
