import Foundation
import Testing

@testable import EKNetwork

struct ResponseFreshnessTests {
  private static let now = Date(timeIntervalSince1970: 1_800_000_000)

  private func freshness(
    _ fields: [(String, String)], status: Int = 200, delay: Double = 0
  ) -> ResponseFreshness {
    let fields = HeaderFieldList(fields.map { (name: $0.0, value: $0.1) })
    return ResponseFreshness(
      status: status, fields: fields, directives: CacheDirectives(fields.value("cache-control")),
      requestTime: Self.now.addingTimeInterval(-delay), responseTime: Self.now)
  }

  private func date(_ offset: Double) -> String { HTTPDate.text(Self.now.addingTimeInterval(offset)) }

  @Test func maxAgeWinsOverExpires() {
    let fresh = freshness([("Cache-Control", "max-age=60"), ("Expires", date(-50)), ("Date", date(0))])
    #expect(fresh.lifetime == 60 && fresh.isExplicit)
    #expect(freshness([("Cache-Control", "max-age=0"), ("Expires", date(50))]).lifetime == 0)
    #expect(freshness([("Cache-Control", "s-maxage=60")]).lifetime == 0)
  }

  @Test func expiresIsRelativeToServerDate() {
    #expect(freshness([("Expires", date(500)), ("Date", date(400))]).lifetime == 100)
    #expect(freshness([("Expires", date(300)), ("Date", date(400))]).lifetime == 0)
    #expect(freshness([("Expires", date(10)), ("Date", "foo")]).lifetime == 10)
    #expect(freshness([("Expires", "0"), ("Date", date(0))]).lifetime == 0)
    #expect(freshness([("Expires", "0")]).isExplicit)
  }

  @Test func heuristicIsTenthUpToOneDay() {
    let fresh = freshness([("Last-Modified", date(-1000)), ("Date", date(0))])
    #expect(fresh.lifetime == 100 && !fresh.isExplicit)
    #expect(freshness([("Last-Modified", date(-1e8)), ("Date", date(0))]).lifetime == 86_400)
    #expect(freshness([("Last-Modified", date(-1000))], status: 403).lifetime == 0)
    #expect(freshness([("Last-Modified", date(-1000)), ("Cache-Control", "public")], status: 599).lifetime == 100)
    #expect(freshness([("Last-Modified", date(1000))]).lifetime == 0)
  }

  @Test func ageIsGreaterOfAgeAndDate() {
    #expect(freshness([("Date", date(-30))]).initialAge == 30)
    #expect(freshness([("Date", date(30))]).initialAge == 0)
    #expect(freshness([("Age", "7"), ("Date", date(0))], delay: 2).initialAge == 9)
    #expect(freshness([("Age", "7, 0")]).initialAge == 7)
    #expect(freshness([("Age", "7"), ("Age", "0")]).initialAge == 7)
    for none in ["abc", "-7", "7.0", "7;a=b", ""] { #expect(freshness([("Age", none)]).initialAge == 0) }
    #expect(freshness([("Age", "99999999999999999999")]).initialAge == Double(DeltaSeconds.greatest))
  }

  @Test func lifetimeDecreasesOverTime() {
    let fresh = freshness([("Cache-Control", "max-age=60"), ("Age", "10")])
    #expect(fresh.remaining(at: Self.now.addingTimeInterval(20)) == 30)
    #expect(fresh.age(at: Self.now.addingTimeInterval(20)) == 30)
    #expect(fresh.remaining(at: Self.now.addingTimeInterval(51)) == -1)
  }

  @Test func clockSetBackMakesStale() {
    let fresh = freshness([("Cache-Control", "max-age=60")])
    #expect(fresh.remaining(at: Self.now.addingTimeInterval(-5)) > 0)
    #expect(fresh.remaining(at: Self.now.addingTimeInterval(-60)) > 0)
    #expect(fresh.remaining(at: Self.now.addingTimeInterval(-61)) < 0)
    #expect(fresh.remaining(at: Self.now.addingTimeInterval(-3600)) < 0)
  }

  @Test(arguments: [0.0, 951_782_400, 1_800_000_000, 4_107_542_400, 253_402_300_799])
  func datesRoundTrip(_ seconds: Double) {
    let date = Date(timeIntervalSince1970: seconds)
    #expect(HTTPDate.parse(HTTPDate.text(date), now: date) == date)
  }

  @Test func dateIsWrittenAsIMFFixdate() {
    #expect(HTTPDate.text(Date(timeIntervalSince1970: 784_111_777)) == "Sun, 06 Nov 1994 08:49:37 GMT")
    #expect(HTTPDate.text(Date(timeIntervalSince1970: -1e12)) == "Thu, 01 Jan 1970 00:00:00 GMT")
    #expect(HTTPDate.text(Date(timeIntervalSince1970: .nan)) == "Thu, 01 Jan 1970 00:00:00 GMT")
    for seconds in [1e12, Double(Int64.max), .greatestFiniteMagnitude, .infinity] {
      #expect(HTTPDate.text(Date(timeIntervalSince1970: seconds)) == "Fri, 31 Dec 9999 23:59:59 GMT")
    }
  }
}
