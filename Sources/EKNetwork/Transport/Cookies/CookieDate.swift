/// The dates of cookies, in any of the forms that servers send (RFC 6265bis §5.1.1).
enum CookieDate {
  /// Returns the seconds since the beginning of 1970.
  static func seconds(_ text: String) -> Double? {
    var time: (hour: Int, minute: Int, second: Int)?
    var day: Int?
    var month: Int?
    var year: Int?
    for token in text.utf8.split(whereSeparator: isDelimiter) {
      if time == nil, let found = parseTime(token) {
        time = found
      } else if day == nil, let found = number(token, digits: 1...2) {
        day = found
      } else if month == nil, let found = self.month(token) {
        month = found
      } else if year == nil, let found = number(token, digits: 2...4) {
        year = found
      }
    }
    guard let time, let day, let month, var year else { return nil }
    if (70...99).contains(year) { year += 1900 } else if (0...69).contains(year) { year += 2000 }
    // Step 6: a date that does not exist is none.
    guard year >= 1601, time.hour <= 23, time.minute <= 59, time.second <= 59,
      let days = GregorianCalendar.days(year: year, month: month, day: day)
    else { return nil }
    // Not an integer: with 32 bits it would overflow in 2038.
    return Double(days) * 86_400 + Double(time.hour * 3_600 + time.minute * 60 + time.second)
  }

  /// Returns the seconds of `Max-Age` (RFC 6265bis §5.6.2): digits with an optional sign. A value that is too large
  /// stands for one that never expires.
  static func maximumAge(_ value: String) -> Int? {
    let digits = value.hasPrefix("-") ? value.dropFirst() : value[...]
    guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    if value.hasPrefix("-") { return -1 }
    return min(Int(digits) ?? .max, Int(clamping: 100 * 365 * 86_400 as Int64))
  }

  private static func isDelimiter(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x09, 0x20...0x2f, 0x3b...0x40, 0x5b...0x60, 0x7b...0x7e: true
    default: false
    }
  }

  /// `hms-time [ non-digit *OCTET ]`: anything may follow the seconds, but only a colon the hours and the minutes.
  private static func parseTime(_ token: Substring.UTF8View) -> (hour: Int, minute: Int, second: Int)? {
    let parts = token.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, parts[..<2].joined().allSatisfy({ (0x30...0x39).contains($0) }),
      let hour = number(parts[0], digits: 1...2), let minute = number(parts[1], digits: 1...2),
      let second = number(parts[2], digits: 1...2)
    else { return nil }
    return (hour, minute, second)
  }

  /// Returns a number of so many digits, which something else may follow.
  private static func number(_ token: Substring.UTF8View, digits: ClosedRange<Int>) -> Int? {
    let found = token.prefix { (0x30...0x39).contains($0) }
    guard digits.contains(found.count) else { return nil }
    return Int(Substring(found))
  }

  private static func month(_ token: Substring.UTF8View) -> Int? {
    let name = String(Substring(token).lowercased().prefix(3))
    return GregorianCalendar.months.firstIndex { $0.lowercased() == name }.map { $0 + 1 }
  }
}
