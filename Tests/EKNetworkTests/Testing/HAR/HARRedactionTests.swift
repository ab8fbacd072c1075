import Foundation
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

struct HARRedactionTests {
  private let hiding = HARRedaction(salt: "salt", hidesSecrets: true)
  private let showing = HARRedaction(salt: "salt", hidesSecrets: false)

  private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

  @Test(
    arguments: [
      ("HTTPS://A.Example:443", "https://a.example/"), ("http://a.example:80/x?", "http://a.example/x?"),
      ("https://user:word@a.example:8443/x;p=1?q=2#f", "https://a.example:8443/x;p=1?q=2"),
      ("http://[::1]:80/", "http://[::1]/"),
    ])
  func urlIsNormalized(given: String, expected: String) throws {
    #expect(showing.url(try url(given)) == expected)
    let base = try url("https://a.example/x/")
    #expect(showing.url(try #require(URL(string: "y", relativeTo: base))) == "https://a.example/x/y")
  }

  @Test func pseudonymsPreserveEquality() throws {
    let one = hiding.url(try url("https://a.example/x;s=v1?a=v1&b=v2&c=&v1"))
    let stand = hiding.pseudonym("v1")
    #expect(stand.hasPrefix("redacted-") && stand.utf8.count == 25)
    #expect(one == "https://a.example/x;s=\(stand)?a=\(stand)&b=\(hiding.pseudonym("v2"))&c=&\(stand)")
    #expect(!one.contains("v1") && !one.contains("v2"))
    #expect(hiding.pseudonym("%76%31") == stand)
    #expect(HARRedaction(salt: "other", hidesSecrets: true).pseudonym("v1") != stand)
  }

  @Test func redactionIsIdempotent() throws {
    let once = hiding.url(try url("https://a.example/x?a=v1"))
    #expect(hiding.url(try url(once)) == once)
    #expect(hiding.pseudonym("redacted-short") != "redacted-short")
  }

  @Test func onlyPseudonymIsKept() {
    #expect(hiding.pseudonym("redacted-0123456789abcdef") == "redacted-0123456789abcdef")
    // The first has the length and the digits of a pseudonym.
    for value in [
      "0123456789abcdef012345678", "redacted-0123456789abcde", "redacted-0123456789abcdef0",
      "redacted-0123456789abcdeg",
    ] {
      #expect(hiding.pseudonym(Substring(value)) != value)
    }
  }

