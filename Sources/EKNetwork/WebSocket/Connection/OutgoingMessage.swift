import Foundation

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

  /// The maximum payload size of a frame.
  static let frameSize = 64 * 1024

  private let opcode: FrameOpcode
  private let isCompressed: Bool
  private var content: Content
  private let count: Int
  private var offset = 0

  init(_ opcode: FrameOpcode, _ content: Content, isCompressed: Bool = false) {
    self.opcode = opcode
    self.content = content
    self.isCompressed = isCompressed
    count =
      switch content {
      case .text(let text): text.utf8.count
      case .data(let data): data.count
      case .bytes(let bytes): bytes.count
      }
  }

  /// Returns the next frame, and whether it is the last one.
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
    let isLast = offset >= count
    // RFC 6455 §5.3: a fresh key from a secure source for every frame. RFC 7692 §6: only the first frame indicates that
    // the message is compressed.
    let frame = FrameEncoder.frame(
      isFirst ? opcode : .continuation, piece, isCompressed: isCompressed && isFirst, isFinal: isLast,
      key: .random(in: .min ... .max))
    return (frame, isLast)
  }
}
