import Foundation

/// MD5 (RFC 1321), which Digest authentication still uses with most servers. It protects nothing here that SHA-256 could.
enum MD5 {
  /// §3.4: by how much the sums of each round are rotated.
  private static let shifts: [[UInt32]] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]]
  private static let constants = (1...64).map { UInt32(abs(sin(Double($0))) * 4_294_967_296) }

  /// Returns the hash in hexadecimal digits.
  static func hexadecimal(_ message: [UInt8]) -> String {
    var state: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476]
    var bytes = message + [0x80]
    bytes += [UInt8](repeating: 0, count: (120 - bytes.count % 64) % 64)
    let length = UInt64(message.count) * 8
    bytes += (0..<8).map { UInt8(truncatingIfNeeded: length >> UInt64($0 * 8)) }
    for start in stride(from: 0, to: bytes.count, by: 64) { add(bytes[start..<start + 64], to: &state) }
    let digits = Array("0123456789abcdef".utf8)
    let text = state.flatMap { word in
      [4, 0, 12, 8, 20, 16, 28, 24].map { digits[Int(word >> UInt32($0) & 15)] }
    }
    return String(decoding: text, as: UTF8.self)
  }

  private static func add(_ block: ArraySlice<UInt8>, to state: inout [UInt32]) {
    let words = stride(from: block.startIndex, to: block.endIndex, by: 4).map { index in
      block[index..<index + 4].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    }
    var (a, b, c, d) = (state[0], state[1], state[2], state[3])
    for index in 0..<64 {
      let (mix, word): (UInt32, Int) =
        switch index / 16 {
        case 0: (b & c | ~b & d, index)
        case 1: (b & d | c & ~d, (5 * index + 1) % 16)
        case 2: (b ^ c ^ d, (3 * index + 5) % 16)
        default: (c ^ (b | ~d), 7 * index % 16)
        }
      let sum = a &+ mix &+ constants[index] &+ words[word]
      let shift = shifts[index / 16][index % 4]
      (a, d, c, b) = (d, c, b, b &+ (sum << shift | sum >> (32 - shift)))
    }
    for (index, word) in [a, b, c, d].enumerated() { state[index] &+= word }
  }
}
