/// A set of ASCII bytes whose membership test is one shift and one mask.
struct ByteSet: Sendable {
  private var low: UInt64 = 0
  private var high: UInt64 = 0

  /// Returns the set of ASCII letters and digits, and the given ASCII characters.
  static func alphanumerics(and others: StaticString) -> ByteSet {
    var set = ByteSet(others)
    for byte in UInt8(ascii: "a")...UInt8(ascii: "z") { set.insert(byte) }
    for byte in UInt8(ascii: "A")...UInt8(ascii: "Z") { set.insert(byte) }
    for byte in UInt8(ascii: "0")...UInt8(ascii: "9") { set.insert(byte) }
    return set
  }

  /// Creates a set of the given ASCII characters.
  init(_ characters: StaticString) {
    characters.withUTF8Buffer { for byte in $0 { insert(byte) } }
  }

  private mutating func insert(_ byte: UInt8) {
    if byte < 64 { low |= 1 << UInt64(byte) } else if byte < 128 { high |= 1 << UInt64(byte - 64) }
  }

  /// Returns whether the byte is a member; bytes outside ASCII never are.
  @inline(__always)
  func contains(_ byte: UInt8) -> Bool {
    // The smart shift gives 0 for a distance past the width, so bytes from 128 on need no branch of their own.
    byte < 64 ? low >> UInt64(byte) & 1 == 1 : high >> UInt64(byte &- 64) & 1 == 1
  }
}
