import Foundation

extension UnsafeRawBufferPointer {
  /// Returns the offset of the first occurrence of a byte.
  func firstOffset(of byte: UInt8) -> Int? {
    guard let baseAddress, let found = memchr(baseAddress, Int32(byte), count) else { return nil }
    return UnsafeRawPointer(found) - baseAddress
  }

  /// Returns whether the bytes equal those of a literal.
  func equals(_ literal: StaticString) -> Bool {
    guard count == literal.utf8CodeUnitCount, let baseAddress else { return count == literal.utf8CodeUnitCount }
    return memcmp(baseAddress, literal.utf8Start, count) == 0
  }

  /// Returns the bytes from an offset on.
  func from(_ offset: Int) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: self[offset...]) }

  /// Returns the bytes before an offset.
  func upTo(_ offset: Int) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: self[..<offset]) }
}
