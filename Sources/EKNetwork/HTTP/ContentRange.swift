/// The `Content-Range` of a part (RFC 9110 §14.4).
struct ContentRange: Equatable, Sendable {
  /// The positions of the part; `nil` where the range that was asked for does not exist.
  var range: ClosedRange<Int64>?
  /// The length of the whole; `nil` when the server does not know it.
  var total: Int64?

  init?(_ text: String) {
    let words = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: true)
    guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
    let halves = words[1].split(separator: "/", omittingEmptySubsequences: false)
    guard halves.count == 2 else { return nil }
    if halves[1] != "*" {
      guard let total = Self.number(halves[1]) else { return nil }
      self.total = total
    }
    guard halves[0] != "*" else {
      // Without a range, the length is all that the field has to say.
      if total == nil { return nil }
      return
    }
    let ends = halves[0].split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), first <= last
    else { return nil }
    // Nothing is that long, and what is has a length, which is one more than its last position.
    if last == .max { return nil }
    if let total, last >= total { return nil }
    range = first...last
  }

  /// Digits alone: no sign, no blank.
  private static func number(_ text: Substring) -> Int64? {
    text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int64(text) : nil
  }
}
