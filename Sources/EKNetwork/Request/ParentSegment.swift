/// Finds a `..` segment with which a path would leave the base URL, however it is disguised.
enum ParentSegment {
  /// Returns whether some recipient of the path would see a `..` segment in it.
  ///
  /// Proxies and frameworks decode a path more often than they should, and some treat a backslash as a slash or cut off
  /// a segment's `;` parameters. So the path is decoded until nothing is left to decode, and then split at both.
  static func occurs(in path: UnsafeBufferPointer<UInt8>) -> Bool {
    let decoded = fullyDecoded(path)
    var rest = decoded[...]
    while true {
      let segment = rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "\\") }
      if isParent(segment) { return true }
      guard segment.endIndex < decoded.endIndex else { return false }
      rest = decoded[(segment.endIndex + 1)...]
    }
  }

  private static func isParent(_ segment: ArraySlice<UInt8>) -> Bool {
    let name = segment.prefix { $0 != UInt8(ascii: ";") }
    return name.count == 2 && name.allSatisfy { $0 == UInt8(ascii: ".") }
  }

  /// Decodes the bytes repeatedly, in one pass: a triplet completed by decoding is decoded at once. The output only
  /// ever shrinks, so the work is linear even for `%25252525…`.
  private static func fullyDecoded(_ bytes: UnsafeBufferPointer<UInt8>) -> [UInt8] {
    var output: [UInt8] = []
    output.reserveCapacity(bytes.count)
    for byte in bytes {
      output.append(byte)
      while let value = triplet(endOf: output) {
        output.removeLast(3)
        output.append(value)
      }
    }
    return output
  }

  private static func triplet(endOf bytes: [UInt8]) -> UInt8? {
    let count = bytes.count
    guard count >= 3, bytes[count - 3] == UInt8(ascii: "%"),
      let high = PercentEncoding.value(ofDigit: bytes[count - 2]),
      let low = PercentEncoding.value(ofDigit: bytes[count - 1])
    else { return nil }
    return high << 4 | low
  }
}
