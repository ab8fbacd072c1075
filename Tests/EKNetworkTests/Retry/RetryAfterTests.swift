import Foundation
import Testing

@testable import EKNetwork

struct RetryAfterTests {
  private static let now = Date(timeIntervalSince1970: 784_111_777)

  @Test(arguments: [
    ("0", Duration.zero),
    ("120", .seconds(120)),
    (" \t120 ", .seconds(120)),
    ("0000000000000000000000000000000000000007", .seconds(7)),
    ("2147483648", .seconds(2_147_483_648)),
    ("99999999999999999999999999999999999999", .seconds(2_147_483_648)),
    ("Sun, 06 Nov 1994 08:50:37 GMT", .seconds(60)),
    ("Sunday, 06-Nov-94 08:50:37 GMT", .seconds(60)),
    ("Sun Nov  6 08:50:37 1994", .seconds(60)),
    ("Sun, 06 Nov 1994 08:49:36 GMT", .zero),
    ("Fri, 31 Dec 9999 23:59:59 GMT", .seconds(31_536_000)),
  ])
  func reads(_ value: String, _ delay: Duration) {
    #expect(RetryAfter.delay(value, now: Self.now) == delay)
  }

  @Test(arguments: ["", " ", "-1", "+1", "1.5", "1e3", "0x10", "١٢", "soon", "120, 60", "120 seconds", "NaN", "\0"])
  func refuses(_ value: String) {
    #expect(RetryAfter.delay(value, now: Self.now) == nil)
  }

  @Test func isFoundInHTTPErrorIgnoringCase() {
    let error = HTTPError(statusCode: 503, data: Data(), headers: ["retry-AFTER": "3"])
    #expect(RetryAfter.delay(in: error, now: Self.now) == .seconds(3))
    #expect(RetryAfter.delay(in: HTTPError(statusCode: 503, data: Data(), headers: [:]), now: Self.now) == nil)
    #expect(RetryAfter.delay(in: NetworkError.unauthorized, now: Self.now) == nil)
  }
}
