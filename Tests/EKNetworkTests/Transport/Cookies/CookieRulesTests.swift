import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// RFC 6265bis, with a list of public suffixes made for the tests.
struct CookieRulesTests {
  /// `com`, `co.uk` and `github.io`.
  static let list: PublicSuffixes = {
    let suffixes: Set<String> = ["com", "uk", "co.uk", "io", "github.io"]
    return PublicSuffixes(
      contains: { suffixes.contains($0) || !$0.contains(".") },
      registrableDomain: { host in
        let labels = host.split(separator: ".")
        for count in (1..<max(labels.count, 1)).reversed() {
          let suffix = labels.suffix(count).joined(separator: ".")
          if suffixes.contains(suffix) { return labels.suffix(count + 1).joined(separator: ".") }
        }
        return nil
      })
  }()

  private let configuration = URLSessionConfiguration.ephemeral

  private func cookies(_ suffixes: PublicSuffixes = list) -> SessionCookies {
    SessionCookies(configuration: configuration, suffixes: suffixes)
  }

  private func store(_ lines: [String], from url: String, _ suffixes: PublicSuffixes = list) throws {
    cookies(suffixes).store(setCookieLines: lines, for: try #require(URL(string: url)))
  }

  private func sent(to url: String, method: String = "GET", start: String? = nil) throws -> String? {
    var request = HTTPRequest(method: method, url: try #require(URL(string: url)))
    cookies().apply(to: &request, start: try start.map { try #require(URL(string: $0)) })
    return request.value("cookie")
  }

  @Test(arguments: [
    // A domain above the host, or below it, or beside it.
    ("a=1; Domain=example.com", "https://www.example.com/", "https://api.example.com/", true),
    ("a=1; Domain=www.example.com", "https://example.com/", "https://www.example.com/", false),
    ("a=1; Domain=example.com", "https://www.other.com/", "https://example.com/", false),
    // A public suffix is refused, except from the host of that name, where the cookie is host-only.
    ("a=1; Domain=co.uk", "https://a.co.uk/", "https://a.co.uk/", false),
    ("a=1; Domain=co.uk", "https://a.co.uk/", "https://b.co.uk/", false),
    ("a=1; Domain=.co.uk", "https://a.co.uk/", "https://b.co.uk/", false),
    ("a=1; Domain=GITHUB.io", "https://x.github.io/", "https://y.github.io/", false),
    ("a=1; Domain=github.io", "https://github.io/", "https://github.io/", true),
    ("a=1; Domain=github.io", "https://github.io/", "https://y.github.io/", false),
    ("a=1; Domain=com", "https://example.com/", "https://example.com/", false),
    ("a=1; Domain=x.github.io", "https://x.github.io/", "https://api.x.github.io/", true),
    ("a=1; Domain=localhost", "http://localhost/", "http://localhost/", true),
    // Secure: set and sent over https only.
    ("a=1; Secure", "http://example.com/", "https://example.com/", false),
    ("a=1; Secure", "https://example.com/", "https://example.com/", true),
    ("a=1; Secure", "https://example.com/", "http://example.com/", false),
    ("a=1; Secure", "wss://example.com/", "wss://example.com/", true),
    ("a=1; Secure", "ws://example.com/", "wss://example.com/", false),
    // Prefixes of cookie names.
    ("__Secure-a=1", "https://example.com/", "https://example.com/", false),
    ("__Secure-a=1; Secure", "https://example.com/", "https://example.com/", true),
    ("__SECURE-a=1", "https://example.com/", "https://example.com/", false),
    ("__Secure-a=1; Secure", "http://example.com/", "https://example.com/", false),
    ("__Host-a=1; Secure; Path=/", "https://example.com/", "https://example.com/", true),
    ("__Host-a=1; Secure", "https://example.com/", "https://example.com/", false),
    ("__Host-a=1; Path=/", "https://example.com/", "https://example.com/", false),
    ("__Host-a=1; Secure; Path=/a", "https://example.com/a", "https://example.com/a", false),
    ("__Host-a=1; Secure; Path=/; Domain=example.com", "https://example.com/", "https://example.com/", false),
    ("__hOST-a=1; Secure; Path=/; Domain=example.com", "https://example.com/", "https://example.com/", false),
    ("__Http-a=1; Secure", "https://example.com/", "https://example.com/", false),
    ("__Http-a=1; Secure; HttpOnly", "https://example.com/", "https://example.com/", true),
    ("__Host-Http-a=1; Secure; Path=/", "https://example.com/", "https://example.com/", false),
    ("__Host-Http-a=1; Secure; Path=/; HttpOnly", "https://example.com/", "https://example.com/", true),
    // Paths are compared as they are written.
    ("a=1; Path=/x%20y", "http://example.com/", "http://example.com/x%20y/z", true),
    ("a=1; Path=/x%2Fy", "http://example.com/", "http://example.com/x/y", false),
    // IP addresses have no subdomains.
    ("a=1; Domain=127.0.0.1", "http://127.0.0.1/", "http://127.0.0.1/", true),
    ("a=1; Domain=0.0.1", "http://127.0.0.1/", "http://127.0.0.1/", false),
    ("a=1; Domain=0.0.1", "http://0x7f.0.0.1/", "http://127.0.0.1/", false),
    ("a=1; Domain=0.0.1", "http://0x7f.0.0.1/", "http://0x7f.0.0.1/", false),
    ("a=1; Domain=0x7f.0.0.1", "http://0x7f.0.0.1/", "http://9.0x7f.0.0.1/", false),
    ("a=1; Domain=0x7f.0.0.1", "http://0x7f.0.0.1/", "http://0x7f.0.0.1/", true),
    ("a=1; Domain=b.1", "http://a.b.1/", "http://c.b.1/", false),
  ])
  func cookieIsSentOnlyWithinItsScope(_ line: String, _ from: String, _ to: String, _ isSent: Bool) throws {
    try store([line], from: from)
    #expect((try sent(to: to) != nil) == isSent, "\(line) from \(from) to \(to)")
  }

  @Test func cookiesAreHostOnlyWithoutSuffixList() throws {
    try store(["a=1; Domain=example.com", "b=2"], from: "https://www.example.com/", .unknown)
    #expect(try sent(to: "https://www.example.com/") == "a=1; b=2")
    #expect(try sent(to: "https://example.com/") == nil)
    #expect(try sent(to: "https://api.example.com/") == nil)
    try store(["a=1; Domain=example.com"], from: "https://example.com/", .unknown)
    #expect(try sent(to: "https://example.com/") == "a=1")
    #expect(try sent(to: "https://api.example.com/") == nil)
  }

  #if os(Linux)
    @Test(.enabled(if: Machine.hasLibrary("libpsl.so.5")))
    func systemSuffixListIsUsed() throws {
      let system = PublicSuffixes.system
      for suffix in ["com", "co.uk", "github.io", "xn--p1ai", "nowhere-such"] {
        #expect(system.contains(suffix) == true, "\(suffix)")
      }
      for name in ["example.com", "a.co.uk", "x.github.io"] { #expect(system.contains(name) == false, "\(name)") }
      #expect(system.registrableDomain("a.b.example.co.uk") == "example.co.uk")
      #expect(system.registrableDomain("co.uk") == nil)
      try store(["a=1; Domain=co.uk", "b=2; Domain=a.co.uk"], from: "https://www.a.co.uk/", system)
      #expect(try sent(to: "https://www.a.co.uk/") == "b=2")
      #expect(try sent(to: "https://b.co.uk/") == nil)
    }
  #endif

  @Test func plainHTTPDoesNotTouchSecureCookies() throws {
    try store(["sid=good; Secure; Domain=example.com; Path=/app"], from: "https://example.com/")
    // The same cookie, and those that would be sent in its place.
    for line in [
      "sid=evil; Domain=example.com; Path=/app", "sid=evil; Path=/app", "sid=evil; Path=/app/deeper",
      "sid=; Max-Age=0; Domain=example.com; Path=/app",
    ] {
      try store([line], from: "http://example.com/app/deeper/page")
      try store([line], from: "http://www.example.com/app/deeper/page")
    }
    #expect(try sent(to: "https://example.com/app/deeper/page") == "sid=good")
    #expect(try sent(to: "http://www.example.com/app/deeper/page") == nil)
    // One of another name, or of a path that is not within the secure one's, is harmless.
    try store(["other=1; Path=/app", "sid=2; Path=/"], from: "http://example.com/")
    #expect(try sent(to: "https://example.com/app") == "sid=good; other=1; sid=2")
    try store(["sid=new; Secure; Domain=example.com; Path=/app"], from: "https://example.com/")
    #expect(try sent(to: "https://example.com/app") == "sid=new; other=1; sid=2")
  }

  /// FoundationNetworking's storage reads `Secure` back from its file as false.
  @Test func secureCookieIsSecureAfterRestart() throws {
    try store(["sid=good; Secure; Max-Age=86400"], from: "https://example.com/")
    let storage = try #require(configuration.httpCookieStorage)
    for cookie in storage.cookies ?? [] {
      var properties = try #require(cookie.properties)
      properties[.secure] = nil
      storage.deleteCookie(cookie)
      storage.setCookie(try #require(HTTPCookie(properties: properties)))
    }
    #expect(storage.cookies?.map(\.isSecure) == [false])
    #expect(try sent(to: "http://example.com/") == nil)
    try store(["sid=evil"], from: "http://example.com/")
    #expect(try sent(to: "https://example.com/") == "sid=good")
  }

  /// FoundationNetworking's storage identifies cookies by domain, path and name without separators.
  @Test func secureCookieIsNotReplacedByOneOfTheSameKey() throws {
    try store(["session=good; Secure; Path=/"], from: "https://example.com/")
    for line in ["ession=x; Path=/s", "ession=; Path=/s; Max-Age=0", "session=evil; Path=/"] {
      try store([line], from: "http://example.com/")
    }
    #expect(try sent(to: "https://example.com/s") == "session=good")
  }

  /// Whose domain, path and name are of the same length together.
  @Test func otherCookieIsSetBesideSecureOne() throws {
    try store(["session=good; Secure; Path=/"], from: "https://example.com/")
    try store(["another=own; Path=/"], from: "http://example.com/")
    #expect(try sent(to: "https://example.com/") == "session=good; another=own")
  }

  @Test func cookiesAreOrderedByPathThenAge() throws {
    try store(["z=1; Path=/", "y=2; Path=/a", "x=3; Path=/", "w=4; Path=/a"], from: "https://example.com/")
    try store(["b=5; Path=/"], from: "https://example.com/")
    // Updating a cookie keeps its creation time.
    try store(["z=6; Path=/"], from: "https://example.com/")
    #expect(try sent(to: "https://example.com/a") == "y=2; w=4; z=6; x=3; b=5")
    // A removed cookie that is set again is new.
    try store(["z=; Path=/; Max-Age=0", "z=7; Path=/"], from: "https://example.com/")
    #expect(try sent(to: "https://example.com/") == "x=3; b=5; z=7")
  }

  @Test func lengthAndLifetimeLimits() throws {
    let value = String(repeating: "v", count: 4_095)
    try store(["a=\(value)", "b=\(value)x"], from: "https://example.com/")
    #expect(try sent(to: "https://example.com/") == "a=\(value)")
    // RFC 6265bis §5.6: an attribute that is too long is ignored.
    let path = "/" + String(repeating: "p", count: 1_017)
    try store(["c=1; Path=\(path)", "d=1; Path=\(path)p"], from: "https://example.com\(path)p")
    #expect(try sent(to: "https://example.com\(path)") == "c=1; a=\(value); d=1")
    try store(["a=; Max-Age=0", "d=; Max-Age=0", "c=; Max-Age=0; Path=\(path)"], from: "https://example.com/")
    try store(
      ["a=1; Max-Age=99999999999", "b=1; Expires=Fri, 31 Dec 9999 23:59:59 GMT"], from: "https://example.com/")
    let longest = Date().addingTimeInterval(400 * 86_400 + 60)
    for cookie in configuration.httpCookieStorage?.cookies ?? [] {
      #expect(try #require(cookie.expiresDate) <= longest)
    }
  }

  @Test func cookiesPerDomainAreLimited() throws {
    try store(["keep=1; Secure"], from: "https://example.com/")
    try store(["elsewhere=1"], from: "https://other.com/")
    for batch in 0..<4 {
      try store((0..<100).map { "n\(batch)x\($0)=1" }, from: "https://example.com/")
    }
    let names = try #require(try sent(to: "https://example.com/")).components(separatedBy: "; ")
    #expect(names.count == CookieJarState.mostOfADomain)
    #expect(names.first == "keep=1")
    #expect(names.last == "n3x99=1")
    #expect(!names.contains("n0x0=1"))
    #expect(try sent(to: "https://other.com/") == "elsewhere=1")
  }

  @Test(arguments: [
    // A request of the caller, or a redirect within its site, sends all of them.
    ("https://example.com/", "GET", nil, "s=1; l=2; n=3; d=4"),
    ("https://example.com/", "POST", "https://www.example.com/", "s=1; l=2; n=3; d=4"),
    // A redirect from another site.
    ("https://example.com/", "GET", "https://other.com/", "l=2; n=3; d=4"),
    ("https://example.com/", "GET", "http://example.com/", "l=2; n=3; d=4"),
    ("https://example.com/", "POST", "https://other.com/", "n=3; d=4"),
  ])
  func sameSite(_ url: String, _ method: String, _ start: String?, _ expected: String) throws {
    try store(
      ["s=1; SameSite=Strict", "l=2; SameSite=lax", "n=3; SameSite=None; Secure", "d=4"], from: "https://example.com/")
    #expect(try sent(to: url, method: method, start: start) == expected)
  }
}
