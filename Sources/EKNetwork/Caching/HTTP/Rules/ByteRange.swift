/// A single byte range of a request (RFC 9110 §14.1.2).
enum ByteRange: Sendable, Equatable {
  /// `bytes=first-last`, or `bytes=first-`.
  case from(Int64, through: Int64?)
  /// `bytes=-count`: the last `count` bytes.
  case suffix(Int64)

  /// Returns `nil` for multiple ranges, other units and malformed values, which are left to the server.
  init?(_ value: String) {
    guard value.lowercased().hasPrefix("bytes=") else { return nil }
    let members = FieldList.members(String(value.dropFirst(6)))
    guard members.count == 1, let dash = members[0].firstIndex(of: "-") else { return nil }
    let (first, last) = (members[0][..<dash], members[0][dash...].dropFirst())
    func number(_ text: Substring) -> Int64? {
      guard !text.isEmpty, text.utf8.count < 19, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
        return nil
      }
      return Int64(text)
    }
    if first.isEmpty {
      guard let count = number(last) else { return nil }
      self = .suffix(count)
    } else {
      guard let start = number(first) else { return nil }
      if last.isEmpty {
        self = .from(start, through: nil)
      } else {
        guard let end = number(last), end >= start else { return nil }
        self = .from(start, through: end)
      }
    }
  }

  /// Returns the offsets in a representation of the given length; `nil` if the range is not satisfiable (416).
  func offsets(in length: Int64) -> Range<Int64>? {
    switch self {
    case .from(let first, let last):
      guard first < length else { return nil }
      return first..<min(length, (last ?? length - 1) + 1)
    case .suffix(let count):
      guard count > 0, length > 0 else { return nil }
      return max(0, length - count)..<length
    }
  }
}
