/// The header of a frame from a server (RFC 6455 §5.2).
struct FrameHeader: Sendable, Equatable {
  var isFinal: Bool
  var isCompressed: Bool
  var opcode: FrameOpcode
  var length: Int

  /// Returns the size of the header in bytes, which its second byte determines.
  static func size(of second: UInt8) -> Int {
    switch second & 0x7F {
    case 126: 4
    case 127: 10
    default: 2
    }
  }

  /// Validates the first two bytes, before any others have to arrive.
  static func check(_ first: UInt8, _ second: UInt8, allowsCompression: Bool) throws(ProtocolFailure) {
    guard first & 0x30 == 0 else { throw .init(.protocolError, "A reserved bit is set") }
    guard let opcode = FrameOpcode(rawValue: first & 0x0F) else { throw .init(.protocolError, "Unknown opcode") }
    // RFC 7692 §6: only the first frame of a message may set the bit.
    if first & 0x40 != 0, !allowsCompression || opcode.isControl || opcode == .continuation {
      throw .init(.protocolError, "A reserved bit is set")
    }
    // §5.1: a server must not mask.
    guard second & 0x80 == 0 else { throw .init(.protocolError, "The frame is masked") }
    guard opcode.isControl else { return }
    guard first & 0x80 != 0 else { throw .init(.protocolError, "A control frame is fragmented") }
    guard second <= 125 else { throw .init(.protocolError, "A control frame is too long") }
  }

  /// Parses a complete header that passed ``check(_:_:allowsCompression:)``.
  static func parse(_ bytes: UnsafeRawBufferPointer) -> Result<FrameHeader, ProtocolFailure> {
    var length = UInt64(bytes[1] & 0x7F)
    let extended = bytes.dropFirst(2)
    if !extended.isEmpty {
      length = extended.reduce(0) { $0 << 8 | UInt64($1) }
      // §5.2: the shortest form is required, and the top bit must be 0.
      guard length > (extended.count == 2 ? 125 : 0xFFFF), length >> 63 == 0 else {
        return .failure(.init(.protocolError, "The length is not written in its shortest form"))
      }
    }
    // On 32-bit platforms, a frame of that size could not be stored.
    guard let length = Int(exactly: length) else { return .failure(.init(.messageTooBig, "The frame is too large")) }
    guard let opcode = FrameOpcode(rawValue: bytes[0] & 0x0F) else {
      return .failure(.init(.protocolError, "Unknown opcode"))
    }
    return .success(
      FrameHeader(
        isFinal: bytes[0] & 0x80 != 0, isCompressed: bytes[0] & 0x40 != 0, opcode: opcode, length: length))
  }
}

/// Collects the bytes of a header, however they are split.
struct FrameHeaderReader {
  private var head: [UInt8] = []

  mutating func next<Bytes: Collection<UInt8>>(
    from rest: inout Bytes, allowsCompression: Bool
  ) throws(ProtocolFailure) -> FrameHeader? where Bytes.SubSequence == Bytes {
    while true {
      let wanted = head.count < 2 ? 2 : FrameHeader.size(of: head[1])
      let part = rest.prefix(wanted - head.count)
      head.append(contentsOf: part)
      rest = rest.dropFirst(part.count)
      guard head.count == wanted else { return nil }
      if wanted == 2 { try FrameHeader.check(head[0], head[1], allowsCompression: allowsCompression) }
      guard head.count == FrameHeader.size(of: head[1]) else { continue }
      let header = try head.withUnsafeBytes { FrameHeader.parse($0) }.get()
      head.removeAll(keepingCapacity: true)
      return header
    }
  }
}

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

/// A protocol violation of the peer, and the code with which the connection is closed.
struct ProtocolFailure: Error, Sendable, Equatable {
  var code: WebSocketCloseCode
  var reason: String

  init(_ code: WebSocketCloseCode, _ reason: String) {
    self.code = code
    self.reason = reason
  }
}
