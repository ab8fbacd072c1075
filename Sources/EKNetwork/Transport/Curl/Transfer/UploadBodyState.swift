#if os(Linux)
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

    /// The length of the body, if it is known.
    private let length: Int64?
    /// The number of bytes that libcurl has read.
    private(set) var sentCount: Int64 = 0
    /// Whether libcurl has read the end of the body. It does not read that far if it knows the length.
    private var hasEnded = false
    private var head: Head?
    /// Whether a paused body was resumed because there is a response.
    private var wasResumed = false

    init(length: Int64?) { self.length = length }

    // MARK: - Events

    mutating func sent(_ count: Int) { sentCount += Int64(count) }

    mutating func ended() { hasEnded = true }

    /// Notes that the body will be sent again from its start.
    mutating func rewound() {
      sentCount = 0
      hasEnded = false
    }

    mutating func responded(status: Int, length: Int64?, isChunked: Bool) {
      head = Head(status: status, length: length, isChunked: isChunked)
    }

    /// - Parameters:
    ///   - received: The number of bytes of the response's body.
    ///   - isAtEnd: Whether the server has closed its side of the connection.
    mutating func inputWhilePaused(received: Int64, isAtEnd: () -> Bool) -> PausedBodyAction {
      if let head, head.status >= 300, !wasResumed {
        wasResumed = true
        return .resume
      }
      guard isAtEnd() else { return .wait }
      guard let head else { return .end(CurlError.emptyReply) }
      // RFC 9112 §6.3: without a length and a coding, the end of the connection is the end of the body.
      let isComplete = hasAnnouncedBody(received) || head.length == nil && !head.isChunked
      return .end(isComplete ? 0 : CurlError.partialBody)
    }

    // MARK: - Questions

    /// Whether the response has all the bytes that its head announces before the body has been sent. Of a body without
    /// a length it is not known: libcurl may have read its end, and not sent it.
    func isEarly(received: Int64) -> Bool { sentCount < length ?? .max && hasAnnouncedBody(received) }

    /// Whether the end of a response over HTTP/2, as libcurl reports it, may be a reset. RFC 9113 §8.1: only after a
    /// complete response does a reset mean that the rest of the body is not needed. A refusal is one without its body.
    func mayHaveBeenReset(received: Int64) -> Bool {
      guard let head, head.status < 300 else { return false }
      return !hasEnded && sentCount < length ?? .max && !hasAnnouncedBody(received)
    }

    /// RFC 9110 §6.4.1: with two of the codes there is no content, whatever length is stated.
    private func hasAnnouncedBody(_ received: Int64) -> Bool {
      guard let head else { return false }
      return head.status == 204 || head.status == 304 || head.length == received
    }
  }
#endif
