#if os(Linux)
  import Foundation
  import Testing

  @testable import EKNetwork

  struct HTTP2RequestHeadTests {
    private func fields(
      _ fields: [(name: String, value: String)], url: String = "https://a.example/b?c", method: String = "GET",
      length: Int64? = nil
    ) throws -> [String] {
      let url = try #require(URL(string: url))
      let origin = try #require(Origin(url))
      let head = RequestHead.bytes(
        method: method, url: url, host: RequestHead.host(of: origin), block: HeaderBlock(fields), length: length)
      return HTTP2RequestHead(head, isSecure: url.scheme == "https").fields.map { "\($0.name): \($0.value)" }
    }

    /// RFC 9113 §8.3.1.
    @Test func pseudoFieldsComeFirst() throws {
      #expect(
        try fields([("Accept", "*/*"), ("X-Mixed-Case", "As Is")], url: "https://a.example:81/b%20c?d=e")
          == [
            ":method: GET", ":scheme: https", ":authority: a.example:81", ":path: /b%20c?d=e", "accept: */*",
            "x-mixed-case: As Is",
          ])
      #expect(
        try fields([], url: "http://a.example", method: "POST", length: 3)
          == [":method: POST", ":scheme: http", ":authority: a.example", ":path: /", "content-length: 3"])
    }

    @Test func ownHostIsTheAuthority() throws {
      #expect(try fields([("Host", "b.example")]).contains(":authority: b.example"))
      #expect(try !fields([("Host", "b.example")]).contains { $0.hasPrefix("host") })
    }

    /// RFC 9113 §8.2.2.
    @Test(arguments: [
      ("Connection", "close"), ("Keep-Alive", "timeout=5"), ("Proxy-Connection", "keep-alive"),
      ("Transfer-Encoding", "chunked"), ("Upgrade", "h2c"), ("TE", "gzip"),
    ])
    func fieldsOfTheConnectionAreLeftOut(_ name: String, _ value: String) throws {
      #expect(try fields([(name, value), ("A", "b")]).dropFirst(4) == ["a: b"])
    }

    @Test func fieldsThatConnectionNamesAreLeftOut() throws {
      #expect(
        try fields([("X-A", "1"), ("Connection", "x-a, X-B"), ("X-B", "2"), ("X-C", "3")]).dropFirst(4) == ["x-c: 3"])
    }

    @Test func connectionCannotNamePseudoFields() throws {
      #expect(try fields([("Connection", ":path, :method"), ("A", "b")]).count == 5)
    }

    @Test func trailersMayBeAnnounced() throws { #expect(try fields([("TE", "trailers")]).last == "te: trailers") }

    /// RFC 9113 §8.1.
    @Test func trailersHaveNoPseudoFields() throws {
      let lines = try RequestTrailers.lines(of: ["X-Sum": "1", "x-sum": "", "Y": "a: b"])
      #expect(
        HTTP2RequestHead(trailers: lines).fields.map { "\($0.name): \($0.value)" } == [
          "x-sum: 1", "x-sum: ", "y: a: b",
        ])
    }

    @Test func valuesMayBeEmptyOrHaveColons() throws {
      #expect(try fields([("A", ""), ("B", "c: d")]).dropFirst(4) == ["a: ", "b: c: d"])
    }

    @Test(arguments: ["", "\r\n", "GET", "GET /\r\n", "GET / HTTP/1.1", "GET / HTTP/1.1\r\nA", "\r", "A: b\r\n\r\n"])
    func whatIsNoHeadIsNoTrap(_ head: String) {
      #expect(HTTP2RequestHead(Array(head.utf8), isSecure: true).fields.count >= 4)
    }
  }
#endif
