import Foundation
import Testing

@testable import EKNetwork

struct CacheRulesTests {
  private func fields(_ pairs: (String, String)...) -> HeaderFieldList {
    HeaderFieldList(pairs.map { (name: $0.0, value: $0.1) })
  }

  @Test func notModifiedUpdatesItsFields() {
    let stored = fields(
      ("ETag", "\"a\""), ("A", "1"), ("B", "1"), ("Content-Length", "3"), ("Age", "50"), ("Date", "x"))
    let update = fields(
      ("etag", "\"a\""), ("a", "2"), ("a", "3"), ("Content-Length", "9"), ("Connection", "C"), ("C", "4"),
      ("Content-Encoding", "br"), ("Authentication-Info", "nextnonce=2"), ("Set-Cookie", "a=1"))
    let now = Date(timeIntervalSince1970: 784_111_777)
    let result = Freshening.updated(stored, with: update, at: now)
    #expect(result.value("a") == "2, 3" && result.value("b") == "1" && result.value("content-length") == "3")
    #expect(!result.contains("c") && !result.contains("age") && !result.contains("content-encoding"))
    #expect(!result.contains("authentication-info") && !result.contains("set-cookie"))
    #expect(result.value("date") == "Sun, 06 Nov 1994 08:49:37 GMT")
  }

  @Test func notModifiedForOtherETagDoesNotApply() {
    #expect(!Freshening.applies(fields(("ETag", "\"b\"")), to: fields(("ETag", "\"a\""))))
    #expect(Freshening.applies(fields(), to: fields(("ETag", "\"a\""))))
    #expect(!Freshening.applies(fields(("ETag", "W/\"b\"")), to: fields(("ETag", "\"a\""))))
    #expect(Freshening.applies(fields(("ETag", "W/\"a\"")), to: fields(("ETag", "\"a\""))))
  }

  /// RFC 9111 §4.3.4.
  private static let validators: [(stored: [(String, String)], update: [(String, String)], applies: Bool)] = {
    let (date, other) = ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:38 GMT")
    let (old, plain) = ("Sunday, 06-Nov-94 08:49:37 GMT", [("Last-Modified", date)])
    let both = [("ETag", "\"a\""), ("Last-Modified", date)]
    return [
      (plain, [("Last-Modified", date)], true), (plain, [("Last-Modified", old)], true), (plain, [], true),
      (plain, [("Last-Modified", other)], false), (plain, [("ETag", "\"a\"")], false),
      (plain, [("ETag", "\"a\""), ("Last-Modified", date)], false), (plain, [("ETag", "W/\"a\"")], false),
      (plain, [("ETag", "W/\"a\""), ("Last-Modified", date)], true),
      (plain, [("Last-Modified", date), ("Last-Modified", other)], false),
      ([("ETag", "\"a\"")], [("Last-Modified", date)], false),
      (both, [("ETag", "\"a\""), ("Last-Modified", other)], true), (both, [("Last-Modified", other)], false),
      (both, [("Last-Modified", date)], true), (both, [("ETag", "\"a\""), ("ETag", "\"a\"")], true),
      (both, [("ETag", "\"a\""), ("ETag", "\"b\"")], false),
    ]
  }()

  @Test(arguments: validators)
  func notModifiedAppliesToItsVersion(
    _ row: (stored: [(String, String)], update: [(String, String)], applies: Bool)
  ) {
    func list(_ pairs: [(String, String)]) -> HeaderFieldList {
      HeaderFieldList(pairs.map { (name: $0.0, value: $0.1) })
    }
    #expect(Freshening.applies(list(row.update), to: list(row.stored)) == row.applies)
  }

  @Test(arguments: [
    ("en", "en"), ("en, de;q=0.5", "en"), ("de;q=0.5, EN", "en"), ("en, de", nil), ("*", nil), ("en;q=0", nil),
  ])
  func favouriteLanguage(_ value: String, _ language: String?) {
    #expect(WeightedPreferences(value).favourite == language)
  }

  @Test func connectionFieldsAreNotStored() {
    let kept = StoredFields.kept(
      of: fields(("Connection", "a, B"), ("A", "1"), ("b", "2"), ("C", "3"), ("Transfer-Encoding", "chunked")))
    #expect(kept == fields(("C", "3")))
  }

