/// How a subscription to server-sent events begins, and what its silence means.
public struct EventSourceOptions: Sendable {
  /// The ID to resume after, from an earlier subscription: the first request has it as `Last-Event-ID`. Defaults to none.
  /// One that no header field can carry is an ``InvalidHeaderError``.
  public var lastEventID: String
  /// How long the server may be silent before the connection counts as lost, and before it has responded.
  ///
  /// Defaults to `nil`: the request's own ``NetworkRequest/timeout``, and where there is none, five minutes, or three
  /// times the longest pause where the server sends comments as heartbeats, at least 30 seconds.
  public var idleTimeout: Duration?
  /// Is called each time that a stream is open, with the header fields of the response, before the first event of it. It
  /// is called between two events of the loop, and holds it up.
  public var onOpen: (@Sendable (_ headers: [String: String]) -> Void)?
  /// What measures the silence.
  var clock: any Clock<Duration> = ContinuousClock()

  /// Options that differ from the defaults in what is given.
  public init(
    lastEventID: String = "", idleTimeout: Duration? = nil,
    onOpen: (@Sendable (_ headers: [String: String]) -> Void)? = nil
  ) {
    self.lastEventID = lastEventID
    self.idleTimeout = idleTimeout
    self.onOpen = onOpen
  }
}
