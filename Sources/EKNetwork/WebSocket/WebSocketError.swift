import Foundation

/// An error that ends a WebSocket or prevents it from opening. Failures below the protocol before it is open (name
/// resolution, refused connections, TLS) are a `URLError`.
public enum WebSocketError: LocalizedError, Sendable, Equatable {
  /// The URL is not `ws`, `wss`, `http` or `https`, or has no host.
  case invalidURL
  /// The server responded to the handshake with a status other than 101. This includes redirects, which are not
  /// followed (RFC 6455 §4.1). The header fields have lowercase names.
  case refused(status: Int, headers: [String: String])
  /// The response to the handshake is not HTTP, or is not acceptable.
  case invalidHandshake(reason: String)
  /// The connection did not open, or the peer did not respond to a keep-alive ping, in time.
  case timedOut
  /// The peer violated the protocol or exceeded a limit; the connection was closed with the code.
  case protocolViolation(code: WebSocketCloseCode, reason: String)
  /// The connection was closed with a close frame: the peer's code (``WebSocketCloseCode/noStatusReceived`` for none)
  /// and reason, or those that this side closes with, until the peer's have arrived.
  case closed(code: WebSocketCloseCode, reason: String)
  /// The connection ended without a close frame.
  case connectionLost(reason: String)
  /// A close code that must not be sent, a reason longer than 123 bytes of UTF-8, or a ping longer than 125 bytes.
  case invalidControlFrame
  /// The send queue of a ``ReconnectingWebSocket`` is full; the message is not sent.
  case sendQueueFull

  /// A description of the error.
  public var errorDescription: String? {
    switch self {
    case .invalidURL: "The URL is not a WebSocket URL"
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

extension WebSocketError: Redacted {}

extension WebSocketError: ClassifiedError {
  var failureKind: FailureKind {
    switch self {
    // Redirects are not followed.
    case .refused(let status, _): FailureKind(status: status)
    case .timedOut, .connectionLost: .temporary
    case .closed(.normalClosure, _): .completed
    case .closed(let code, _), .protocolViolation(let code, _):
      WebSocketReconnectPolicy.defaultFinalCodes.contains(code) ? .permanent : .temporary
    case .invalidURL, .invalidControlFrame: .permanent
    case .invalidHandshake, .sendQueueFull: .unclear
    }
  }

  var responseHeaders: [String: String]? { if case .refused(_, let headers) = self { headers } else { nil } }
}