  @Test(arguments: [("chunked", nil), ("identity, Chunked", nil), ("identity", "2")])
  func overriddenLengthIsNotStored(_ coding: String, _ length: String?) {
    let kept = StoredFields.kept(of: fields(("Transfer-Encoding", coding), ("Content-Length", "2"), ("C", "3")))
    #expect(kept.value("content-length") == length)
    #expect(kept.value("c") == "3")
  }

  @Test func unsafeMethodsInvalidateTheirOwnOrigin() throws {
    let url = try #require(URL(string: "http://h/a/b"))
    let both = fields(("Location", "c"), ("Content-Location", "//other/d"))
    func urls(_ method: String, _ status: Int) -> [String] {
      Invalidation.urls(method: method, url: url, status: status, fields: both).map(\.absoluteString)
    }
    #expect(urls("POST", 201) == ["http://h/a/b", "http://h/a/c"])
    let sloppy = fields(("Location", "/c d%20"), ("Location", "/e|"), ("Content-Location", ""))
    #expect(
      Invalidation.urls(method: "POST", url: url, status: 201, fields: sloppy).map(\.absoluteString)
        == ["http://h/a/b", "http://h/c%20d%20", "http://h/e%7C"])
    #expect(urls("M-SEARCH", 302).count == 2)
    #expect(urls("PUT", 404).isEmpty && urls("DELETE", 500).isEmpty)
    for safe in ["GET", "HEAD", "OPTIONS", "TRACE"] { #expect(urls(safe, 200).isEmpty) }
    // Each of them is looked up on the disk.
    let flood = HeaderFieldList(
      (0..<1000).map { (name: "Location", value: "/\($0)") } + [(name: "Content-Location", value: "/last")])
    let invalidated = Invalidation.urls(method: "POST", url: url, status: 201, fields: flood)
    #expect(invalidated.count == 10 && invalidated.last?.path == "/last")
  }

  @Test func parsesByteRanges() {
    #expect(ByteRange("bytes=0-1")?.offsets(in: 11) == 0..<2)
    #expect(ByteRange("Bytes=1-")?.offsets(in: 11) == 1..<11)
    #expect(ByteRange("bytes=-1")?.offsets(in: 11) == 10..<11)
    #expect(ByteRange("bytes=-20")?.offsets(in: 11) == 0..<11)
    #expect(ByteRange("bytes=5-5")?.offsets(in: 11) == 5..<6)
    #expect(ByteRange("bytes=5-4") == nil)
    #expect(ByteRange("bytes=5-99")?.offsets(in: 11) == 5..<11)
    #expect(ByteRange("bytes=11-")?.offsets(in: 11) == nil)
    #expect(ByteRange("bytes=-0")?.offsets(in: 11) == nil)
    #expect(ByteRange("bytes=-5")?.offsets(in: 0) == nil)
    #expect(ByteRange("bytes=0-9223372036854775807")?.offsets(in: 11) == nil)
    for none in ["bytes=2-1", "bytes=0-1,3-4", "lines=0-1", "bytes=", "bytes=-", "bytes=a-b", "bytes=+1-2"] {
      #expect(ByteRange(none) == nil, "\(none)")
    }
  }

  @Test func cacheStatusTexts() {
    #expect(CacheStatus(remaining: 30.9).text == "EKNetwork; hit; ttl=30")
    #expect(CacheStatus(remaining: -0.5).text == "EKNetwork; hit; ttl=-1")
    #expect(
      CacheStatus(forward: .stale, forwardStatus: 304, isCollapsed: true, remaining: 5).text
        == "EKNetwork; fwd=stale; fwd-status=304; ttl=5; collapsed")
    #expect(CacheStatus(forward: .uriMiss, isStored: true).text == "EKNetwork; fwd=uri-miss; stored")
  }

  @Test func urlsAreNormalized() throws {
    func key(_ text: String) throws -> String { CacheLocation.key(of: try #require(URL(string: text))) }
    #expect(try key("HTTP://H.example:80#x") == "http://h.example/")
    #expect(try key("https://h:443/a?b=%2F") == "https://h/a?b=%2F")
    #expect(try key("https://h:80/a") == "https://h:80/a")
    #expect(try key("http://h/A") != key("http://h/a"))
    #expect(try key("http://h/a?") != key("http://h/a"))
    // The identity has the user. A `Location` that invalidates the URL does not repeat him.
    #expect(try key("http://user:word@H:80/a") == "http://h/a")
    #expect(try key("http+unix://%2FA/x") == "http+unix://%2FA/x")
  }
}
