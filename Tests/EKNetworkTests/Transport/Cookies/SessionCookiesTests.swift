import Foundation
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("Cookies of a session")
struct SessionCookiesTests {
  private let configuration = URLSessionConfiguration.ephemeral
  private var cookies: SessionCookies { SessionCookies(configuration: configuration) }

  private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

  /// The `Cookie` field that a request to `text` gets.
  private func sent(to text: String, _ change: (inout URLRequest) -> Void = { _ in }) throws -> String? {
    var request = URLRequest(url: try url(text))
    change(&request)
    var sent = HTTPRequest(of: request)
    cookies.apply(to: &sent)
    return sent.value("cookie")
  }

  @Test("Every line is stored; longer paths are sent first, then earlier cookies")
  func lines() throws {
    cookies.store(
      setCookieLines: ["b=2; Path=/", "a=1; Path=/", "c=3; Path=/deep/er", "nothing", "=x", ""],
      for: try url("http://example.com/deep/er/page"))
    #expect(try sent(to: "http://example.com/deep/er/page") == "c=3; b=2; a=1")
    #expect(try sent(to: "http://example.com/deep/erase") == "b=2; a=1")
    #expect(try sent(to: "http://other.com/") == nil)
  }

  @Test("A cookie without a path gets the directory of its URL (RFC 6265, 5.1.4)")
  func defaultPath() throws {
    cookies.store(setCookieLines: ["a=1", "b=2; Path=relative"], for: try url("http://example.com/dir/page"))
    #expect(try sent(to: "http://example.com/dir/other") == "a=1; b=2")
    #expect(try sent(to: "http://example.com/dir") == "a=1; b=2")
    #expect(try sent(to: "http://example.com/") == nil)
  }

  @Test("Secure cookies are sent only over https")
  func secure() throws {
    cookies.store(setCookieLines: ["a=1; Secure"], for: try url("https://example.com/"))
    #expect(try sent(to: "http://example.com/") == nil)
    #expect(try sent(to: "https://example.com/") == "a=1")
  }

  @Test("Max-Age takes precedence over Expires, and zero deletes")
  func expiry() throws {
    let here = try url("http://example.com/")
    cookies.store(
      setCookieLines: [
        "a=1; Max-Age=60; Expires=Wed, 21 Oct 1998 07:28:00 GMT", "b=2; Expires=Wed, 21 Oct 1998 07:28:00 GMT",
        "c=3; Max-Age=99999999999999999999", "d=4; Max-Age=junk",
      ], for: here)
    #expect(try sent(to: "http://example.com/") == "a=1; c=3; d=4")
    cookies.store(setCookieLines: ["a=; Max-Age=0", "c=; Max-Age=-5"], for: here)
    #expect(try sent(to: "http://example.com/") == "d=4")
  }

  @Test("A Domain attribute covers its subdomains, but no other hosts")
  func domains() throws {
    cookies.store(
      setCookieLines: [
        "own=1", "wide=2; Domain=example.com", "dotted=3; Domain=.Example.com", "evil=4; Domain=other.com",
        "top=5; Domain=com", "suffix=6; Domain=ample.com",
      ], for: try url("http://www.example.com/"))
    #expect(try sent(to: "http://www.example.com/") == "own=1; wide=2; dotted=3")
    #expect(try sent(to: "http://api.example.com/") == "wide=2; dotted=3")
    #expect(try sent(to: "http://badexample.com/") == nil)
    cookies.store(setCookieLines: ["ip=1; Domain=0.0.1"], for: try url("http://127.0.0.1/"))
    #expect(try sent(to: "http://127.0.0.1/") == nil)
  }

  @Test("An explicit Cookie field takes precedence, and requests and sessions can opt out")
  func explicitFieldAndOptOut() throws {
    let here = try url("http://example.com/")
    cookies.store(setCookieLines: ["a=1"], for: here)
    #expect(try sent(to: "http://example.com/") { $0.setValue("own", forHTTPHeaderField: "Cookie") } == "own")
    #expect(try sent(to: "http://example.com/") { $0.httpShouldHandleCookies = false } == nil)
    var request = URLRequest(url: here)
    request.httpShouldHandleCookies = false
    cookies.store(setCookieLines: ["b=2"], for: here, request: request)
    #expect(try sent(to: "http://example.com/") == "a=1")
    configuration.httpShouldSetCookies = false
    #expect(try sent(to: "http://example.com/") == nil)
  }

  @Test("The configuration's cookie policy and storage are respected")
  func policy() throws {
    let here = try url("http://example.com/")
    configuration.httpCookieAcceptPolicy = .never
    cookies.store(setCookieLines: ["a=1"], for: here)
    configuration.httpCookieAcceptPolicy = .onlyFromMainDocumentDomain
    var request = URLRequest(url: here)
    request.mainDocumentURL = try url("http://other.com/")
    cookies.store(setCookieLines: ["b=2"], for: here, request: request)
    #expect(try sent(to: "http://example.com/") == nil)
    configuration.httpCookieStorage = nil
    cookies.store(setCookieLines: ["c=3"], for: here)
    #expect(try sent(to: "http://example.com/") == nil)
  }

