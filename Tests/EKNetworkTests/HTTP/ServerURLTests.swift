import Foundation
import Testing

@testable import EKNetwork

struct ServerURLTests {
  /// References relative to `http://a/b/c?q#f`, of which RFC 3986 allows none, or leaves the meaning open. What comes out
  /// decodes to what the WHATWG URL standard makes of it.
  private static let references: [(reference: String, url: String)] = [
    ("x?f[a]=%20", "http://a/b/x?f%5Ba%5D=%20"), ("x y%20", "http://a/b/x%20y%20"), ("x?a=%", "http://a/b/x?a=%25"),
    ("%zz%2g%41", "http://a/b/%25zz%252g%41"), ("x%2", "http://a/b/x%252"),
    ("\"<>^`{|}%22", "http://a/b/%22%3C%3E%5E%60%7B%7C%7D%22"),
    ("é/%C3%A9", "http://a/b/%C3%A9/%C3%A9"), ("x#a#b c%20", "http://a/b/x#a%23b%20c%20"),
    ("x?a?b", "http://a/b/x?a?b"),
    ("  x  ", "http://a/b/x"), ("/x\ty", "http://a/xy"), ("", "http://a/b/c?q"), ("#", "http://a/b/c?q#"),
    ("\\x\\y?\\#\\", "http://a/x/y?%5C#%5C"), ("\\\\h\\x", "http://h/x"), ("http:x", "http://a/b/x"),
    ("HTTP:/x", "http://a/x"), ("http:?y", "http://a/b/c?y"), ("http:\\\\h", "http://h"),
    ("/x/%2e%2E/y/%2e", "http://a/y/"), ("/x/.%2e", "http://a/"), ("http://h/x/../y", "http://h/y"),
    ("//h/../y", "http://h/y"),
    ("x/%2e%2e%2e/..;/.x", "http://a/b/x/%2e%2e%2e/..;/.x"), ("/x%2F..%2Fy", "http://a/x%2F..%2Fy"),
    ("/x//../y", "http://a/x/y"),
    ("//u@v:p@h/x", "http://u%40v:p@h/x"), ("//u p:%20{}@h", "http://u%20p:%20%7B%7D@h"),
    ("//h:8080/x y", "http://h:8080/x%20y"),
    ("//[::1]:80/[", "http://[::1]:80/%5B"),
    ("//b\u{fc}cher.example/\u{fc}%20", "http://xn--bcher-kva.example/%C3%BC%20"),
    ("//b%C3%BCcher.example:81/", "http://xn--bcher-kva.example:81/"), ("1:x", "http://a/b/1:x"),
    ("/a:b", "http://a/a:b"),
    ("app:x y%20\\", "app:x%20y%20%5C"), ("app://h/../x", "app://h/x"), ("mailto:a@b", "mailto:a@b"),
    ("ftp:\\\\h\\x", "ftp://h/x"),
    ("/\u{7f}\u{1}x", "http://a/%7F%01x"),
  ]

  @Test(arguments: references)
  func onlyWhatIsForbiddenIsEncoded(_ row: (reference: String, url: String)) throws {
    let base = try #require(URL(string: "http://a/b/c?q#f"))
    #expect(ServerURL.resolve(row.reference, against: base)?.absoluteString == row.url)
  }

  @Test(arguments: [
    "//h:65536/", "//h:x/", "//h h/", "//[::1/", "//h[/", "//a^b/", "//<h>/", "http://h:99999999999999999999/",
    "//[::1]:65536/", "//[::1]x/", "//h:+1/", "//h:8\u{e9}/", "//\u{fc}%2F.trusted.com/", "//\u{fc}%40other/",
    "//\u{fc}%3A80/",
  ])
  func invalidAuthoritiesAreNoURL(_ reference: String) throws {
    let base = try #require(URL(string: "http://a/b"))
    #expect(ServerURL.resolve(reference, against: base) == nil)
  }

  @Test(arguments: [("http://a/x y", "http://a/x%20y"), ("http://a/b/../c", "http://a/b/../c"), ("/x", nil), ("", nil)])
  func withoutBaseTheURLIsAbsolute(_ text: String, _ url: String?) {
    #expect(ServerURL.resolve(text)?.absoluteString == url)
  }

