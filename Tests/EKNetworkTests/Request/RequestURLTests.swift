import Testing

@testable import EKNetwork

struct RequestURLTests {
  private func url(
    _ base: String, _ path: String, encoded: Bool = false, query: [String: String]? = nil,
    ordered: [URLQueryItem]? = nil
  ) throws -> String {
    let base = try #require(URL(string: base))
    return try RequestURL.make(
      base: base, path: path, pathIsPercentEncoded: encoded, queryParameters: query, orderedQuery: ordered
    ).absoluteString
  }

  @Test func orderedQueryFollows() throws {
    let items = ["b", "a", "b"].enumerated().map { URLQueryItem(name: $1, value: "\($0)") }
    let flag = URLQueryItem(name: "flag", value: nil)
    let empty = URLQueryItem(name: "x", value: "")
    #expect(try url("https://h", "p", ordered: items) == "https://h/p?b=0&a=1&b=2")
    #expect(
      try url("https://h/?q=1", "p", query: ["z": "9", "c": "8"], ordered: items)
        == "https://h/p?q=1&c=8&z=9&b=0&a=1&b=2")
    #expect(try url("https://h/?q=1&", "p", ordered: [flag, empty, flag]) == "https://h/p?q=1&flag&x=&flag")
    #expect(try url("https://h/?", "p", ordered: [flag]) == "https://h/p?flag")
    #expect(try url("https://h/?", "p", query: ["a": "1"]) == "https://h/p?a=1")
    #expect(try url("https://h", "p", query: [:], ordered: []) == "https://h/p")
    #expect(
      try url("https://h/?q=what?", "p", query: ["a": "1"], ordered: [flag]) == "https://h/p?q=what?&a=1&flag")
    #expect(try url("https://h/??", "p", ordered: [flag]) == "https://h/p??&flag")
    #expect(try url("https://h/?", "p", query: ["a": "1"], ordered: [flag]) == "https://h/p?a=1&flag")
    let hostile = URLQueryItem(name: "a&b=c", value: "é +;#\r\n\0%")
    #expect(try url("https://h", "p", ordered: [hostile]) == "https://h/p?a%26b%3Dc=%C3%A9%20%2B%3B%23%0D%0A%00%25")
  }

  @Test(arguments: [
    ("https://h", "a", "https://h/a"),
    ("https://h", "/a", "https://h/a"),
    ("https://h/", "a", "https://h/a"),
    ("https://h/", "/a", "https://h/a"),
    ("https://h/api", "a/b", "https://h/api/a/b"),
    ("https://h/api/", "/a/b/", "https://h/api/a/b/"),
    ("https://h/api//", "//a//b", "https://h/api/a//b"),
    ("https://h", "//evil.example/x", "https://h/evil.example/x"),
    ("https://h/api", "", "https://h/api"),
    ("https://h/api/", "", "https://h/api/"),
    ("https://h", "", "https://h"),
    ("https://h/api", "/", "https://h/api/"),
    ("https://h/api", "//", "https://h/api/"),
    ("https://h", "a..b/..c/d../...", "https://h/a..b/..c/d../..."),
    ("https://h", "a/./b", "https://h/a/./b"),
    ("https://h/a%2Fb", "c", "https://h/a%2Fb/c"),
  ])
  func joinsWithOneSlash(base: String, path: String, expected: String) throws {
    #expect(try url(base, path) == expected)
  }

  @Test(arguments: [
    ("a b", "a%20b"), ("a%b", "a%25b"), ("a%2Fb", "a%252Fb"), ("a?b#c", "a%3Fb%23c"), ("a[b]", "a%5Bb%5D"),
    ("é", "%C3%A9"), ("日本", "%E6%97%A5%E6%9C%AC"), ("😀", "%F0%9F%98%80"), ("a\\b", "a%5Cb"),
    ("a\"<>^`{|}b", "a%22%3C%3E%5E%60%7B%7C%7Db"),
    ("a\r\nb\0", "a%0D%0Ab%00"), ("-._~!$&'()*+,;=:@", "-._~!$&'()*+,;=:@"), ("x:y", "x:y"), ("\u{7F}", "%7F"),
  ])
  func encodesNonPathCharacters(path: String, expected: String) throws {
    #expect(try url("https://h", path) == "https://h/" + expected)
  }

  @Test(arguments: ["a%2Fb", "a%2fb", "%E2%82%AC", "a%25", "%00", "a;b=c/d@e"])
  func takesAnEncodedPathVerbatim(path: String) throws {
    #expect(try url("https://h/api", path, encoded: true) == "https://h/api/" + path)
  }

  @Test(arguments: ["a b", "a%", "a%2", "a%G0", "%%41", "é", "a?b", "a#b", "a[b", "a\\b", "a\nb", "a%2", "\""])
  func refusesInvalidEncodedPath(path: String) throws {
    #expect(throws: NetworkError.invalidURL) { try url("https://h", path, encoded: true) }
  }

  @Test(
    arguments: [
      "..", "/..", "../a", "a/..", "a/../b", "a/..//b", "%2e%2e", "%2E%2e/a", ".%2e", "%2e.", "a/%2e%2e/b",
      "%252e%252e", "%25252e.", "%252525252e%2e", "a%2f..%2fb", "a%2F%2e%2E%2Fb", "a%5c..%5Cb", "a%255c..", "a\\..\\b",
      "..\\a", "..%2f", "..%252f", "..%5c", "a/..;x=1/b", "a/..%3bx/b", "%2%65%2%65", "%25%32%65.",
    ], [true, false])
  func refusesParentSegments(path: String, encoded: Bool) throws {
    #expect(throws: NetworkError.invalidURL) { try url("https://h/api", path, encoded: encoded) }
  }

  @Test(arguments: [
    "a..b", "..a", "a..", "...", "....", ".", "a/./b", "%2e", "%252e", "a%2e%2eb", "..%20", "%2e%2e%2e", ";..",
  ])
  func allowsOtherDots(path: String) throws {
    _ = try url("https://h/api", path)
    _ = try url("https://h/api", path, encoded: true)
  }

  @Test func decodesNestedEncodingInLinearTime() throws {
    let disguise = "%" + String(repeating: "25", count: 200_000) + "2e"
    #expect(throws: NetworkError.invalidURL) { try url("https://h", disguise + ".", encoded: true) }
    _ = try url("https://h", disguise, encoded: true)
  }

  @Test(arguments: [
    "relative/path", "/path", "//h/path", "mailto:a@b", "https:", "https:/x", "https:///x", "file:///x", "http://:80/",
    "http://user@/", "http://user@:80/", "?a=http://h", "http://?q", "http://#f",
  ])
  func refusesABaseWithoutSchemeOrHost(base: String) throws {
    // The platform's parser may refuse it already.
    guard let base = URL(string: base) else { return }
    #expect(throws: NetworkError.invalidURL) {
      try RequestURL.make(base: base, path: "a", pathIsPercentEncoded: false, queryParameters: nil)
    }
  }

  @Test(arguments: [
    "https://user:pa%40ss@h:8443/api", "http://[::1]/api", "http://[::1]:8080/api", "http://[fe80::1%25en0]:80/api",
    "http://127.0.0.1:1/api", "http://u@[::1]:5/api", "https://xn--bcher-kva.example/api", "custom+x.y-z://h/api",
  ])
  func keepsTheAuthority(base: String) throws {
    #expect(try url(base, "a b") == base + "/a%20b")
  }

  @Test func resolvesARelativeBase() throws {
    let base = try #require(URL(string: "v2/", relativeTo: URL(string: "https://h/api/")))
    let url = try RequestURL.make(base: base, path: "a", pathIsPercentEncoded: false, queryParameters: nil)
    #expect(url.absoluteString == "https://h/api/v2/a")
  }

  @Test(arguments: [
    ("https://h/p?k=1", ["b": "2", "a": "1"], "https://h/p/x?k=1&a=1&b=2"),
    ("https://h/p?k=1&", ["a": "1"], "https://h/p/x?k=1&a=1"),
    ("https://h/p?", ["a": "1"], "https://h/p/x?a=1"),
    ("https://h/p?k=%2B+&z#frag", ["a": "1"], "https://h/p/x?k=%2B+&z&a=1"),
    ("https://h/p#frag", ["a": "1"], "https://h/p/x?a=1"),
    ("https://h/p#frag?no", [:], "https://h/p/x"),
    ("https://h/p?k=1#frag", [:], "https://h/p/x?k=1"),
    ("https://h/p?k=a?b/c", ["a": "1"], "https://h/p/x?k=a?b/c&a=1"),
    ("https://h?k=1", ["a": "1"], "https://h/x?k=1&a=1"),
    ("https://h", ["": "", "a": ""], "https://h/x?=&a="),
  ])
  func keepsTheBaseQueryFirst(base: String, query: [String: String], expected: String) throws {
    #expect(try url(base, "x", query: query) == expected)
  }

  @Test func encodesReservedQueryCharacters() throws {
    let query = ["n+&=;#": "a b+c&d=e;f#g/?:@!$'()*,[]%é😀\r\n\0-._~"]
    let expected =
      "https://h/?n%2B%26%3D%3B%23=a%20b%2Bc%26d%3De%3Bf%23g%2F%3F%3A%40%21%24%27%28%29%2A%2C%5B%5D%25%C3%A9"
      + "%F0%9F%98%80%0D%0A%00-._~"
    #expect(try url("https://h/", "", query: query) == expected)
  }

  @Test func sortsTheQueryByName() throws {
    let names = (0..<50).map { "k\($0)" }
    let query = Dictionary(uniqueKeysWithValues: names.map { ($0, "v") })
    #expect(
      try url("https://h", "x", query: query) == "https://h/x?"
        + names.sorted().map { $0 + "=v" }.joined(separator: "&"))
  }

  @Test func roundTripsRandomStringsThroughTheQuery() throws {
    var random = HostileStrings(seed: 1)
    for _ in 0..<10_000 {
      let query = random.nextPairs()
      let text = try url("https://h/p?base=1", "x", query: query)
      #expect(text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F })
      let pairs = FormDecoder.pairs(String(text.drop { $0 != "?" }.dropFirst()), plusIsSpace: false)
      #expect(pairs.first?.0 == "base")
      #expect(Dictionary(uniqueKeysWithValues: pairs.dropFirst().map { ($0.0, $0.1) }) == query)
    }
  }

  @Test func neverCrashesOnRandomPaths() throws {
    var random = HostileStrings(seed: 2)
    for _ in 0..<10_000 {
      let path = random.next() + "/" + random.next()
      for encoded in [false, true] {
        guard let text = try? url("https://h:1/base", path, encoded: encoded) else { continue }
        #expect(text.hasPrefix("https://h:1/base/"))
        #expect(!text.contains("?") && !text.contains("#"))
        let decoded = FormDecoder.decode(String(text.dropFirst("https://h:1/base".count)), plusIsSpace: false)
        #expect(!decoded.split(separator: "/").contains(".."))
        if !encoded { #expect(decoded == "/" + path.drop { $0 == "/" }) }
      }
    }
  }
}
