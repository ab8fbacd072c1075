import Foundation

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

  static func close(_ code: WebSocketCloseCode, _ reason: String) -> [UInt8] {
    control(.close, FrameEncoder.closePayload(code, reason))
  }
}

/// A message that is sent frame by frame (RFC 6455 §5.4): a ping, a pong or a close can be sent between two frames, and
/// need not wait for the end of a long message.
///
/// Unchecked: used only by the sender that has the turn, and then by the completion of each of its frames.
final class OutgoingMessage: @unchecked Sendable {
  enum Content {
    case text(String)
    case data(Data)
    case bytes([UInt8])
  }

  static let frameSize = 64 * 1024

  private let opcode: FrameOpcode
  private let isCompressed: Bool
  private var content: Content
  private var offset = 0

  init(_ opcode: FrameOpcode, _ content: Content, isCompressed: Bool = false) {
    self.opcode = opcode
    self.content = content
    self.isCompressed = isCompressed
  }

  func next() -> (frame: [UInt8], isLast: Bool) {
    switch content {
    case .text(var text):
      content = .bytes([])
      defer { content = .text(text) }
      return text.withUTF8 { next(of: UnsafeRawBufferPointer($0)) }
    case .data(let data): return data.withUnsafeBytes { next(of: $0) }
    case .bytes(let bytes): return bytes.withUnsafeBytes { next(of: $0) }
    }
  }

  private func next(of payload: UnsafeRawBufferPointer) -> (frame: [UInt8], isLast: Bool) {
    let isFirst = offset == 0
    let piece = UnsafeRawBufferPointer(rebasing: payload[offset...].prefix(Self.frameSize))
    offset += piece.count
    let isLast = offset >= payload.count
    // RFC 6455 §5.3: a fresh key from a secure source for every frame. RFC 7692 §6: only the first frame indicates that
    // the message is compressed.
    let frame = FrameEncoder.frame(
      isFirst ? opcode : .continuation, piece, isCompressed: isCompressed && isFirst, isFinal: isLast,
      key: .random(in: .min ... .max))
    return (frame, isLast)
  }
}
