/// Reads the components of an HTTP date in order; returns `nil` (or `false`) for a missing one.
struct HTTPDateScanner {
  static let shortWeekdays = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
  static let longWeekdays = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
  static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

  private var rest: Substring.UTF8View

  init(_ text: String) {
    // No date is longer than 33 characters; a longer text is rejected before anything is read.
    rest = text.utf8.count > 64 ? Substring().utf8 : text[...].utf8
  }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func skip(_ text: StaticString) -> Bool {
    text.withUTF8Buffer { skip($0) }
  }

  /// Returns the index of the name that comes next.
  mutating func name(of names: [String]) -> Int? {
    for (index, name) in names.enumerated() where skip(name.utf8) { return index }
    return nil
  }

  mutating func number(digits: Int) -> Int? {
    let text = rest.prefix(digits)
    guard text.count == digits, text.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    rest = rest.dropFirst(digits)
    return text.reduce(0) { $0 * 10 + Int($1 - 0x30) }
  }

  /// Reads a time such as `08:49:37` in seconds. A leap second is allowed.
  mutating func timeOfDay() -> Int? {
    guard
      let hour = number(digits: 2), hour < 24, skip(":"),
      let minute = number(digits: 2), minute < 60, skip(":"),
      let second = number(digits: 2), second <= 60
    else { return nil }
    return (hour * 60 + minute) * 60 + second
  }

  private mutating func skip(_ text: some Collection<UInt8>) -> Bool {
    let start = rest.prefix(text.count)
    guard start.count == text.count, zip(start, text).allSatisfy({ lowercased($0) == lowercased($1) }) else {
      return false
    }
    rest = rest.dropFirst(text.count)
    return true
  }

  private func lowercased(_ byte: UInt8) -> UInt8 {
    (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
  }
}
