import Foundation
import Testing

@testable import EKNetwork

struct RateLimitReportTests {
  private typealias Quota = RateLimitReport.Quota

  private let now = Date(timeIntervalSince1970: 1_800_000_000)

  private func report(_ fields: [String: String], status: Int = 200) -> RateLimitReport {
    RateLimitReport(status: status, now: now) { fields.field($0) }
  }

  @Test func retryAfterSetsPause() {
    #expect(report(["Retry-After": "7"], status: 429) == RateLimitReport(isRefusal: true, pause: .seconds(7)))
    #expect(report(["retry-after": "7"], status: 503) == RateLimitReport(pause: .seconds(7)))
    let date = report(["Retry-After": "Fri, 15 Jan 2027 08:00:30 GMT"], status: 429)
    #expect(date.pause == .seconds(30))
    #expect(report(["Retry-After": "soon"], status: 429) == RateLimitReport(isRefusal: true))
    // With another status the field has another meaning (RFC 9110 §10.2.3).
    #expect(report(["Retry-After": "7"]) == RateLimitReport())
    #expect(report(["Retry-After": "7"], status: 301) == RateLimitReport())
  }

  @Test func draftFieldsAreParsed() {
    #expect(
      report(["RateLimit": "\"default\";r=50;t=30"]).quotas
        == [Quota(name: "default", remaining: 50, reset: .seconds(30))])
    let several = report([
      "RateLimit": "\"a;b, c\";r=3;t=10 , day;r=900;pk=:QQ==:",
      "RateLimit-Policy": "\"a;b, c\";q=5;w=60, day;q=1000;w=86400;qu=\"requests\"",
    ])
    #expect(
      several.quotas == [
        Quota(name: "a;b, c", remaining: 3, reset: .seconds(10), limit: 5),
        Quota(name: "day", remaining: 900, reset: .seconds(86_400), limit: 1_000),
      ])
    // An escaped quotation mark does not end a string (RFC 9651 §4.2.5).
    #expect(report(["RateLimit": #""a\";r=1";r=2"#]).quotas.map(\.remaining) == [2])
    // Bytes are not requests.
    let bytes = report(["RateLimit": "\"b\";r=0;t=10", "RateLimit-Policy": "\"b\";q=5;qu=\"content-bytes\""])
    #expect(bytes.quotas.isEmpty)
  }

  @Test func earlierDraftFieldsAreParsed() {
    #expect(
      report(["RateLimit": "limit=100, remaining=3, reset=10"]).quotas
        == [Quota(remaining: 3, reset: .seconds(10), limit: 100)])
    #expect(
      report(["RateLimit-Limit": "100, 100;w=60", "RateLimit-Remaining": "3", "RateLimit-Reset": " 10 "]).quotas
        == [Quota(remaining: 3, reset: .seconds(10), limit: 100)])
  }

  @Test(arguments: ["30", "30.0", "1800000030", "1800000030000"])
  func resetMayBeSecondsOrDate(value: String) {
    let report = report(["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": value, "X-RateLimit-Limit": "60"])
    #expect(report.quotas == [Quota(remaining: 0, reset: .seconds(30), limit: 60)])
  }

  /// The least date is in 2001, in seconds or milliseconds; the reset is then in the past.
  @Test func resetOfBillionIsDate() {
    for (value, reset) in [
      ("999999999", Duration.seconds(31_536_000)), ("1000000000", .zero),
      ("999999999999", .seconds(31_536_000)), ("1000000000000", .zero),
    ] {
      #expect(report(["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": value]).quotas.first?.reset == reset)
    }
  }

  @Test func malformedValuesAreIgnored() {
    let values = [
      "", "\"a", "\"a\";r", "\"a\";r=-1", "\"a\";r=x", ";r=1", "\"a\";=1;r=1", "remaining=", "remaining=-1", "a;;r=1",
      "limit=1", "\"a\";r=1, ;r=2", "\"\\", "\"a\";r=1, \"b", "\"a\";r=1;x=\"b", "\"a\";r=1;x=\"b\\\"",
    ]
    for value in values { #expect(report(["RateLimit": value]).quotas.isEmpty, "\(value)") }
    for value in ["", "x", "-1", "1e5", "nan"] {
      #expect(report(["X-RateLimit-Remaining": value]).quotas.isEmpty, "\(value)")
      let quota = report(["X-RateLimit-Remaining": "1", "X-RateLimit-Reset": value]).quotas.first
      #expect(quota == Quota(remaining: 1), "\(value)")
    }
  }

  @Test func largeNumbersAndLongListsAreBounded() {
    let digits = String(repeating: "9", count: 5_000)
    let quota = report(["RateLimit": "\"a\";r=\(digits);t=\(digits)"]).quotas.first
    #expect(
      quota
        == Quota(name: "a", remaining: Int(clamping: 2_147_483_648 as Int64), reset: .seconds(2_147_483_648 as Int64)))
    let reset = report(["X-RateLimit-Remaining": "1", "X-RateLimit-Reset": digits]).quotas.first?.reset
    #expect(reset == .seconds(31_536_000))
    for (length, count) in [(RateLimitFields.maximumNameLength, 1), (RateLimitFields.maximumNameLength + 1, 0)] {
      let name = String(repeating: "n", count: length)
      #expect(report(["RateLimit": "\(name);r=0;t=9"]).quotas.count == count)
    }
    let many = (0..<1_000).map { "\"\($0)\";r=0;t=9" }.joined(separator: ",")
    #expect(report(["RateLimit": many]).quotas.count == RateLimitReport.maximumQuotas)
  }

  /// The fields were sent with the response to an earlier request.
  @Test func fieldsOfCachedResponseAreIgnored() {
    let fields = ["RateLimit": "\"a\";r=0;t=30", "Retry-After": "30"]
    var nothing = RateLimitReport()
    nothing.isOfNothingSent = true
    let replaced = "EKNetwork; fwd=stale; fwd-status=503; ttl=-1; detail=stale-if-error"
    for hit in ["EKNetwork; hit; ttl=30", "CDN;fwd=stale, Edge ; hit", replaced] {
      #expect(report(fields.merging(["Cache-Status": hit]) { $1 }, status: 503) == nothing)
    }
    #expect(!report(fields.merging(["Cache-Status": "EKNetwork; fwd=uri-miss"]) { $1 }).quotas.isEmpty)
  }
}
