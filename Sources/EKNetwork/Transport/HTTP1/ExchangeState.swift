/// The state of one exchange on an HTTP/1.1 connection: what of the request is next to be written, and whether the
/// connection can carry another exchange (RFC 9112 §9).
struct ExchangeState {
  enum Output: Equatable {
    /// The body waits until the server asks for it (RFC 9110 §10.1.1).
    case expecting
    case body
    /// The whole request has been written.
    case complete
    /// The rest of the request will not be sent.
    case stopped
  }

  /// How long to wait for a server that does not support `Expect` (RFC 9110 §10.1.1).
  static let expectationTimeout = Duration.seconds(1)

  private(set) var output: Output
  /// Whether the response refuses the request.
  private(set) var isRefused = false
  private var hasEnded = false

  /// Begins the exchange once the head of the request has been written.
  ///
  /// - Parameter expects: Whether the request has an `Expect` field.
  init(hasBody: Bool, expects: Bool) { output = !hasBody ? .complete : expects ? .expecting : .body }

  /// Whether the whole request was sent and the whole response received.
  var isComplete: Bool { output == .complete && hasEnded }

  /// Notes that the whole body has been written.
  mutating func wroteBody() { if output == .body { output = .complete } }

  /// Notes that nothing more can be sent. The response may have arrived nevertheless.
  mutating func failedToSend() { output = .stopped }

  /// Notes an interim response, and returns whether the body has to be sent now.
  mutating func interim(status: Int) -> Bool { status == 100 && proceeds() }

  /// Notes that the server has not responded to the expectation, and returns whether the body has to be sent now.
  mutating func expectationTimedOut() -> Bool { proceeds() }

  private mutating func proceeds() -> Bool {
    guard output == .expecting else { return false }
    output = .body
    return true
  }

  /// Notes the head of the final response. A server that has decided without the body does not need it, and one that
  /// closes the connection with a status of 300 or above refuses it (RFC 9112 §9.5).
  ///
  /// - Parameter closes: Whether the connection ends with the response.
  mutating func responded(status: Int, closes: Bool) {
    isRefused = status >= 300
    switch output {
    case .expecting: output = .stopped
    case .body where isRefused && closes: output = .stopped
    default: break
    }
  }

  /// Notes the end of the response, which is the end of the exchange, even if the body of the request is not.
  mutating func ended() {
    hasEnded = true
    if output != .complete { output = .stopped }
  }
}

#if os(Linux)
  extension ExchangeState {
    /// One that is declared to be empty was found to be, before the request was begun.
    init(_ request: PreparedRequest) {
      let hasBody = request.upload.map { $0.length != 0 && !$0.isDeclaredEmpty } ?? false
      self.init(hasBody: hasBody, expects: request.hasExpectation)
    }
  }
#endif
