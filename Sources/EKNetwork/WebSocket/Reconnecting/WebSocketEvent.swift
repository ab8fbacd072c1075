/// What happens to a ``ReconnectingWebSocket``.
public enum WebSocketEvent: Sendable {
  /// A connection is open.
  ///
  /// - Parameter subprotocol: The one that the server chose, if any.
  case connected(subprotocol: String?)
  /// A connection has ended, or could not be opened: a ``WebSocketError``, a `URLError`, or what the closure threw that
  /// makes the request. A close frame is ``WebSocketError/closed(code:reason:)``, whatever its code.
  case lost(any Error)
  /// The next attempt is made after that wait.
  case retrying(after: Duration)
  /// The last event: there is no new connection. The error is what reading throws; `nil` when this side has closed, or
  /// the server with ``WebSocketCloseCode/normalClosure``.
  case ended((any Error)?)
}
