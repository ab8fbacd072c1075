import Foundation

/// A message of a WebSocket (RFC 6455 §5.6).
public enum WebSocketMessage: Sendable, Hashable {
  /// Text, which travels as UTF-8.
  case text(String)
  /// Bytes.
  case binary(Data)

  /// How many bytes its payload has.
  var byteCount: Int {
    switch self {
    case .text(let text): text.utf8.count
    case .binary(let data): data.count
    }
  }
}
