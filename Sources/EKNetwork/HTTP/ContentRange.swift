/// The `Content-Range` of a partial response (RFC 9110 §14.4).
struct ContentRange: Equatable, Sendable {
  /// The byte positions of the part; `nil` if the requested range does not exist.
  var range: ClosedRange<Int64>?
  /// The complete length; `nil` if the server does not know it.
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
      // Without a range, the field must have a length.
      if total == nil { return nil }
      return
    }
    let ends = halves[0].split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), first <= last
    else { return nil }
    // No content is that long: its length would be one more than its last position.
    if last == .max { return nil }
    if let total, last >= total { return nil }
    range = first...last
  }

  /// Returns whether content of this length is a part, although its status is that of the whole: for such a status the
  /// field has no meaning (RFC 9110 §14.4), so that it only counts if the length does not contradict it.
  ///
  /// - Parameter length: The length of the content; `nil` if it is unknown.
  func isPart(ofLength length: Int64?) -> Bool {
    guard let range, range.lowerBound > 0 || total.map({ $0 > range.upperBound + 1 }) == true else { return false }
    return length == nil || length != total
  }

  /// Parses digits only: no sign, no whitespace.
  private static func number(_ text: Substring) -> Int64? {
    text.utf8.allSatisfy(\.isDigit) ? Int64(text) : nil
  }
}
