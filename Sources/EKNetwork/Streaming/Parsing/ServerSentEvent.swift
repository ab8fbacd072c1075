/// One event of a `text/event-stream` (WHATWG HTML §9.2).
public struct ServerSentEvent: Sendable, Equatable {
  /// The event's type; `"message"` when the server names none.
  public let event: String
  /// The data lines, joined with line feeds.
  public let data: String
  /// The last event ID that the stream has named, with this event or before it; empty when there was none.
  public let id: String
  /// How long the server asks a client to wait before it reconnects, if this event said so.
  public let retry: Duration?

  /// An event as the parser would make it, for tests.
  public init(event: String = "message", data: String, id: String = "", retry: Duration? = nil) {
    self.event = event
    self.data = data
    self.id = id
    self.retry = retry
  }
}
