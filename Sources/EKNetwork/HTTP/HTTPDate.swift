import Foundation

/// Reads the date of a header field in each of its three forms (RFC 9110 §5.6.7).
///
/// Not a `DateFormatter`: that one follows locales and calendars, and takes what is no date at all. The name of the
/// weekday is not compared with the date, and letters of either case are taken.
enum HTTPDate {
  /// - Parameter now: Decides the century of an RFC 850 date, whose year has two digits.
  static func parse(_ text: String, now: Date) -> Date? {
    var scanner = HTTPDateScanner(text)
    let start = scanner
    if let date = imfFixdate(&scanner) { return date }
    scanner = start
    if let date = rfc850Date(&scanner, now: now) { return date }
    scanner = start
    return asctimeDate(&scanner)
  }

  /// `Sun, 06 Nov 1994 08:49:37 GMT`
  private static func imfFixdate(_ scanner: inout HTTPDateScanner) -> Date? {
    guard
      scanner.name(of: HTTPDateScanner.shortWeekdays) != nil, scanner.skip(", "),
      let day = scanner.number(digits: 2), scanner.skip(" "),
      let month = scanner.name(of: HTTPDateScanner.months), scanner.skip(" "),
      let year = scanner.number(digits: 4), scanner.skip(" "),
      let time = scanner.timeOfDay(), scanner.skip(" GMT"), scanner.isAtEnd
    else { return nil }
    return date(year: year, month: month + 1, day: day, time: time)
  }

  /// `Sunday, 06-Nov-94 08:49:37 GMT`
  private static func rfc850Date(_ scanner: inout HTTPDateScanner, now: Date) -> Date? {
    guard
      scanner.name(of: HTTPDateScanner.longWeekdays) != nil, scanner.skip(", "),
      let day = scanner.number(digits: 2), scanner.skip("-"),
      let month = scanner.name(of: HTTPDateScanner.months), scanner.skip("-"),
      let yearOfCentury = scanner.number(digits: 2), scanner.skip(" "),
      let time = scanner.timeOfDay(), scanner.skip(" GMT"), scanner.isAtEnd
    else { return nil }

    // A date that seems to be more than 50 years ahead is the latest one in the past with these digits.
    let averageYear = 365.2425 * 86_400
    let secondsNow = now.timeIntervalSince1970
    let yearNow = abs(secondsNow) < 8000 * averageYear ? 1970 + Int((secondsNow / averageYear).rounded(.down)) : 1970
    let latestYear = yearNow + 51
    let year = latestYear - positiveRemainder(latestYear - yearOfCentury, 100)
    guard let result = date(year: year, month: month + 1, day: day, time: time) else {
      // 29 February of a year that is no leap year may have been one a century ago.
      return date(year: year - 100, month: month + 1, day: day, time: time)
    }
    guard result.timeIntervalSince(now) > 50 * averageYear else { return result }
    return date(year: year - 100, month: month + 1, day: day, time: time)
  }

  /// `Sun Nov  6 08:49:37 1994`
  private static func asctimeDate(_ scanner: inout HTTPDateScanner) -> Date? {
    guard
      scanner.name(of: HTTPDateScanner.shortWeekdays) != nil, scanner.skip(" "),
      let month = scanner.name(of: HTTPDateScanner.months), scanner.skip(" "),
      let day = scanner.skip(" ") ? scanner.number(digits: 1) : scanner.number(digits: 2), scanner.skip(" "),
      let time = scanner.timeOfDay(), scanner.skip(" "),
      let year = scanner.number(digits: 4), scanner.isAtEnd
    else { return nil }
    return date(year: year, month: month + 1, day: day, time: time)
  }

  private static func date(year: Int, month: Int, day: Int, time: Int) -> Date? {
    let isLeapYear = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    let daysInMonth = [31, isLeapYear ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    guard daysInMonth.indices.contains(month - 1), (1...daysInMonth[month - 1]).contains(day) else { return nil }
    let days = daysBefore(year: year) - daysBefore(year: 1970) + daysInMonth[..<(month - 1)].reduce(0, +) + day - 1
    return Date(timeIntervalSince1970: Double(days) * 86_400 + Double(time))
  }

  /// Days of the proleptic Gregorian calendar (the one that the field's dates are in) before the first of January.
  private static func daysBefore(year: Int) -> Int {
    // The year 0 was a leap year: counted from 400 years earlier, nothing is negative.
    let elapsed = year + 399
    return elapsed * 365 + elapsed / 4 - elapsed / 100 + elapsed / 400
  }

  private static func positiveRemainder(_ value: Int, _ modulus: Int) -> Int {
    let remainder = value % modulus
    return remainder < 0 ? remainder + modulus : remainder
  }
}
