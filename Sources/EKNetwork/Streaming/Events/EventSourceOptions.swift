/// Options of a subscription to server-sent events.
public struct EventSourceOptions: Sendable {
  /// The event ID to resume after, from an earlier subscription: the first request sends it as `Last-Event-ID`.
  /// Defaults to none. An ID that is not a valid header field value throws ``InvalidHeaderError``.
  public var lastEventID: String
  /// The maximum silence of the server, before its response and during the stream, after which the connection counts as
  /// lost; at least a millisecond.
  ///
  /// Defaults to `nil`: the request's own ``NetworkRequest/timeout``; without one, five minutes, or three times the
  /// longest pause, at least 30 seconds, if the server sends comments as heartbeats.
  public var idleTimeout: Duration?
  /// Called each time a stream has opened, with the header fields of the response, before its first event. The loop
  /// waits until it returns.
  public var onOpen: (@Sendable (_ headers: [String: String]) -> Void)?
  /// The clock that measures the silence.
  var clock: any Clock<Duration> = ContinuousClock()

  /// Creates options in which parameters that are left out keep their defaults.
  public init(
    lastEventID: String = "", idleTimeout: Duration? = nil,
    onOpen: (@Sendable (_ headers: [String: String]) -> Void)? = nil
  ) {
    self.lastEventID = lastEventID
    self.idleTimeout = idleTimeout
    self.onOpen = onOpen
  }
}
