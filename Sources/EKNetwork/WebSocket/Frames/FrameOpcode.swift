/// The type of a frame (RFC 6455 §5.2).
enum FrameOpcode: UInt8, Sendable {
  case continuation = 0
  case text = 1
  case binary = 2
  case close = 8
  case ping = 9
  case pong = 10

  /// Whether this is a control frame. Those are short, not fragmented, and allowed between the fragments of a message
  /// (§5.5).
  var isControl: Bool { rawValue >= 8 }
}
