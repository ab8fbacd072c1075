import Foundation

/// Writes the parts of a record one after the other: numbers in little-endian order, texts preceded by their length.
struct RecordWriter {
  private(set) var bytes = Data()

  mutating func add(_ number: UInt32) {
    withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
  }
  mutating func add(_ number: UInt64) {
    withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
  }
  mutating func add(_ date: Date) { add(date.timeIntervalSince1970.bitPattern) }

  mutating func add(_ text: String) {
    let utf8 = text.utf8
    add(UInt32(truncatingIfNeeded: utf8.count))
    bytes.append(contentsOf: utf8)
  }

  mutating func add(_ text: String?) {
    add(UInt32(text == nil ? 0 : 1))
    if let text { add(text) }
  }
}

/// Reads what ``RecordWriter`` has written. Missing or invalid parts are `nil`, whatever the bytes.
struct RecordReader {
  private let bytes: UnsafeRawBufferPointer
  private var position = 0

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  mutating func number32() -> UInt32? {
    guard bytes.count - position >= 4 else { return nil }
    defer { position += 4 }
    return UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt32.self))
  }

  mutating func number64() -> UInt64? {
    guard bytes.count - position >= 8 else { return nil }
    defer { position += 8 }
    return UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
  }

  mutating func date() -> Date? {
    guard let bits = number64() else { return nil }
    let seconds = Double(bitPattern: bits)
    // A date outside the calendar would trap in calculations.
    return seconds.isFinite && abs(seconds) < 1e11 ? Date(timeIntervalSince1970: seconds) : nil
  }

  mutating func text() -> String? {
    guard let count = number32().flatMap({ Int(exactly: $0) }), count <= bytes.count - position else {
      return nil
    }
    defer { position += count }
    return String(decoding: bytes[position..<(position + count)], as: UTF8.self)
  }

  /// `.some(nil)` for a text that was `nil`.
  mutating func optionalText() -> String?? {
    guard let isThere = number32() else { return nil }
    return isThere == 0 ? .some(nil) : text().map { .some($0) }
  }

  /// Returns the number of elements that follow, each of which takes at least `size` bytes.
  mutating func count(ofAtLeast size: Int) -> Int? {
    guard let count = number32().flatMap({ Int(exactly: $0) }), count <= (bytes.count - position) / size else {
      return nil
    }
    return count
  }
}
