/// One event of a `text/event-stream` (WHATWG HTML §9.2).
public struct ServerSentEvent: Sendable, Equatable {
  /// The event's type; `"message"` if the server sends none.
  public let event: String
  /// The data lines, joined with line feeds.
  public let data: String
  /// The last event ID of the stream, set by this event or an earlier one; empty if there was none.
  public let id: String
  /// The reconnection time that the server set with this event, if any.
  public let retry: Duration?

  /// Creates an event as the parser returns it, for tests.
  public init(event: String = "message", data: String, id: String = "", retry: Duration? = nil) {
    self.event = event
    self.data = data
    self.id = id
    self.retry = retry
  }
}
