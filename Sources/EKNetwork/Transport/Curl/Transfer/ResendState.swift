#if os(Linux)
  /// The state that decides how often the request of a transfer is sent. libcurl sends it again by itself when a reused
  /// connection fails, and the event loop does so where libcurl does not.
  ///
  /// It is sent a second time only where that is safe (RFC 9110 §9.2.2), or where the server has stated that it has not
  /// processed the first (RFC 9113 §8.7), and never once there is a response.
  struct ResendState {
    /// The way in which a transfer ended.
    struct Ending {
      /// libcurl's result code.
      var code: Int
      /// Whether the server has stated that it has not processed the request.
      var wasRefused = false
      var hasReusedConnection = false
      /// Whether part of a response was received, or there is another reason to fail.
      var isFinal = false

      /// The server has closed a reused connection without a response to the request.
      static let staleConnection = Ending(code: CurlError.emptyReply, hasReusedConnection: true)
    }

    enum Action {
      case end
      /// Send the request again, with its body from the start.
      case resend
      /// Send the request, which has not been sent yet.
      case send
    }

    private let isIdempotent: Bool
    private var hasSent = false
    /// Whether the first request was refused, and the second one has not been sent yet.
    private var wasRefused = false
    private var isMisplaced = false
    /// Whether a second attempt has begun, which uses a connection of its own.
    private(set) var hasResent = false
    /// Whether libcurl was prevented from sending the request again.
    private(set) var isStopped = false

    init(isIdempotent: Bool) { self.isIdempotent = isIdempotent }

    /// Returns whether libcurl may send the request, which it is about to do.
    mutating func sends(wasRefused isRefused: Bool, hasResponse: Bool) -> Bool {
      if hasSent, hasResponse || !(isIdempotent || isRefused || wasRefused) {
        isStopped = true
        return false
      }
      hasSent = true
      wasRefused = false
      return true
    }

    /// Notes that the transfer is ended before its request is sent, because it needs another connection.
    mutating func misplaced() { isMisplaced = true }

    mutating func ended(_ ending: Ending) -> Action {
      guard !hasResent else { return .end }
      if isMisplaced {
        hasResent = true
        return .send
      }
      guard CurlError.connectionLosses.contains(ending.code), !ending.isFinal, !isStopped,
        ending.wasRefused || isIdempotent && (ending.hasReusedConnection || ending.code == CurlError.framingLoss)
      else { return .end }
      hasResent = true
      wasRefused = ending.wasRefused
      return .resend
    }
  }
#endif
