import Foundation

@testable import EKNetwork

/// Zeros, compressed as far as possible.
enum Bomb {
  /// A raw deflate stream (RFC 1951) of that many MiB of zeros, a thousandth of its size.
  static func deflate(mebibytes: Int) throws -> Data {
    guard let deflater = MessageDeflater(windowBits: 15, keepsContext: true) else {
      throw CocoaError(.featureUnsupported)
    }
    let piece = Data(count: 1 << 20)
    var body = Data()
    for _ in 0..<mebibytes {
      body += piece.withUnsafeBytes { deflater.deflate($0) } ?? []
      // The end of the sync flush, which a WebSocket omits (RFC 7692 §7.2.1).
      body += [0, 0, 0xFF, 0xFF]
    }
    // A last block, stored and empty.
    return body + [1, 0, 0, 0xFF, 0xFF]
  }

  /// A raw deflate stream of other bytes.
  static func deflate(_ data: Data) throws -> Data {
    guard let deflater = MessageDeflater(windowBits: 15, keepsContext: true) else {
      throw CocoaError(.featureUnsupported)
    }
    return Data(data.withUnsafeBytes { deflater.deflate($0) } ?? []) + [0, 0, 0xFF, 0xFF, 1, 0, 0, 0xFF, 0xFF]
  }

  /// A gzip member (RFC 1952) of few bytes.
  static func gzip(_ data: Data) throws -> Data {
    var member = Data([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]) + (try deflate(data))
    var sum: UInt32 = 0xFFFF_FFFF
    for byte in data {
      sum ^= UInt32(byte)
      for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
    }
    for value in [~sum, UInt32(truncatingIfNeeded: data.count)] {
      withUnsafeBytes(of: value.littleEndian) { member.append(contentsOf: $0) }
    }
    return member
  }
}
