import Foundation

/// A WebSocket message (RFC 6455 §5.6).
public enum WebSocketMessage: Sendable, Hashable {
  /// A text message, which is sent as UTF-8.
  case text(String)
  /// A binary message.
  case binary(Data)

  /// The size of the payload in bytes.
  var byteCount: Int {
    switch self {
    case .text(let text): text.utf8.count
    case .binary(let data): data.count
    }
  }
}
