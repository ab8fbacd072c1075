/// An event of a ``ReconnectingWebSocket``.
public enum WebSocketEvent: Sendable {
  /// A connection has opened.
  ///
  /// - Parameter subprotocol: The subprotocol that the server chose, if any.
  case connected(subprotocol: String?)
  /// A connection has ended or could not be opened, with a ``WebSocketError``, a `URLError`, or the error of the
  /// closure that creates the request. A close frame is ``WebSocketError/closed(code:reason:)``, whatever its code.
  case lost(any Error)
  /// The next attempt follows after the delay.
  case retrying(after: Duration)
  /// The last event: there are no more attempts. The error is the one that reading throws; `nil` if this side has
  /// closed, or the server with ``WebSocketCloseCode/normalClosure``.
  case ended((any Error)?)
}
