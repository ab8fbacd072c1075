import Foundation
import Testing

@testable import EKNetwork

struct HTTPDateTests {
  /// 2026-11-21 00:00:00 GMT
  private static let now = Date(timeIntervalSince1970: 1_795_219_200)

  @Test(arguments: [
    // The three forms of the same moment, as RFC 9110 §5.6.7 shows them.
    ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777.0),
    ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
    ("Sun Nov  6 08:49:37 1994", 784_111_777),
    ("sun, 06 nov 1994 08:49:37 gmt", 784_111_777),
    ("Sat Nov 21 00:00:00 2026", 1_795_219_200),
    ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
    ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
    ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000),
    ("Tue, 29 Feb 2000 00:00:00 GMT", 951_782_400),
    ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
    ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
    ("Sat, 01 Jan 0000 00:00:00 GMT", -62_167_219_200),
    // Up to 50 years ahead of `now` is the future; more is the past.
    ("Friday, 20-Nov-76 00:00:00 GMT", 3_373_056_000),
    ("Thursday, 31-Dec-76 00:00:00 GMT", 220_838_400),
    ("Saturday, 01-Jan-77 00:00:00 GMT", 220_924_800),
    ("Saturday, 21-Nov-26 00:01:00 GMT", 1_795_219_260),
  ])
  func reads(_ text: String, _ seconds: Double) {
    #expect(HTTPDate.parse(text, now: Self.now) == Date(timeIntervalSince1970: seconds))
  }

  @Test(arguments: [
    "", " ", "GMT", "Sun,", "0", "-1", "1994-11-06T08:49:37Z",
    "Sun, 6 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 08:49:37",
    "Sun, 06 Nov 1994 08:49:37 UTC",
    "Sun, 06 Nov 1994 08:49:37 GMT ",
    "Sun, 06 Nov 1994 08:49:37 GMTx",
    "Sun, 06 Nov 94 08:49:37 GMT",
    "Sun, 06 Nov 19940 08:49:37 GMT",
    "Sun, 00 Nov 1994 08:49:37 GMT",
    "Sun, 31 Nov 1994 08:49:37 GMT",
    "Sun, 29 Feb 1900 08:49:37 GMT",
    "Sun, 06 Foo 1994 08:49:37 GMT",
    "Foo, 06 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 24:00:00 GMT",
    "Sun, 06 Nov 1994 08:60:00 GMT",
    "Sun, 06 Nov 1994 08:49:61 GMT",
    "Sun, ٠٦ Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 08:49:37 GM\u{0130}",
    "Sun, 06-Nov-94 08:49:37 GMT",
    "Sunday, 06-Nov-1994 08:49:37 GMT",
    "Sun Nov 6 08:49:37 1994",
    "Sun Nov   6 08:49:37 1994",
    "Sun Nov  0 08:49:37 1994",
    "Sun, 06 Nov 1994 08:49:37 GMT\r\nX: y",
    String(repeating: "9", count: 100_000),
  ])
  func refuses(_ text: String) {
    #expect(HTTPDate.parse(text, now: Self.now) == nil)
  }

  @Test func parsesDatesAcrossFourCenturies() {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = TimeZone(secondsFromGMT: 0) ?? calendar.timeZone
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    for day in stride(from: -40_000, to: 110_000, by: 37) {
      let date = Date(timeIntervalSince1970: Double(day) * 86_400)
      let parts = calendar.dateComponents([.year, .month, .day], from: date)
      guard let year = parts.year, let month = parts.month, let dayOfMonth = parts.day else { continue }
      let text = "Mon, \(dayOfMonth < 10 ? "0" : "")\(dayOfMonth) \(months[month - 1]) \(year) 00:00:00 GMT"
      #expect(HTTPDate.parse(text, now: Self.now) == date, "\(text)")
      if day >= 0 { #expect(HTTPDate.text(date).dropFirst(5) == text.dropFirst(5)) }
    }
  }

  @Test(arguments: [
    (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (951_782_399, "Mon, 28 Feb 2000 23:59:59 GMT"),
    (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"), (1_735_603_200, "Tue, 31 Dec 2024 00:00:00 GMT"),
    (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"), (1e15, "Fri, 31 Dec 9999 23:59:59 GMT"),
  ])
  func isWrittenAsAnIMFFixdate(_ seconds: Double, _ text: String) {
    #expect(HTTPDate.text(Date(timeIntervalSince1970: seconds)) == text)
  }

  @Test(arguments: [Double.nan, .infinity, -.infinity, 1e300, -1e300])
  func extremeClockIsTolerated(_ seconds: Double) {
    let now = Date(timeIntervalSince1970: seconds)
    #expect(HTTPDate.parse("Sun, 06 Nov 1994 08:49:37 GMT", now: now) != nil)
    _ = HTTPDate.parse("Sunday, 06-Nov-94 08:49:37 GMT", now: now)
    _ = RetryAfter.delay("Sunday, 06-Nov-94 08:49:37 GMT", now: now)
  }

  /// RFC 9110 §5.6.7.
  @Test func yearMoreThan50YearsAheadIsInThePast() throws {
    let text = "Sunday, 06-Nov-94 08:49:37 GMT"
    let future = try #require(HTTPDate.parse("Sat, 06 Nov 2094 08:49:37 GMT", now: Date()))
    let past = try #require(HTTPDate.parse("Sun, 06 Nov 1994 08:49:37 GMT", now: Date()))
    let now = future.addingTimeInterval(-50 * 365.2425 * 86_400)
    #expect(HTTPDate.parse(text, now: now) == future)
    #expect(HTTPDate.parse(text, now: now.addingTimeInterval(-1)) == past)
  }

  /// RFC 9110 §5.6.7.
  @Test(arguments: [-30, 0, 1, 60, 1970, 2026])
  func twoDigitYearIsWithinHalfCentury(year: Int) throws {
    let now = Date(timeIntervalSince1970: Double(year - 1970) * 365.2425 * 86_400)
    for digits in ["00", "18", "45", "77", "99"] {
      let date = try #require(HTTPDate.parse("Sunday, 06-Nov-\(digits) 08:49:37 GMT", now: now))
      #expect((-50...52).contains(date.timeIntervalSince(now) / (365.2425 * 86_400)), "\(digits)")
    }
  }

  /// 2100 is not a leap year.
  @Test func leapDayOfATwoDigitYearMayBeOneOfTheCenturyBefore() {
    let now = Date(timeIntervalSince1970: 90 * 365.2425 * 86_400)
    #expect(HTTPDate.parse("Tuesday, 29-Feb-00 00:00:00 GMT", now: now)?.timeIntervalSince1970 == 951_782_400)
  }

  /// In average years, 31 December 2053 is less than 50 years before 2104, although 51 years lie between the numbers.
  @Test func yearLessThan50YearsAheadIsInTheFuture() throws {
    let future = try #require(HTTPDate.parse("Tue, 01 Jan 2104 00:00:00 GMT", now: Date()))
    let now = try #require(HTTPDate.parse("Wed, 31 Dec 2053 02:24:00 GMT", now: Date()))
    let text = "Tuesday, 01-Jan-04 00:00:00 GMT"
    #expect(HTTPDate.parse(text, now: now) == future)
    #expect(HTTPDate.parse(text, now: now.addingTimeInterval(-86_400)) != future)
  }
}
