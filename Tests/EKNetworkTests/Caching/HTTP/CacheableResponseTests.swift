import Foundation
import Testing

@testable import EKNetwork

struct CacheableResponseTests {
  private func isStored(
    _ control: String?, status: Int = 200, method: String = "GET", request: String? = nil,
    mode: CacheMode = .default, delay: Double = 0, fields extra: [(String, String)] = [("ETag", "\"a\"")]
  ) throws -> Bool {
    let url = try #require(URL(string: "http://h/p"))
    var fields = HeaderFieldList(extra.map { (name: $0.0, value: $0.1) })
    if let control { fields.append("Cache-Control", control) }
    let directives = CacheDirectives(control)
    let now = Date(timeIntervalSince1970: 1_800_000_000)
    return CacheableResponse.mayBeStored(
      method: method, url: url, request: CacheDirectives(request), status: status, fields: fields, response: directives,
      freshness: ResponseFreshness(
        status: status, fields: fields, directives: directives, requestTime: now - delay, responseTime: now),
      mode: mode)
  }

  @Test func directivesDecideStorage() throws {
    #expect(try isStored("max-age=60"))
    #expect(try isStored("private, max-age=60"))
    #expect(try isStored("no-cache"))
    #expect(try !isStored("no-cache", fields: []))
    #expect(try !isStored("max-age=60, no-store"))
    #expect(try !isStored("max-age=60", request: "no-store"))
    #expect(try isStored("max-age=60, no-store, must-understand"))
    #expect(try !isStored("max-age=60, must-understand", status: 599))
    #expect(try !isStored(nil, fields: []))
    #expect(try isStored(nil))
  }

  /// Without a validator, and stale when it arrives: what may use it stale decides.
  private static let stale: [(control: String?, request: String?, age: Double, isStored: Bool)] = [
    ("max-age=0", nil, 0, true), ("max-age=60", nil, 120, true),
    ("max-age=0, stale-while-revalidate=600", nil, 0, true),
    ("max-age=0, stale-if-error=600", nil, 0, true), ("stale-while-revalidate=600", nil, 0, true),
    ("stale-while-revalidate=600", nil, 700, false), ("stale-if-error=600", nil, 0, true),
    ("public", "max-stale", 0, true),
    (nil, "stale-if-error=5", 0, true), (nil, "stale-if-error=5", 6, false), (nil, nil, 0, false),
    ("public", nil, 0, false),
    ("max-age=0, must-revalidate", nil, 0, false), ("max-age=60, must-revalidate", nil, 30, true),
    ("max-age=0, no-cache, stale-if-error=600", nil, 0, false), ("max-age=0, no-store", nil, 0, false),
  ]

  @Test(arguments: stale, [false, true])
  func staleResponseIsStoredIfItMayBeUsed(
    _ row: (control: String?, request: String?, age: Double, isStored: Bool), isDelay: Bool
  ) throws {
    let age = isDelay ? [] : [("Age", "\(Int(row.age))")]
    let delay = isDelay ? row.age : 0
    #expect(try isStored(row.control, request: row.request, delay: delay, fields: age) == row.isStored)
    // This mode uses whatever is stored.
    let isKept = row.control?.contains("no-store") != true
    #expect(try isStored(row.control, request: row.request, mode: .forceCache, delay: delay, fields: age) == isKept)
  }

  /// RFC 9110 §14.4: the status says that it is the whole, and what is stored would be used as such.
  @Test(arguments: [
    ("bytes 5-9/10", "5", false), ("bytes 0-4/10", "5", false), ("bytes 5-9/10", nil, false),
    ("bytes 5-9/*", "5", false),
    ("bytes 0-9/10", "10", true), ("bytes 5-9/10", "10", true), ("bytes 0-4/*", "5", true), ("items 0-4/10", "5", true),
    ("bytes */10", "10", true),
  ])
  func partUnderTheStatusOfTheWholeIsNotStored(_ range: String, _ length: String?, _ expected: Bool) throws {
    let fields = [("ETag", "\"a\""), ("Content-Range", range)] + (length.map { [("Content-Length", $0)] } ?? [])
    #expect(try isStored("max-age=60", fields: fields) == expected)
  }

  @Test(arguments: [200, 203, 204, 299, 301, 404, 410, 499, 500, 503, 599])
  func finalStatusWithExplicitFreshnessIsStored(_ status: Int) throws {
    #expect(try isStored("max-age=60", status: status))
  }

  @Test(arguments: [101, 206, 304, 401, 407])
  func someStatusesAreNeverStored(_ status: Int) throws {
    #expect(try !isStored("max-age=60, public", status: status))
  }

  @Test(arguments: [201, 202, 302, 403, 502, 599])
  func otherStatusesNeedExplicitFreshness(_ status: Int) throws {
    #expect(try !isStored(nil, status: status))
  }

  @Test(arguments: ["PUT", "DELETE", "HEAD", "OPTIONS", "M-SEARCH"])
  func otherMethodsAreNotStored(_ method: String) throws {
    #expect(try !isStored("max-age=60", method: method))
  }

  @Test func postWithMatchingContentLocationIsStored() throws {
    #expect(try isStored("max-age=60", method: "POST", fields: [("Content-Location", "/p")]))
    #expect(try !isStored("max-age=60", method: "POST", fields: [("Content-Location", "/q")]))
    #expect(
      try isStored("max-age=60", method: "POST", fields: [("Content-Location", "/p"), ("Content-Location", "/p")]))
    #expect(
      try !isStored("max-age=60", method: "POST", fields: [("Content-Location", "/p"), ("Content-Location", "/q")]))
    #expect(try !isStored("max-age=60", method: "POST", fields: []))
    // RFC 9110 §8.7: of an error, or of a redirect, it is not what GET would return.
    for status in [302, 404, 503] {
      #expect(try !isStored("max-age=60", status: status, method: "POST", fields: [("Content-Location", "/p")]))
    }
    #expect(try !isStored(nil, method: "POST", fields: [("Content-Location", "/p"), ("ETag", "\"a\"")]))
  }

  @Test func varyStarIsNotStored() throws {
    #expect(try !isStored("max-age=60", fields: [("Vary", "Accept, *")]))
  }
}
