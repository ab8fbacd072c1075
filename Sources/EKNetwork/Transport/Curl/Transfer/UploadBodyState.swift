#if os(Linux)
  import CCurl

  /// The state of a request's body, and the rules for a response that arrives before the body has been sent (RFC 9112
  /// §9.5, RFC 9113 §8.1).
  struct UploadBodyState {
    /// What to do with a transfer whose body has nothing to send when something arrives from the server.
    enum PausedBodyAction: Equatable {
      case wait
      /// Resume the body: libcurl then stops sending it by itself.
      case resume
      /// End the transfer with this result code of libcurl's.
      case end(Int)
    }

    private struct Head {
      var status: Int
      var length: Int64?
      var isChunked: Bool
    }

    /// The number of bytes that libcurl 8.3 and 8.4 may have sent over HTTP/2 before they count them (`http2.c`).
    private static let uncounted: Int64 = 64 * 1024

    /// The length of the body, if it is known.
    private let length: Int64?
    /// The number of bytes that libcurl has read. It may not have sent them.
    private(set) var readCount: Int64 = 0
    /// Whether libcurl has read the end of the body. It does not read that far if it knows the length.
    private var hasEnded = false
    private var head: Head?
    /// Whether a paused body was resumed because there is a response.
    private var wasResumed = false

    init(length: Int64?) { self.length = length }

    // MARK: - Events

    /// Notes that libcurl has read this number of bytes.
    mutating func read(_ count: Int) { readCount += Int64(count) }

    /// Notes that libcurl has read the end of the body.
    mutating func ended() { hasEnded = true }

    /// Notes that the body will be sent again from its start.
    mutating func rewound() {
      readCount = 0
      hasEnded = false
    }

    /// Notes the final head of the response.
    mutating func responded(status: Int, length: Int64?, isChunked: Bool) {
      head = Head(status: status, length: length, isChunked: isChunked)
    }

    /// Returns what to do when the connection, which no other transfer uses, has an event while the body has nothing to
    /// send. libcurl has already read what it waits for.
    ///
    /// - Parameters:
    ///   - received: The number of bytes of the response's body.
    ///   - input: The input of the connection's socket.
    mutating func inputWhilePaused(received: Int64, input: () -> ekn_socket_input) -> PausedBodyAction {
      if let head, head.status >= 300, !wasResumed {
        wasResumed = true
        return .resume
      }
      let input = input()
      // After a complete response only the end of the connection can follow, which TLS announces with a record (RFC
      // 8446 §6.1).
      if input != EKN_SOCKET_QUIET, hasAnnouncedBody(received) { return .end(0) }
      guard input == EKN_SOCKET_AT_END else { return .wait }
      guard let head else { return .end(CurlError.emptyReply) }
      // RFC 9112 §6.3: without a length and a coding, the end of the connection is the end of the body.
      return .end(head.length == nil && !head.isChunked ? 0 : CurlError.partialBody)
    }

    // MARK: - Rules

    /// Whether the response has all the bytes that its head announces before the body has been sent. If the length is
    /// unknown, the body always counts as unsent: libcurl may have read its end without sending it.
    ///
    /// - Parameter sent: The number of bytes that libcurl has counted as sent.
    func isEarly(received: Int64, sent: Int64) -> Bool { sent < length ?? .max && hasAnnouncedBody(received) }

    /// Whether the end of a response over HTTP/2, as libcurl reports it, may be a reset. RFC 9113 §8.1: only after a
    /// complete response does a reset mean that the rest of the body is not needed. A status of 300 or above refuses
    /// the request, even if the body of the response is missing.
    ///
    /// - Parameter sent: The number of bytes that libcurl has counted as sent.
    func mayHaveBeenReset(received: Int64, sent: Int64) -> Bool {
      guard let head, head.status < 300, !hasAnnouncedBody(received) else { return false }
      guard hasEnded || readCount == length else { return true }
      return sent + Self.uncounted < readCount
    }

    /// RFC 9110 §6.4.1: with two of the codes there is no content, whatever length is stated.
    private func hasAnnouncedBody(_ received: Int64) -> Bool {
      guard let head else { return false }
      // RFC 9112 §6.3: a transfer coding takes precedence over a length.
      return head.status == 204 || head.status == 304 || !head.isChunked && head.length == received
    }
  }
#endif
