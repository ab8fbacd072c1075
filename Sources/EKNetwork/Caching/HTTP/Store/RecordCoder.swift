import Foundation

/// Writes the parts of a record one after the other, numbers in little-endian order, texts behind their length.
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

/// Reads what ``RecordWriter`` has written. What is not there is `nil`, whatever the bytes say.
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
    // A date outside of the calendar would be a trap in every calculation.
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

  /// How many things follow, each of which takes at least so many bytes.
  mutating func count(ofAtLeast size: Int) -> Int? {
    guard let count = number32().flatMap({ Int(exactly: $0) }), count <= (bytes.count - position) / size else {
      return nil
    }
    return count
  }
}
