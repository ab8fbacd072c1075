/// Non-negative numbers of seconds in header fields (RFC 9111 §1.2.2).
enum DeltaSeconds {
  /// The number that stands for every greater one: "2147483648 or the greatest positive integer".
  static let greatest: Int64 = 2_147_483_648

  /// Parses a number of seconds; returns `nil` for anything but digits.
  static func parse(_ text: some StringProtocol) -> Int64? {
    guard !text.isEmpty else { return nil }
    var number: Int64 = 0
    for byte in text.utf8 {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
      number = min(greatest, number * 10 + Int64(byte - UInt8(ascii: "0")))
    }
    return number
  }
}
