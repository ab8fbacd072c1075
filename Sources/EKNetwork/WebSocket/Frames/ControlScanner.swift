import Foundation

/// Finds the pings and pongs of a server in bytes that are buffered for later. The bytes are not changed; a
/// ``MessageDecoder`` decodes and validates them later.
struct ControlScanner {
  enum Control: Sendable, Equatable {
    case ping(Data)
    case pong(Data)
  }

  private var head: [UInt8] = []
  private var opcode: FrameOpcode?
  private var remaining = 0
  private var payload = Data()
  /// Whether scanning has ended, because a close frame or an invalid frame was found.
  private(set) var isOver = false

  /// Scans bytes that follow those of earlier calls; the first ones begin a frame.
  mutating func scan(_ bytes: ArraySlice<UInt8>) -> [Control] {
    var rest = bytes
    var controls: [Control] = []
    while !isOver {
      if opcode == nil { readHead(&rest) }
      guard let opcode else { break }
      let part = rest.prefix(remaining)
      rest = rest.dropFirst(part.count)
      remaining -= part.count
      if opcode.isControl { payload.append(contentsOf: part) }
      guard remaining == 0 else { break }
      switch opcode {
      case .ping: controls.append(.ping(payload))
      case .pong: controls.append(.pong(payload))
      case .close: isOver = true
      case .continuation, .text, .binary: break
      }
      payload = Data()
      self.opcode = nil
    }
    return controls
  }

  /// Reads the header of a frame, and sets the opcode once it is complete and valid.
  private mutating func readHead(_ rest: inout ArraySlice<UInt8>) {
    while true {
      let wanted = head.count < 2 ? 2 : FrameHeader.size(of: head[1])
      let part = rest.prefix(wanted - head.count)
      head.append(contentsOf: part)
      rest = rest.dropFirst(part.count)
      guard head.count == wanted else { return }
      if wanted == 2, FrameHeader.check(head[0], head[1], allowsCompression: true) != nil { break }
      guard head.count == FrameHeader.size(of: head[1]) else { continue }
      guard case .success(let header) = head.withUnsafeBytes({ FrameHeader.parse($0) }) else { break }
      head.removeAll(keepingCapacity: true)
      opcode = header.opcode
      remaining = header.length
      return
    }
    isOver = true
  }
}
