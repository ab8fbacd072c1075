/// The list of the `tracestate` field (W3C Trace Context §3.3.1).
enum TraceState {
  private static let maximumMembers = 32
  /// At least 512 characters have to be propagated (§3.3.1.5); a field of arbitrary length is not.
  private static let maximumLength = 8_192

  /// Returns the list without blanks around its members and without empty ones; `nil` if it is empty or not valid.
  static func valid(_ value: String) -> String? {
    guard value.utf8.count <= maximumLength else { return nil }
    var keys: Set<Substring> = []
    var members: [String] = []
    for part in value.split(separator: ",") {
      let member = part.trimmingBlanks()
      if member.isEmpty { continue }
      guard let equals = member.firstIndex(of: "=") else { return nil }
      let (key, text) = (member[..<equals], member[member.index(after: equals)...])
      guard isKey(key.utf8), isValue(text.utf8), keys.insert(key).inserted else { return nil }
      members.append(String(member))
    }
    guard !members.isEmpty, members.count <= maximumMembers else { return nil }
    return members.joined(separator: ",")
  }

  /// Returns whether a key is valid: `key`, or `tenant@system`.
  private static func isKey(_ key: Substring.UTF8View) -> Bool {
    let parts = key.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
    switch parts.count {
    case 1: return isName(parts[0], length: 256, startsWithDigit: false)
    case 2:
      return isName(parts[0], length: 241, startsWithDigit: true)
        && isName(parts[1], length: 14, startsWithDigit: false)
    default: return false
    }
  }

  private static func isName(_ name: Substring.UTF8View, length: Int, startsWithDigit: Bool) -> Bool {
    guard let first = name.first, name.count <= length else { return false }
    guard isLetter(first) || (startsWithDigit && isDigit(first)) else { return false }
    return name.allSatisfy { isLetter($0) || isDigit($0) || "_-*/".utf8.contains($0) }
  }

  /// Returns whether a value is valid: printable ASCII without `,` and `=`. Trailing blanks are trimmed already.
  private static func isValue(_ value: Substring.UTF8View) -> Bool {
    !value.isEmpty && value.count <= 256
      && value.allSatisfy {
        (0x20...0x7E).contains($0) && $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "=")
      }
  }

  private static func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }
  private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
