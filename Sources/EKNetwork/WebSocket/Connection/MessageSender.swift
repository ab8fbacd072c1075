/// Compresses and frames messages, one after the other.
///
/// Unchecked: used by the one sender whose turn it is.
final class MessageSender: @unchecked Sendable {
  private let deflater: MessageDeflater?
  private let minimumSize: Int

  init(deflater: MessageDeflater?, minimumSize: Int) {
    self.deflater = deflater
    self.minimumSize = minimumSize
  }

  func frame(_ message: WebSocketMessage) -> [UInt8] {
    switch message {
    case .text(var text): text.withUTF8 { frame(.text, UnsafeRawBufferPointer($0)) }
    case .binary(let data): data.withUnsafeBytes { frame(.binary, $0) }
    }
  }

  private func frame(_ opcode: FrameOpcode, _ payload: UnsafeRawBufferPointer) -> [UInt8] {
    // RFC 6455 §5.3: a fresh key from a secure source for every frame.
    let key = UInt32.random(in: .min ... .max)
    if let deflater, payload.count >= minimumSize, let deflated = deflater.deflate(payload) {
      return deflated.withUnsafeBytes { FrameEncoder.frame(opcode, $0, isCompressed: true, key: key) }
    }
    return FrameEncoder.frame(opcode, payload, key: key)
  }

  /// A control frame; these need no turn.
  static func control(_ opcode: FrameOpcode, _ payload: some Sequence<UInt8>) -> [UInt8] {
    Array(payload).withUnsafeBytes { FrameEncoder.frame(opcode, $0, key: .random(in: .min ... .max)) }
  }
}
