/// Searches bytes for a short pattern by Horspool's algorithm: it examines about one byte in `pattern.count`, unless
/// the data resembles the pattern, so searching hundreds of megabytes takes milliseconds.
///
/// `memmem` is not part of the C modules of every platform, and `Data.range(of:)` compares at every offset.
struct ByteSearch {
  private let pattern: [UInt8]
  /// The number of bytes by which the window may advance, by the byte at its end.
  private let shifts: [Int]

  init(_ pattern: String) {
    self.pattern = Array(pattern.utf8)
    var shifts = [Int](repeating: self.pattern.count, count: 256)
    for (index, byte) in self.pattern.dropLast().enumerated() {
      shifts[Int(byte)] = self.pattern.count - 1 - index
    }
    self.shifts = shifts
  }

  /// Returns whether the pattern occurs in the bytes. An empty pattern never does.
  func occurs(in bytes: UnsafeRawBufferPointer) -> Bool {
    guard let last = pattern.last else { return false }
    return pattern.withUnsafeBytes { pattern in
      shifts.withUnsafeBufferPointer { shifts in
        var end = pattern.count - 1
        while end < bytes.count {
          let byte = bytes[end]
          if byte == last, bytes[(end + 1 - pattern.count)...end].elementsEqual(pattern) { return true }
          end += shifts[Int(byte)]
        }
        return false
      }
    }
  }
}
