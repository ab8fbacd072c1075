import Foundation
import Testing

@testable import EKNetwork

struct RequestHeadTests {
  @Test(arguments: [
    ("http://x", "/"), ("http://x/", "/"), ("http://x?a=b", "/?a=b"), ("http://x/a/b?c=d?e#f?g", "/a/b?c=d?e"),
    ("http://u:p@x:80/a//b/", "/a//b/"), ("http://x/a/./b/../c", "/a/c"), ("http://x/../..", "/"),
    ("http://x/a/..", "/"),
    ("http://x/.well-known/a..b", "/.well-known/a..b"), ("http://x/a?b=/../c", "/a?b=/../c"),
    ("http://x/%2e%2e/a%2Fb", "/%2e%2e/a%2Fb"), ("http://x/\u{7f}", "/%7F"),
    ("http://x/a b\r\nc\u{e9}", "/a%20b%0D%0Ac%C3%A9"),
  ])
  func targetIsPathAndQuery(_ url: String, _ target: String) {
    var bytes: [UInt8] = []
    var text = url
    text.withUTF8 { RequestHead.appendTarget(of: $0, to: &bytes) }
    #expect(String(decoding: bytes, as: UTF8.self) == target)
  }

  @Test(arguments: [
    ("http://A.b/", "a.b"), ("http://a:80/", "a"), ("https://a:443/", "a"), ("https://a/", "a"),
    ("http://a:443/", "a:443"), ("https://a:80/", "a:80"), ("https://a:8443/", "a:8443"),
    ("http://[::1]:81/", "[::1]:81"),
  ])
  func hostHasNoDefaultPort(_ url: String, _ host: String) throws {
    #expect(RequestHead.host(of: try #require(URL(string: url).flatMap { Origin($0) })) == host)
  }

  @Test func headHasEachFieldOnce() throws {
    let block = HeaderBlock([("A", "1"), ("Accept", "*/*")])
    let head = RequestHead.bytes(
      method: "PUT", url: try #require(URL(string: "http://x:81/a")), host: "x:81", block: block, length: 3)
    #expect(
      String(decoding: head, as: UTF8.self)
        == "PUT /a HTTP/1.1\r\nHost: x:81\r\nA: 1\r\nAccept: */*\r\nContent-Length: 3\r\n\r\n")
  }

  @Test(arguments: [
    ("http://u:p@x:81?a#b", "x:81", "http://x:81/?a"), ("http://[::1]/a/../b", "[::1]", "http://[::1]/b"),
  ])
  func proxyGetsTheWholeURL(_ url: String, _ host: String, _ target: String) throws {
    let head = RequestHead.bytes(
      method: "GET", url: try #require(URL(string: url)), host: host, isForwarded: true, block: HeaderBlock([]),
      length: nil)
    #expect(String(decoding: head, as: UTF8.self) == "GET \(target) HTTP/1.1\r\nHost: \(host)\r\n\r\n")
  }

  @Test func ownHostReplacesThatOfTheURL() throws {
    let block = HeaderBlock([("A", "1"), ("hOsT", "other")])
    let head = RequestHead.bytes(
      method: "GET", url: try #require(URL(string: "http://x/")), host: "x", block: block, length: nil)
    #expect(String(decoding: head, as: UTF8.self) == "GET / HTTP/1.1\r\nHost: other\r\nA: 1\r\n\r\n")
  }

  @Test(arguments: [("close", true), ("Close", true), ("TE, close", true), ("keep-alive", false), ("closed", false)])
  func closeIsRecognised(_ value: String, _ closes: Bool) {
    #expect(HeaderBlock([("connection", value)]).closes == closes)
  }

  @Test func bytesThatAreNoTextAreSentAsTheyAre() {
    let block = HeaderBlock([("Cookie", ObsoleteText.carried("a=\u{e9}".unicodeScalars))])
    #expect(block.bytes == Array("Cookie: a=".utf8) + [0xE9, 0x0D, 0x0A])
  }
}

#if os(Linux)
  /// Which fields are kept for the next request.
  struct CachedRequestFieldsTests {
    private let requestFields = RequestFields()

    /// Whether both are the same memory.
    private func isSame(_ one: HeaderBlock, _ other: HeaderBlock) -> Bool {
      one.bytes.withUnsafeBytes { one in other.bytes.withUnsafeBytes { one.baseAddress == $0.baseAddress } }
    }

    @Test func listsWithinTheLimitsAreCached() throws {
      for fields in [
        ["X-A": String(repeating: "a", count: 16_381)],
        HeaderFieldList((0..<64).map { ("X-\($0)", "1") }),
      ] {
        let first = try requestFields.block(for: fields, content: .none)
        #expect(isSame(try requestFields.block(for: fields, content: .none), first))
      }
    }

    @Test func largeListsAreNotCached() throws {
      for large in [
        ["X-A": String(repeating: "a", count: 16_384)],
        HeaderFieldList((0..<65).map { ("X-\($0)", "1") }),
      ] {
        let first = try requestFields.block(for: large, content: .none)
        #expect(!isSame(try requestFields.block(for: large, content: .none), first))
      }
    }
  }
#endif
