/// Compresses messages one after another and encodes them as frames.
///
/// Unchecked: used only by the sender that has the turn.
final class MessageEncoder: @unchecked Sendable {
  private let deflater: MessageDeflater?
  private let minimumSize: Int

  init(deflater: MessageDeflater?, minimumSize: Int) {
    self.deflater = deflater
    self.minimumSize = minimumSize
  }

  func frames(of message: WebSocketMessage) -> OutgoingMessage {
    switch message {
    case .text(var text):
      if let deflated = text.withUTF8({ deflate(UnsafeRawBufferPointer($0)) }) {
        return OutgoingMessage(.text, .bytes(deflated), isCompressed: true)
      }
      return OutgoingMessage(.text, .text(text))
    case .binary(let data):
      if let deflated = data.withUnsafeBytes({ deflate($0) }) {
        return OutgoingMessage(.binary, .bytes(deflated), isCompressed: true)
      }
      return OutgoingMessage(.binary, .data(data))
    }
  }

  private func deflate(_ payload: UnsafeRawBufferPointer) -> [UInt8]? {
    guard let deflater, payload.count >= minimumSize else { return nil }
    return deflater.deflate(payload)
  }

  /// Returns a control frame; sending one needs no turn.
  static func control(_ opcode: FrameOpcode, _ payload: some Sequence<UInt8>) -> [UInt8] {
    Array(payload).withUnsafeBytes { FrameEncoder.frame(opcode, $0, key: .random(in: .min ... .max)) }
  }

  /// Returns a close frame.
  static func close(_ code: WebSocketCloseCode, _ reason: String) -> [UInt8] {
    control(.close, FrameEncoder.closePayload(code, reason))
  }
}