  /// Of a socket, the host is a path, which no name service knows.
  @Test func encodedHostOfAnotherSchemeStays() throws {
    let base = try #require(URL(string: "http+unix://%2Frun%2Ft%C3%A9st.sock/a/b"))
    #expect(ServerURL.resolve("../c", against: base)?.absoluteString == "http+unix://%2Frun%2Ft%C3%A9st.sock/c")
  }

  @Test func anyTextIsHandled() throws {
    let base = try #require(URL(string: "http://a/b"))
    var generator = SystemRandomNumberGenerator()
    let alphabet = Array("/\\:?#@%[]2e. ht\u{e9}\u{0}|")
    for _ in 0..<5_000 {
      let text = String((0..<Int.random(in: 0..<12)).compactMap { _ in alphabet.randomElement(using: &generator) })
      guard let url = ServerURL.resolve(text, against: base) else { continue }
      // It is stable: what was encoded is not encoded again.
      #expect(ServerURL.resolve(url.absoluteString, against: base) == url, "\(text.debugDescription)")
    }
  }
}

struct SingletonFieldTests {
  @Test(arguments: [
    ([], nil), ([""], nil), (["a"], "a"), (["a", "a"], "a"), (["", "a", "a"], "a"), (["a, b"], "a, b"),
  ])
  func equalLinesAreOne(_ lines: [String], _ value: String?) throws {
    #expect(try SingletonField.value(of: lines) == value)
  }

  @Test(arguments: [["a", "b"], ["a", "A"], ["", "a", "b"]])
  func differentLinesAreAConflict(_ lines: [String]) {
    #expect(throws: SingletonField.Conflict.self) { try SingletonField.value(of: lines) }
  }

  @Test(arguments: [
    ("5", "5"), ("5, 5", "5"), ("5,5,5", "5"), ("5, 6", "5, 6"), ("Sun, 06 Nov 1994", "Sun, 06 Nov 1994"),
    ("Sun, 06 Nov 1994, Sun, 06 Nov 1994", "Sun, 06 Nov 1994"), ("a, b, a", "a, b, a"), ("a,b", "a,b"),
    ("", ""), (",", ""),
  ])
  func joinedLinesAreSeparated(_ joined: String, _ value: String) {
    #expect(SingletonField.value(ofJoined: joined) == value)
  }

  @Test(arguments: [
    ("Text/HTML", "text/html"), ("text/html; charset=\"a,b\"", "text/html"), ("a/b; c=1, a/b", "a/b"),
    ("a/b; c=1, c/d", "a/b; c=1, c/d"), ("", ""),
  ])
  func mediaTypesOfRepeatedLinesAgree(_ field: String, _ type: String) { #expect(field.mediaType == type) }

  /// Different values of fields that only advise are as if they were missing.
  @Test func adviceThatContradictsItselfIsIgnored() throws {
    let url = try #require(URL(string: "http://a/"))
    func head(_ lines: String) throws -> ResponseHead {
      ResponseHead(try #require(RawHead(bytes: Array("HTTP/1.1 200 OK\r\n\(lines)\r\n\r\n".utf8), url: url)))
    }
    #expect(try head("Retry-After: 5\r\nRetry-After: 5").retryAfter == .seconds(5))
    #expect(try head("Retry-After: 5\r\nRetry-After: 6").retryAfter == nil)
    #expect(RetryAfter.delay("5, 5", now: Date()) == .seconds(5))
    #expect(RetryAfter.delay("5, 6", now: Date()) == nil)
    #expect(try head("Content-Length: 5\r\nContent-Length: 5").contentLength == 5)
    #expect(try head("Content-Length: 5, 5").contentLength == 5)
    let twice = try head("ETag: \"a\"\r\nETag: \"b\"\r\nContent-Range: bytes 0-1/2\r\nContent-Range: bytes 0-0/2")
    let download = DownloadHead(twice, status: 206)
    #expect(download.entityTag == nil && download.contentRange == nil)
    #expect(!ResponseValidators(twice.fields).exist)
    let same = try head("ETag: \"a\"\r\nETag: \"a\"")
    #expect(DownloadHead(same, status: 200).entityTag == "\"a\"")
    #expect(ResponseValidators(same.fields).entityTag == "\"a\"")
  }
}
