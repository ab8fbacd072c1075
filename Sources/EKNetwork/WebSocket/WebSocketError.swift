import Foundation

/// What ends a WebSocket, or keeps it from opening. What happens below the protocol before it is open (names,
/// refused connections, TLS) is a `URLError`.
public enum WebSocketError: LocalizedError, Sendable, Equatable {
  /// The URL is not `ws`, `wss`, `http` or `https`, or has no host.
  case invalidURL
  /// The server responded to the handshake with another status than 101, also with a redirection, which is not followed
  /// (RFC 6455 §4.1). The header fields have lowercase names.
  case refused(status: Int, headers: [String: String])
  /// The response to the handshake is not HTTP, or not an acceptable one.
  case invalidHandshake(reason: String)
  /// The connection did not open, or a peer did not respond to a keep-alive ping, in the time allowed.
  case timedOut
  /// The peer broke a rule or a limit; it was told so with the code.
  case protocolViolation(code: WebSocketCloseCode, reason: String)
  /// The connection was closed with a close frame: the peer's code (``WebSocketCloseCode/noStatusReceived`` for none)
  /// and reason.
  case closed(code: WebSocketCloseCode, reason: String)
  /// The connection broke without a close frame.
  case connectionLost(reason: String)
  /// A close code that must not be sent, or a reason longer than 123 bytes of UTF-8; or a ping longer than 125 bytes.
  case invalidControlFrame
  /// More messages wait to be sent than a ``ReconnectingWebSocket`` keeps; this one is not sent.
  case sendQueueFull

  /// What happened, in a sentence.
  public var errorDescription: String? {
    switch self {
    case .invalidURL: "The URL is not one of a WebSocket"
    case .refused(let status, _): "The server refused the WebSocket with status \(status)"
    case .invalidHandshake(let reason): "The response to the WebSocket handshake is not acceptable: \(reason)"
    case .timedOut: "The WebSocket peer did not respond in time"
    case .protocolViolation(let code, let reason): "The WebSocket peer broke the protocol (\(code)): \(reason)"
    case .closed(let code, let reason): "The WebSocket was closed (\(code))\(reason.isEmpty ? "" : ": " + reason)"
    case .connectionLost(let reason): "The WebSocket connection was lost: \(reason)"
    case .invalidControlFrame: "The close code or the length of the control frame is not allowed"
    case .sendQueueFull: "Too many messages wait to be sent"
    }
  }
}
