import Foundation

/// SHA-256 (FIPS 180-4 §6.2), for keys that must not collide or reveal what they were made from.
enum SHA256 {
  /// §4.2.2: the first fractional bits of the cube roots of the first primes; §5.3.3: of their square roots.
  private static let constants = primes(64).map { firstFractionBits(cbrt(Double($0))) }
  private static let initial = primes(8).map { firstFractionBits(Double($0).squareRoot()) }

  /// Returns the hash, 32 bytes.
  static func digest(_ message: [UInt8]) -> [UInt8] {
    words(message).flatMap { word in
      stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> UInt32($0)) }
    }
  }

  /// Returns the hash in hexadecimal digits.
  static func hexadecimal(_ message: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    let text = words(message).flatMap { word in
      stride(from: 28, through: 0, by: -4).map { digits[Int(word >> UInt32($0) & 15)] }
    }
    return String(decoding: text, as: UTF8.self)
  }

  private static func words(_ message: [UInt8]) -> [UInt32] {
    var state = initial
    let padded = padding(message)
    for start in stride(from: 0, to: padded.count, by: 64) { compress(padded[start..<start + 64], into: &state) }
    return state
  }

  /// §5.1.1: a one bit, zeros up to 56 bytes of the last block, and the length in bits.
  private static func padding(_ message: [UInt8]) -> [UInt8] {
    var bytes = message
    bytes.append(0x80)
    bytes.append(contentsOf: repeatElement(0, count: (120 - bytes.count % 64) % 64))
    let length = UInt64(message.count) * 8
    for shift in stride(from: UInt64(56), through: 0, by: -8) {
      bytes.append(UInt8(truncatingIfNeeded: length >> shift))
    }
    return bytes
  }

  private static func compress(_ block: ArraySlice<UInt8>, into state: inout [UInt32]) {
    var words = stride(from: block.startIndex, to: block.endIndex, by: 4).map { index in
      block[index..<index + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    }
    words.reserveCapacity(64)
    for index in 16..<64 {
      let first = rotated(words[index - 15], 7, 18) ^ words[index - 15] >> 3
      let second = rotated(words[index - 2], 17, 19) ^ words[index - 2] >> 10
      words.append(words[index - 16] &+ first &+ words[index - 7] &+ second)
    }
    // The variable names are those of the standard.
    var (a, b, c, d) = (state[0], state[1], state[2], state[3])
    var (e, f, g, h) = (state[4], state[5], state[6], state[7])
    for index in 0..<64 {
      let choice = e & f ^ ~e & g
      let first = h &+ (rotated(e, 6, 11) ^ rotated(e, 25)) &+ choice &+ constants[index] &+ words[index]
      let majority = a & b ^ a & c ^ b & c
      let second = (rotated(a, 2, 13) ^ rotated(a, 22)) &+ majority
      (h, g, f, e) = (g, f, e, d &+ first)
      (d, c, b, a) = (c, b, a, first &+ second)
    }
    for (index, word) in [a, b, c, d, e, f, g, h].enumerated() { state[index] &+= word }
  }

  private static func rotated(_ word: UInt32, _ bits: UInt32) -> UInt32 { word >> bits | word << (32 - bits) }

  private static func rotated(_ word: UInt32, _ first: UInt32, _ second: UInt32) -> UInt32 {
    rotated(word, first) ^ rotated(word, second)
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
