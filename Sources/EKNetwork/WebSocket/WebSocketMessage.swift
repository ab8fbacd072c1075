import Foundation

/// A WebSocket message (RFC 6455 §5.6).
public enum WebSocketMessage: Sendable, Hashable {
  /// A text message, which is sent as UTF-8.
  case text(String)
  /// A binary message.
  case binary(Data)

  var byteCount: Int {
    switch self {
    case .text(let text): text.utf8.count
    case .binary(let data): data.count
    }
  }

  /// The number of bytes that it counts for in a queue: even an empty message takes memory.
  var cost: Int { byteCount + 64 }
}

/// Messages that wait to be read. Taking one costs the same however many there are, which the peer decides.
struct MessageQueue {
  /// Those before `start` have been taken. They stay until they are half of all: moving the others for each one would be
  /// quadratic.
  private var messages: [WebSocketMessage?] = []
  private var start = 0
  private(set) var cost = 0

  var count: Int { messages.count - start }
  var isEmpty: Bool { count == 0 }

  mutating func append(_ message: WebSocketMessage) {
    messages.append(message)
    cost += message.cost
  }

  mutating func popFirst() -> WebSocketMessage? {
    guard !isEmpty, let message = messages[start].take() else { return nil }
    start += 1
    cost -= message.cost
    if start * 2 >= messages.count {
      messages.removeFirst(start)
      start = 0
    }
    return message
  }
}
