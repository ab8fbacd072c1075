import Foundation

/// What the hashes here have in common.
private enum Hashing {
  private static let digits = Array("0123456789abcdef".utf8)

  /// Adds to a state the words of each block of a message, which is padded with a one bit, zeros up to 56 bytes of the last
  /// block, and the length in bits (FIPS 180-4 §5.1.1, RFC 1321 §3.1).
  static func hash(
    _ message: [UInt8], from initial: [UInt32], isBigEndian: Bool = true,
    _ add: (_ words: [UInt32], _ state: inout [UInt32]) -> Void
  ) -> [UInt32] {
    var bytes = message
    bytes.append(0x80)
    bytes.append(contentsOf: repeatElement(0, count: (120 - bytes.count % 64) % 64))
    let length = UInt64(message.count) * 8
    withUnsafeBytes(of: isBigEndian ? length.bigEndian : length.littleEndian) { bytes.append(contentsOf: $0) }
    var state = initial
    bytes.withUnsafeBytes { bytes in
      for block in stride(from: 0, to: bytes.count, by: 64) {
        let words = (0..<16).map { index in
          let word = bytes.loadUnaligned(fromByteOffset: block + 4 * index, as: UInt32.self)
          return isBigEndian ? UInt32(bigEndian: word) : UInt32(littleEndian: word)
        }
        add(words, &state)
      }
    }
    return state
  }

  /// Without the checks of other shifts, which cost a build for debugging more than all else of a hash.
  static func rotated(_ word: UInt32, _ count: UInt32) -> UInt32 { word &<< count | word &>> (32 &- count) }

  static func bytes(_ words: [UInt32]) -> [UInt8] {
    words.flatMap { word in [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> UInt32($0)) } }
  }

  static func hexadecimal(_ words: [UInt32]) -> String {
    let text = words.flatMap { word in
      stride(from: 28, through: 0, by: -4).map { digits[Int(word >> UInt32($0) & 15)] }
    }
    return String(decoding: text, as: UTF8.self)
  }
}

/// SHA-256 (FIPS 180-4 §6.2), for keys that must not collide or reveal what they were made from.
enum SHA256 {
  /// §4.2.2: the first fractional bits of the cube roots of the first primes; §5.3.3: of their square roots.
  private static let constants = primes(64).map { firstFractionBits(cbrt(Double($0))) }
  private static let initial = primes(8).map { firstFractionBits(Double($0).squareRoot()) }

  static func digest(_ message: [UInt8]) -> [UInt8] { Hashing.bytes(words(message)) }

  static func hexadecimal(_ message: [UInt8]) -> String { Hashing.hexadecimal(words(message)) }

  private static func words(_ message: [UInt8]) -> [UInt32] {
    // Each access to a global asks whether it has been initialized.
    let constants = constants
    return Hashing.hash(message, from: initial) { add($0, constants, to: &$1) }
  }

  private static func add(_ block: [UInt32], _ constants: [UInt32], to state: inout [UInt32]) {
    var words = block
    words.reserveCapacity(64)
    for index in 16..<64 {
      let first = rotated(words[index - 15], 7, 18) ^ words[index - 15] &>> 3
      let second = rotated(words[index - 2], 17, 19) ^ words[index - 2] &>> 10
      words.append(words[index - 16] &+ first &+ words[index - 7] &+ second)
    }
    // The variable names are those of the standard.
    var (a, b, c, d) = (state[0], state[1], state[2], state[3])
    var (e, f, g, h) = (state[4], state[5], state[6], state[7])
    for index in 0..<64 {
      let choice = e & f ^ ~e & g
      let first = h &+ (rotated(e, 6, 11) ^ Hashing.rotated(e, 32 - 25)) &+ choice &+ constants[index] &+ words[index]
      let majority = a & b ^ a & c ^ b & c
      let second = (rotated(a, 2, 13) ^ Hashing.rotated(a, 32 - 22)) &+ majority
      (h, g, f, e) = (g, f, e, d &+ first)
      (d, c, b, a) = (c, b, a, first &+ second)
    }
    for (index, word) in [a, b, c, d, e, f, g, h].enumerated() { state[index] &+= word }
  }

  /// The rotations here are to the right.
  private static func rotated(_ word: UInt32, _ first: UInt32, _ second: UInt32) -> UInt32 {
    Hashing.rotated(word, 32 &- first) ^ Hashing.rotated(word, 32 &- second)
  }

  private static func firstFractionBits(_ value: Double) -> UInt32 {
    UInt32((value - value.rounded(.down)) * 4_294_967_296)
  }

  private static func primes(_ count: Int) -> [Int] {
    var primes: [Int] = []
    var candidate = 2
    while primes.count < count {
      if primes.allSatisfy({ candidate % $0 != 0 }) { primes.append(candidate) }
      candidate += 1
    }
    return primes
  }
}

/// SHA-1 (FIPS 180-4), as used by the WebSocket handshake (RFC 6455 §4.2.2), where it protects no secret.
enum SHA1 {
  static func digest(_ message: [UInt8]) -> [UInt8] {
    let initial: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
    return Hashing.bytes(Hashing.hash(message, from: initial, add))
  }

  private static func add(_ block: [UInt32], to state: inout [UInt32]) {
    var words = block
    for index in 16..<80 {
      words.append(Hashing.rotated(words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16], 1))
    }
    var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
    for (index, word) in words.enumerated() {
      let (mix, constant): (UInt32, UInt32) =
        switch index {
        case 0..<20: (b & c | ~b & d, 0x5A82_7999)
        case 20..<40: (b ^ c ^ d, 0x6ED9_EBA1)
        case 40..<60: (b & c | b & d | c & d, 0x8F1B_BCDC)
        default: (b ^ c ^ d, 0xCA62_C1D6)
        }
      let next = Hashing.rotated(a, 5) &+ mix &+ e &+ constant &+ word
      (e, d, c, b, a) = (d, c, Hashing.rotated(b, 30), a, next)
    }
    for (index, word) in [a, b, c, d, e].enumerated() { state[index] &+= word }
  }
}

/// MD5 (RFC 1321), which Digest authentication still uses with most servers. It protects nothing here that SHA-256 could.
enum MD5 {
  /// §3.4: by how much the sums of each round are rotated.
  private static let shifts: [[UInt32]] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]]
  private static let constants = (1...64).map { UInt32(abs(sin(Double($0))) * 4_294_967_296) }

  static func hexadecimal(_ message: [UInt8]) -> String {
    let initial: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476]
    return Hashing.hexadecimal(Hashing.hash(message, from: initial, isBigEndian: false, add).map(\.byteSwapped))
  }

  private static func add(_ words: [UInt32], to state: inout [UInt32]) {
    var (a, b, c, d) = (state[0], state[1], state[2], state[3])
    let (constants, shifts) = (constants, shifts)
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
      (a, d, c, b) = (d, c, b, b &+ Hashing.rotated(sum, shift))
    }
    for (index, word) in [a, b, c, d].enumerated() { state[index] &+= word }
  }
}
