import Testing

@testable import EKNetwork

struct VaryingFieldsTests {
  private func varying(_ vary: String, _ request: [String: String], language: String? = nil) -> VaryingFields {
    var response = HeaderFieldList([(name: "Vary", value: vary)])
    if let language { response.append("Content-Language", language) }
    return VaryingFields(response: response, request: HeaderFieldList(request))
  }

  @Test(arguments: ["*", "*, *", ", *", "*, Foo", "Foo, *"])
  func starMatchesNothing(_ vary: String) {
    #expect(VaryingFields.isUnmatchable(HeaderFieldList([(name: "Vary", value: vary)])))
    #expect(VaryingFields.isUnmatchable(HeaderFieldList([(name: "vary", value: ""), (name: "VARY", value: vary)])))
  }

  @Test func namedFieldsMustMatch() {
    let stored = varying("Foo, bar", ["foo": "1", "Other": "2"])
    #expect(stored.match(HeaderFieldList(["FOO": "1", "Other": "3"])))
    #expect(!stored.match(HeaderFieldList(["Foo": "2"])))
    #expect(!stored.match(HeaderFieldList(["Foo": "1", "Bar": ""])))
    #expect(!stored.match(HeaderFieldList([:])))
  }

  @Test func whitespaceAndSplitLinesAreIgnored() {
    #expect(varying("Foo", ["Foo": "1,2"]).match(HeaderFieldList(["Foo": " 1 ,  2"])))
    #expect(
      varying("Foo", ["Foo": "1, 2"]).match(
        HeaderFieldList([("Foo", "1"), ("foo", "2")].map { (name: $0, value: $1) })))
    #expect(!varying("Foo", ["Foo": "1,2"]).match(HeaderFieldList(["Foo": "2,1"])))
    #expect(!varying("Foo", ["Foo": "a"]).match(HeaderFieldList(["Foo": "A"])))
  }

  /// The stored body was selected by the first request's values. A confirmation changes that only by naming other fields.
  @Test func confirmedFieldsKeepTheirValues() {
    let stored = varying("Foo", ["Foo": "1"])
    let request = HeaderFieldList(["Foo": "2", "Bar": "3"])
    let same = HeaderFieldList([(name: "Vary", value: "foo")])
    #expect(stored.updated(response: same, request: request, salt: "") == stored)
    let other = HeaderFieldList([(name: "Vary", value: "Bar")])
    let updated = stored.updated(response: other, request: request, salt: "")
    #expect(updated == VaryingFields(response: other, request: request) && updated != stored)
  }

  @Test func languagesAreComparedAsSet() {
    let stored = varying("Accept-Language", ["Accept-Language": "en, de;q=0.5"])
    #expect(stored.match(HeaderFieldList(["accept-language": "De; q=0.50,EN"])))
    #expect(!stored.match(HeaderFieldList(["Accept-Language": "en, de;q=0.6"])))
  }

  @Test func preferredLanguageSuffices() {
    let stored = varying("Accept-Language", ["Accept-Language": "en, de"], language: "De")
    #expect(stored.match(HeaderFieldList(["Accept-Language": "fr;q=0.5, de;q=1.0"])))
    #expect(!stored.match(HeaderFieldList(["Accept-Language": "fr, de"])))
    #expect(!stored.match(HeaderFieldList(["Accept-Language": "fr, de;q=0.9"])))
    #expect(!stored.match(HeaderFieldList(["Accept-Language": "de;q=0"])))
    #expect(!varying("Accept-Language", [:], language: "de, en").match(HeaderFieldList(["Accept-Language": "de"])))
  }

  @Test func secretsAreNotRetained() {
    let stored = varying("Cookie, Authorization", ["Cookie": "a=s3cret", "Authorization": "Bearer t0ken"])
    #expect(!"\(stored)".contains("s3cret") && !"\(stored)".contains("t0ken"))
    #expect(stored.match(HeaderFieldList(["Cookie": "a=s3cret", "Authorization": "Bearer t0ken"])))
    #expect(!stored.match(HeaderFieldList(["Cookie": "a=other", "Authorization": "Bearer t0ken"])))
  }

  @Test(arguments: ["X-Auth-Token", "X-Api-Key", "Fastly-Key", "Proxy-Authorization"])
  func secretsInOtherFieldsAreNotRetained(_ name: String) {
    let stored = varying(name, [name: "s3cret"])
    #expect(!"\(stored)".contains("s3cret"))
    #expect(stored.match(HeaderFieldList([(name, "s3cret")])) && !stored.match(HeaderFieldList([(name, "other")])))
  }
}