  @Test("A joined field is split where a cookie begins, not at the comma of a date")
  func split() {
    let joined = "a=1; Expires=Wed, 21 Oct 2099 07:28:00 GMT, b=2; Path=/,c=3, d = 4"
    #expect(
      SetCookieLine.split(joined: joined) == [
        "a=1; Expires=Wed, 21 Oct 2099 07:28:00 GMT", " b=2; Path=/", "c=3", " d = 4",
      ])
    #expect(SetCookieLine.split(joined: "") == [""])
  }

  @Test("Overlong pairs and attributes and lines with control characters are ignored")
  func refused() {
    #expect(SetCookieLine("a=" + String(repeating: "x", count: 5_000)) == nil)
    let blanks = String(repeating: " ", count: 2 * SetCookieLine.largestPair - 3)
    #expect(SetCookieLine("a=1" + blanks)?.value == "1")
    #expect(SetCookieLine("a=1 " + blanks) == nil)
    #expect(SetCookieLine("a=\u{1}") == nil)
    #expect(SetCookieLine("a=1\r\nX: y") == nil)
    #expect(SetCookieLine("a=é")?.isUTF8 == true)
    #expect(SetCookieLine(bytes: [0x61, 0x3d, 0xe9])?.isUTF8 == false)
    #expect(SetCookieLine("a=1; Path=/" + String(repeating: "x", count: 5_000))?.path == nil)
  }

  private static let datesOfServers: [(String, Double?)] = [
    ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
    ("Sun Nov  6 08:49:37 1994", 784_111_777), ("06 November 1994 8:49:37", 784_111_777),
    ("1994 6 nov 08:49:37", 784_111_777), ("06 Nov 94 08:49:37", 784_111_777),
    ("1 Jan 1601 00:00:00", -11_644_473_600), ("1 Jan 2000 00:00:00", 946_684_800), ("1 Jan 70 0:0:0", 0),
    ("1 Jan 69 0:0:0", 3_124_224_000), ("31 Dec 9999 23:59:59", 253_402_300_799),
    // Something may follow each number, but not a digit.
    ("6th Nov 1994x 08:49:37.123", 784_111_777), ("6 Nov 1994 08:49:37:00", 784_111_777),
    ("6 Nov 1994 08:49:37Z", 784_111_777), ("006 Nov 94 08:49:37", nil), ("6 Nov 19940 08:49:37", nil),
    ("6 Nov 1994 08:49:370", nil), ("6 Nov 1994 12a:00:00", nil), ("6 Nov 1994 12:00a:00", nil),
    ("6 Nov 1994 :00:00", nil), ("6 Nov 1994 12::00", nil), ("6 Nov 1994 12:00:", nil), ("6 Nov 1994 120:00:00", nil),
    ("12a:00:00 Nov 1994 08:49:37", 784_630_177),
    // Days that a month does not have.
    ("29 Feb 2024 12:00:00", 1_709_208_000), ("29 Feb 2000 00:00:00", 951_782_400),
    ("28 Feb 2023 00:00:00", 1_677_542_400), ("31 Feb 2020 00:00:00", nil),
    ("30 Feb 2020 00:00:00", nil), ("29 Feb 2023 00:00:00", nil), ("29 Feb 1900 00:00:00", nil),
    ("31 Apr 2020 00:00:00", nil), ("31 Nov 2020 00:00:00", nil), ("32 Nov 1994 00:00:00", nil),
    ("0 Nov 1994 00:00:00", nil), ("", nil), ("Sun", nil), ("31 Foo 1994 00:00:00", nil),
    ("1 Jan 1600 00:00:00", nil), ("1 Jan 2000 24:00:00", nil), ("1 Jan 2000 00:60:00", nil),
  ]

  /// RFC 6265bis, 5.1.1.
  @Test(
    "Dates are parsed in every form that servers send",
    arguments: datesOfServers)
  func dates(_ text: String, _ seconds: Double?) {
    #expect(CookieDate.parse(text)?.timeIntervalSince1970 == seconds)
  }

  @Test("Arbitrary Set-Cookie lines do not end the process")
  func hostile() throws {
    let here = try url("http://example.com/a/b")
    let pieces = [
      "a", "=", ";", ",", " ", "\t", "👨‍👩‍👧‍👦", "é", "e\u{301}", "\u{0}", "\u{7f}", "\"", "Path", "/", "Domain", ".", "..",
      "Expires",
      "Wed, 21 Oct 2099 07:28:00 GMT", "99999999999999999999:99:99", "Max-Age", "-", "9223372036854775808", "Secure",
      "HttpOnly", "SameSite", "Version=1", "Port=\"80,x\"", "\u{FFFD}", "%00", "\u{202E}", "🇩🇪🇩", "\\", "Comment",
    ]
    var generator = SplitMix(state: 7)
    for _ in 0..<20_000 {
      let length = Int(generator.next() % 12)
      let line = (0..<length).map { _ in pieces[Int(generator.next() % UInt64(pieces.count))] }.joined()
      for part in SetCookieLine.split(joined: line) { _ = SetCookieLine(part) }
      if generator.next() % 10 == 0 { cookies.store(setCookieLines: [line], for: here) }
    }
    _ = try sent(to: "http://example.com/a/b")
    // Splitting a head full of commas must not take quadratic time.
    let commas = String(repeating: ",a", count: 150_000)
    #expect(SetCookieLine.split(joined: commas).count == 1)
  }
}
