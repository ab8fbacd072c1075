import Foundation

/// A CRC-32 checksum (ISO 3309), against accidental damage such as a partially written block or a flipped bit.
/// Processes eight bytes at a time.
struct CRC32: Sendable {
  /// The remainders of a byte followed by zero to seven others, 256 for each.
  private static let tables: [UInt32] = {
    var tables = (0..<256).map { (index: UInt32) -> UInt32 in
      (0..<8).reduce(index) { value, _ in value & 1 == 1 ? 0xEDB8_8320 ^ value >> 1 : value >> 1 }
    }
    for index in 256..<2048 {
      let previous = tables[index - 256]
      tables.append(tables[Int(previous & 0xFF)] ^ previous >> 8)
    }
    return tables
  }()

  private var state = ~UInt32(0)

  /// The checksum of the bytes added so far.
  var value: UInt32 { ~state }

  mutating func add(_ bytes: UnsafeRawBufferPointer) {
    var crc = state
    Self.tables.withUnsafeBufferPointer { table in
      var index = 0
      while index + 8 <= bytes.count {
        let word =
          UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)) ^ UInt64(crc)
        func part(_ shift: UInt64, _ following: Int) -> UInt32 { table[following << 8 | Int(word >> shift & 0xFF)] }
        crc = part(0, 7) ^ part(8, 6) ^ part(16, 5) ^ part(24, 4)
        crc ^= part(32, 3) ^ part(40, 2) ^ part(48, 1) ^ part(56, 0)
        index += 8
      }
      while index < bytes.count {
        crc = table[Int((crc ^ UInt32(bytes[index])) & 0xFF)] ^ crc >> 8
        index += 1
      }
    }
    state = crc
  }

  mutating func add(_ number: UInt64) { withUnsafeBytes(of: number.littleEndian) { add($0) } }

  static func of(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
    var crc = CRC32()
    crc.add(bytes)
    return crc.value
  }

  static func of(_ data: Data) -> UInt32 { data.withUnsafeBytes { of($0) } }
}
