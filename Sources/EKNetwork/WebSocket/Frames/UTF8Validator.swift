/// An incremental UTF-8 validator (RFC 3629), which finds invalid bytes when they arrive, not when the text has ended.
struct UTF8Validator: Sendable {
  /// The number of missing continuation bytes, and the valid range of the next one.
  private var missing = 0
  private var lowest: UInt8 = 0x80
  private var highest: UInt8 = 0xBF

  /// Whether the text may end here.
  var isComplete: Bool { missing == 0 }

  /// Validates more bytes; returns false if they cannot be part of valid UTF-8.
  mutating func accept(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var index = 0
    let count = bytes.count
    while index < count {
      if missing == 0 {
        while index + 8 <= count,
          bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
        {
          index += 8
        }
        guard index < count else { return true }
      }
      guard accept(bytes[index]) else { return false }
      index += 1
    }
    return true
  }

  private mutating func accept(_ byte: UInt8) -> Bool {
    if missing > 0 {
      guard lowest...highest ~= byte else { return false }
      missing -= 1
      (lowest, highest) = (0x80, 0xBF)
      return true
    }
    // The ranges of RFC 3629 §4: no overlong form, no surrogate, nothing past U+10FFFF.
    switch byte {
    case 0x00...0x7F: break
    case 0xC2...0xDF: missing = 1
    case 0xE0: (missing, lowest) = (2, 0xA0)
    case 0xED: (missing, highest) = (2, 0x9F)
    case 0xE1...0xEF: missing = 2
    case 0xF0: (missing, lowest) = (3, 0x90)
    case 0xF1...0xF3: missing = 3
    case 0xF4: (missing, highest) = (3, 0x8F)
    default: return false
    }
    return true
  }
}
