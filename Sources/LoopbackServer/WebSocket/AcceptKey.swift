import Foundation

/// The `Sec-WebSocket-Accept` value for a WebSocket key (RFC 6455, section 4.2.2), with a SHA-1 implementation of its
/// own.
enum AcceptKey {
  static func answer(to key: String) -> String {
    Data(digest(Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8))).base64EncodedString()
  }

  private static func digest(_ message: [UInt8]) -> [UInt8] {
    var state: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
    var bytes = message + [0x80]
    while bytes.count % 64 != 56 { bytes.append(0) }
    for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8((message.count * 8) >> shift & 0xFF)) }
    for block in stride(from: 0, to: bytes.count, by: 64) {
      var words = (0..<16).map { index in
        bytes[(block + index * 4)..<(block + index * 4 + 4)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      }
      for index in 16..<80 {
        words.append(rotate(words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16], 1))
      }
      var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
      for index in 0..<80 {
        let (mix, constant): (UInt32, UInt32) =
          switch index / 20 {
          case 0: (b & c | ~b & d, 0x5A82_7999)
          case 1: (b ^ c ^ d, 0x6ED9_EBA1)
          case 2: (b & c | b & d | c & d, 0x8F1B_BCDC)
          default: (b ^ c ^ d, 0xCA62_C1D6)
          }
        (a, b, c, d, e) = (rotate(a, 5) &+ mix &+ e &+ constant &+ words[index], a, rotate(b, 30), c, d)
      }
      for (index, word) in [a, b, c, d, e].enumerated() { state[index] &+= word }
    }
    return state.flatMap { word in [24, 16, 8, 0].map { UInt8(word >> UInt32($0) & 0xFF) } }
  }

  private static func rotate(_ word: UInt32, _ count: UInt32) -> UInt32 { word << count | word >> (32 - count) }
}