  @Test func secretFieldsAreRedacted() throws {
    let base = try url("https://a.example/dir/x")
    for name in ["Authorization", "COOKIE", "Set-Cookie", "X-Api-Key", "X-CSRF-Token", "Refresh"] {
      #expect(hiding.field(name, "word", of: base) == "<redacted>")
      #expect(showing.field(name, "word", of: base) == "word")
    }
    for name in ["Accept", "Host", "Content-Type", "ETag", "Range", "WWW-Authenticate", "Proxy-Authenticate"] {
      #expect(hiding.field(name, "word", of: base) == "word")
    }
    // Its `rspauth` depends on the password (RFC 7616 §3.5).
    #expect(hiding.field("Authentication-Info", "word", of: base) == "<redacted>")
    let stand = hiding.pseudonym("word")
    #expect(hiding.field("Location", "y?code=word#f", of: base) == "https://a.example/dir/y?code=\(stand)")
    #expect(
      hiding.field("Link", "</a?t=word>; rel=\"next\", <b>; rel=x", of: base)
        == "<https://a.example/a?t=\(stand)>; rel=\"next\", <https://a.example/dir/b>; rel=x")
  }

  @Test func urlsElsewhereHaveNoSecrets() throws {
    let base = try url("https://a.example/dir/x")
    let stand = hiding.pseudonym("word")
    for value in ["HTTPS://u:word@a.example/x?a=word#word", "https://a.example/x?a=word"] {
      #expect(hiding.field("Destination", value, of: base) == "https://a.example/x?a=\(stand)")
      #expect(showing.field("Destination", value, of: base) == value)
    }
    #expect(hiding.field("X-Any", "ws://u:word@a.example/", of: base) == "ws://a.example/")
    #expect(hiding.field("X-Any", "https://a.example/x#a=word", of: base) == "https://a.example/x")
    for value in ["https://u:word@a b/?c", "https://[x/?a=word"] {
      #expect(!hiding.field("Destination", value, of: base).contains("word"))
    }
    #expect(hiding.field("HX-Redirect", "/y?a=word", of: base) == "https://a.example/y?a=\(stand)")
    for value in [
      "default=\"https://a.example/?a=word\"", "report-uri https://u:word@a.example/", "<https://a.example/?a=word>",
      "{\"url\":\"https://a.example/?a=word\"}", "https://a.example/x, https://u:word@a.example/",
      "see https://a.example/#a=word",
    ] {
      #expect(hiding.field("X-Any", value, of: base) == "<redacted>")
    }
    for value in [
      "https://a.example", "httpd/2 (a?b)", "a?b", "Bot/1 (+https://a.example/?b)", "/x", "1 ws://a.example/ b@a?c=d",
    ] {
      #expect(hiding.field("X-Any", value, of: base) == value)
    }
    for value in [
      "<b>; rel=x; anchor=\"https://a.example/?a=word\"", "https://a.example/?a=word; rel=x",
      "<https://a.example/?a=word",
    ] {
      #expect(hiding.field("Link", value, of: base) == "<redacted>")
    }
    #expect(hiding.field("Link", "<>; rel=x", of: base) == "<https://a.example/dir/x>; rel=x")
  }

  @Test func fingerprintOmitsPassword() {
    let basic = { (text: String) in "Basic " + Data(text.utf8).base64EncodedString() }
    #expect(hiding.fingerprint(basic("u:one")) == hiding.fingerprint(basic("u:two")))
    #expect(hiding.fingerprint(basic("u:one")) != hiding.fingerprint(basic("v:one")))
    let bare = basic("u:one").replacing("=", with: "")
    #expect(bare != basic("u:one") && hiding.fingerprint(" \(bare)") == hiding.fingerprint(basic("u:one")))
    #expect(hiding.fingerprint("BASIC u:one") == hiding.fingerprint("Basic u:two"))
    #expect(hiding.fingerprint("Bearer one") != hiding.fingerprint("Bearer two"))
  }

  @Test func longBodyIsDigestedCompletely() {
    var body = Data.noise(200_000)
    let digest = hiding.digest(body)
    #expect(digest.utf8.count == 32 && hiding.digest(body) == digest)
    for index in [0, 65_535, 65_536, 199_999] {
      body[index] ^= 1
      #expect(hiding.digest(body) != digest)
      body[index] ^= 1
    }
  }

  @Test func bodyComparisonIgnoresFormattingAndBoundary() throws {
    func body(_ text: String, _ type: String) -> HARRequestBody {
      HARRequestBody(Data(text.utf8), type: type, redaction: hiding)
    }
    func isSame(_ one: (String, String), _ other: (String, String)) -> Bool {
      HARRequestBody.isSame(body(one.0, one.1), body(other.0, other.1))
    }
    let json = "application/problem+json; charset=utf-8"
    #expect(isSame((#"{"a":1,"b":[1,2]}"#, json), (#"{ "b" : [1, 2], "a" : 1 }"#, json)))
    #expect(!isSame((#"{"a":1,"b":[1,2]}"#, json), (#"{"a":1,"b":[2,1]}"#, json)))
    // Longer than what is parsed: compared as it is.
    let long = String(repeating: "x", count: 1024 * 1024)
    #expect(!isSame((#"{"a":1,"b":"\#(long)"}"#, json), (#"{"b":"\#(long)","a":1}"#, json)))
    #expect(!isSame((#"{"a":1}"#, "text/plain"), (#"{ "a":1}"#, "text/plain")))
    #expect(isSame(("--x1--", "multipart/form-data; boundary=x1"), ("--y--", "multipart/form-data; boundary=\"y\"")))
    #expect(!isSame(("--x--1", "multipart/form-data; boundary=x"), ("--x--2", "multipart/form-data; boundary=x")))
    let stream = HARRequestBody(type: "a/b", size: 3, digest: nil)
    #expect(HARRequestBody.isSame(stream, body("abc", "a/b")))
    #expect(!HARRequestBody.isSame(stream, body("ab", "a/b")))
    #expect(HARRequestBody.isSame(HARRequestBody(type: "", size: nil, digest: nil), stream))
    #expect(!HARRequestBody.isSame(nil, stream) && HARRequestBody.isSame(nil, nil))
  }
}
