import Foundation
import Testing

@testable import EKNetwork

@Suite struct CacheableResponseTests {
  private func isStored(
    _ control: String?, status: Int = 200, method: String = "GET", request: String? = nil,
    fields extra: [(String, String)] = [("ETag", "\"a\"")]
  ) throws -> Bool {
    let url = try #require(URL(string: "http://h/p"))
    var fields = HeaderFieldList(extra.map { (name: $0.0, value: $0.1) })
    if let control { fields.append("Cache-Control", control) }
    let directives = CacheDirectives(control)
    let now = Date(timeIntervalSince1970: 1_800_000_000)
    return CacheableResponse.mayBeStored(
      method: method, url: url, request: CacheDirectives(request), status: status, fields: fields, response: directives,
      freshness: ResponseFreshness(
        status: status, fields: fields, directives: directives, requestTime: now, responseTime: now))
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
    #expect(try !isStored("max-age=0", fields: []))
    #expect(try !isStored(nil, fields: []))
    #expect(try isStored(nil))
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
    #expect(try !isStored("max-age=60", method: "POST", fields: []))
    #expect(try !isStored(nil, method: "POST", fields: [("Content-Location", "/p"), ("ETag", "\"a\"")]))
  }

  @Test func varyStarIsNotStored() throws {
    #expect(try !isStored("max-age=60", fields: [("Vary", "Accept, *")]))
  }
}
