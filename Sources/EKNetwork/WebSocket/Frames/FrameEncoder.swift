/// Encodes the frames of a client (RFC 6455 §5.2, §5.3).
enum FrameEncoder {
  /// Returns a complete frame, masked with the key.
  static func frame(
    _ opcode: FrameOpcode, _ payload: UnsafeRawBufferPointer, isCompressed: Bool = false, isFinal: Bool = true,
    key: UInt32
  ) -> [UInt8] {
    let count = payload.count
    let lengthSize = count <= 125 ? 0 : count <= 0xFFFF ? 2 : 8
    let headSize = 2 + lengthSize + 4
    return [UInt8](unsafeUninitializedCapacity: headSize + count) { buffer, initialized in
      let bytes = UnsafeMutableRawBufferPointer(buffer)
      bytes[0] = (isFinal ? 0x80 : 0) | (isCompressed ? 0x40 : 0) | opcode.rawValue
      switch lengthSize {
      case 0: bytes[1] = 0x80 | UInt8(count)
      case 2:
        bytes[1] = 0x80 | 126
        bytes.storeBytes(of: UInt16(count).bigEndian, toByteOffset: 2, as: UInt16.self)
      default:
        bytes[1] = 0x80 | 127
        bytes.storeBytes(of: UInt64(count).bigEndian, toByteOffset: 2, as: UInt64.self)
      }
      bytes.storeBytes(of: key, toByteOffset: headSize - 4, as: UInt32.self)
      mask(payload, into: UnsafeMutableRawBufferPointer(rebasing: bytes[headSize...]), key: key)
      initialized = headSize + count
    }
  }

  /// XORs bytes with the key, which is stored in memory in wire order.
  static func mask(_ source: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer, key: UInt32) {
    let wide = UInt64(key) | UInt64(key) << 32
    var index = 0
    while index + 8 <= source.count {
      let word = source.loadUnaligned(fromByteOffset: index, as: UInt64.self) ^ wide
      target.storeBytes(of: word, toByteOffset: index, as: UInt64.self)
      index += 8
    }
    withUnsafeBytes(of: key) { key in
      while index < source.count {
        target[index] = source[index] ^ key[index & 3]
        index += 1
      }
    }
  }

  static func closePayload(_ code: WebSocketCloseCode, _ reason: String) -> [UInt8] {
    guard code != .noStatusReceived else { return [] }
    return [UInt8(code.rawValue >> 8), UInt8(code.rawValue & 0xFF)] + Array(reason.utf8.prefix(123))
  }
}
