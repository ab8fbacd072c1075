#if os(Linux)
  /// How often the request of a transfer goes out. libcurl sends it again by itself where a reused connection dies, and the event
  /// loop does so where libcurl does not.
  ///
  /// A second time only where that does no harm (RFC 9110 §9.2.2), or where the server has said that it has not looked at the
  /// first (RFC 9113 §8.7); never once there is a response.
  struct ResendState {
    /// How a transfer has ended.
    struct Ending {
      /// libcurl's result.
      var code: Int
      /// Whether the server has said that it has not looked at the request.
      var wasRefused = false
      var hasReusedConnection = false
      /// Whether something of a response is there, or another reason to fail.
      var isFinal = false
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
    /// Whether libcurl was kept from sending the request again.
    private(set) var isStopped = false

    init(isIdempotent: Bool) { self.isIdempotent = isIdempotent }

    /// libcurl is about to send the request. Whether it may.
    mutating func sends(wasRefused isRefused: Bool, hasResponse: Bool) -> Bool {
      if hasSent, hasResponse || !(isIdempotent || isRefused || wasRefused) {
        isStopped = true
        return false
      }
      hasSent = true
      wasRefused = false
      return true
    }

    /// The transfer is ended before its request is sent, because it needs another connection.
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
