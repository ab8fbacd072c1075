import Foundation

extension HTTPDate {
  private static let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// Returns the date as an IMF-fixdate (RFC 9110 §5.6.7), in whole seconds.
  static func text(_ date: Date) -> String {
    // Years 1970 to 9999, which have four digits.
    let seconds = Int64(min(max(0, date.timeIntervalSince1970), 253_402_300_799))
    let (days, time) = (Int(seconds / 86_400), Int(seconds % 86_400))
    // Converts days to a civil date, with years that begin in March so that a leap day is the last day of its year.
    let shifted = days + 719_468
    let era = shifted / 146_097
    let dayOfEra = shifted % 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let month = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * month + 2) / 5 + 1
    let monthOfYear = month < 10 ? month + 2 : month - 10
    let year = yearOfEra + era * 400 + (monthOfYear < 2 ? 1 : 0)
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(weekdays[days % 7]), \(two(day)) \(months[monthOfYear]) \(year) "
      + "\(two(time / 3600)):\(two(time / 60 % 60)):\(two(time % 60)) GMT"
  }
}
