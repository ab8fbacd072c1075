import Foundation

/// The dates of header fields (RFC 9110 §5.6.7).
///
/// Not a `DateFormatter`: that depends on locales and calendars, and accepts invalid dates.
enum HTTPDate {
  /// Returns the date as an IMF-fixdate, in whole seconds.
  static func text(_ date: Date) -> String {
    // Years 1970 to 9999, which have four digits.
    let seconds = Int64(min(max(0, date.timeIntervalSince1970), 253_402_300_799))
    let (days, time) = (Int(seconds / 86_400), Int(seconds % 86_400))
    let (year, month, day) = GregorianCalendar.date(days: days)
    let weekday = GregorianCalendar.weekdays[days % 7].prefix(3)
    let clock = [time / 3600, time / 60 % 60, time % 60].map { $0.text(digits: 2) }.joined(separator: ":")
    return "\(weekday), \(day.text(digits: 2)) \(GregorianCalendar.months[month - 1]) \(year) \(clock) GMT"
  }

  /// Parses a date in one of the three forms; returns `nil` for anything else. The weekday is not checked against the date,
  /// and letters may be in either case.
  ///
  /// - Parameter now: The time that determines the century of an RFC 850 date, whose year has two digits.
  static func parse(_ text: String, now: Date) -> Date? {
    zonedDate(text, isRFC850: false, now: now) ?? zonedDate(text, isRFC850: true, now: now) ?? asctimeDate(text)
  }

  /// `Sun, 06 Nov 1994 08:49:37 GMT`, or `Sunday, 06-Nov-94 08:49:37 GMT`
  private static func zonedDate(_ text: String, isRFC850: Bool, now: Date) -> Date? {
    var scanner = HTTPDateScanner(text)
    let (weekdays, separator) =
      isRFC850 ? (GregorianCalendar.weekdays, "-") : (HTTPDateScanner.shortWeekdays, " ")
    guard
      scanner.name(of: weekdays) != nil, scanner.skip(", "),
      let day = scanner.number(digits: 2), scanner.skip(separator),
      let month = scanner.name(of: GregorianCalendar.months), scanner.skip(separator),
      let writtenYear = scanner.number(digits: isRFC850 ? 2 : 4), scanner.skip(" "),
      let time = scanner.timeOfDay(), scanner.skip(" GMT"), scanner.isAtEnd
    else { return nil }
    guard isRFC850 else { return date(year: writtenYear, month: month + 1, day: day, time: time) }

    // A date that appears to be more than 50 years in the future is the most recent past one with these digits.
    let averageYear = 365.2425 * 86_400
    let secondsNow = now.timeIntervalSince1970
    let yearNow = abs(secondsNow) < 8000 * averageYear ? 1970 + Int((secondsNow / averageYear).rounded(.down)) : 1970
    let latestYear = yearNow + 51
    let year = latestYear - ((latestYear - writtenYear) % 100 + 100) % 100
    guard let result = date(year: year, month: month + 1, day: day, time: time) else {
      // 29 February of a year that is not a leap year may have been one a century earlier.
      return date(year: year - 100, month: month + 1, day: day, time: time)
    }
    guard result.timeIntervalSince(now) > 50 * averageYear else { return result }
    return date(year: year - 100, month: month + 1, day: day, time: time)
  }

  /// `Sun Nov  6 08:49:37 1994`
  private static func asctimeDate(_ text: String) -> Date? {
    var scanner = HTTPDateScanner(text)
    guard
      scanner.name(of: HTTPDateScanner.shortWeekdays) != nil, scanner.skip(" "),
      let month = scanner.name(of: GregorianCalendar.months), scanner.skip(" "),
      let day = scanner.skip(" ") ? scanner.number(digits: 1) : scanner.number(digits: 2), scanner.skip(" "),
      let time = scanner.timeOfDay(), scanner.skip(" "),
      let year = scanner.number(digits: 4), scanner.isAtEnd
    else { return nil }
    return date(year: year, month: month + 1, day: day, time: time)
  }

  private static func date(year: Int, month: Int, day: Int, time: Int) -> Date? {
    GregorianCalendar.days(year: year, month: month, day: day).map {
      Date(timeIntervalSince1970: Double($0) * 86_400 + Double(time))
    }
  }
}

/// Reads the components of an HTTP date in order; returns `nil` (or `false`) for a missing one.
struct HTTPDateScanner {
  static let shortWeekdays = GregorianCalendar.weekdays.map { String($0.prefix(3)) }

  private var rest: Substring.UTF8View

  init(_ text: String) {
    // No date is longer than 33 characters; a longer text is rejected before anything is read.
    rest = text.utf8.count > 64 ? Substring().utf8 : text[...].utf8
  }

  var isAtEnd: Bool { rest.isEmpty }

  /// Skips a text, in any case.
  mutating func skip(_ text: String) -> Bool {
    let start = rest.prefix(text.utf8.count)
    let isSame = start.elementsEqual(text.utf8) {
      $0 == $1 || $0 ^ $1 == 0x20 && (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20)
    }
    guard isSame else { return false }
    rest = rest.dropFirst(start.count)
    return true
  }

  mutating func name(of names: [String]) -> Int? { names.firstIndex { skip($0) } }

  mutating func number(digits: Int) -> Int? {
    let text = rest.prefix(digits)
    guard text.count == digits, text.allSatisfy(\.isDigit) else { return nil }
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
}

/// Non-negative numbers of seconds in header fields (RFC 9111 §1.2.2).
enum DeltaSeconds {
  /// The number that stands for every greater one: "2147483648 or the greatest positive integer".
  static let greatest: Int64 = 2_147_483_648

  /// Parses a number of seconds; returns `nil` for anything but digits.
  static func parse(_ text: some StringProtocol) -> Int64? {
    guard !text.isEmpty else { return nil }
    var number: Int64 = 0
    for byte in text.utf8 {
      guard byte.isDigit else { return nil }
      number = min(greatest, number * 10 + Int64(byte - UInt8(ascii: "0")))
    }
    return number
  }
}
