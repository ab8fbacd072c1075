/// What a frame is (RFC 6455 §5.2).
enum FrameOpcode: UInt8, Sendable {
  case continuation = 0
  case text = 1
  case binary = 2
  case close = 8
  case ping = 9
  case pong = 10

  /// Control frames are short, whole, and may stand between the fragments of a message (§5.5).
  var isControl: Bool { rawValue >= 8 }
}
