/// One range of bytes, as a request asks for it (RFC 9110 §14.1.2).
enum ByteRange: Sendable, Equatable {
  /// `bytes=first-last`, or without an end.
  case from(Int64, through: Int64?)
  /// `bytes=-count`: the last ones.
  case suffix(Int64)

  /// `nil` for several ranges, another unit, and what is malformed: then the server shall see to it.
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

  /// The offsets in a representation of that length; `nil` when it has none of them (416).
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
