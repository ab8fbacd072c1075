/// The proleptic Gregorian calendar in Greenwich, which every date in a header field uses.
///
/// Not Foundation's `Calendar`, whose names and rules depend on the user's.
enum GregorianCalendar {
  /// The names of the weekdays, beginning with that of 1 January 1970.
  static let weekdays = ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"]
  static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// Returns the days since 1 January 1970; `nil` for a date that does not exist. The first month is number 1.
  static func days(year: Int, month: Int, day: Int) -> Int? {
    let isLeapYear = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    let daysInMonth = [31, isLeapYear ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    guard daysInMonth.indices.contains(month - 1), (1...daysInMonth[month - 1]).contains(day) else { return nil }
    return daysBefore(year: year) - daysBefore(year: 1970) + daysInMonth[..<(month - 1)].reduce(0, +) + day - 1
  }

  /// Returns the date that is so many days after 1 January 1970.
  static func date(days: Int) -> (year: Int, month: Int, day: Int) {
    // No year has more days.
    var year = 1970 + days / 366
    while daysBefore(year: year + 1) - daysBefore(year: 1970) <= days { year += 1 }
    var (month, start) = (1, daysBefore(year: year) - daysBefore(year: 1970))
    while let next = Self.days(year: year, month: month + 1, day: 1), next <= days {
      (month, start) = (month + 1, next)
    }
    return (year, month, days - start + 1)
  }

  /// Returns the number of days before the first of January.
  private static func daysBefore(year: Int) -> Int {
    // Year 0 is a leap year: counted from 400 years earlier, nothing is negative.
    let elapsed = year + 399
    return elapsed * 365 + elapsed / 4 - elapsed / 100 + elapsed / 400
  }
}
