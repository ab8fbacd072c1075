import Testing

@testable import EKNetwork

@Suite struct ResponseHeadParserTests {
  private func parse(_ lines: [String], method: String = "GET") -> [ResponseHeadParser.Action] {
    var parser = ResponseHeadParser(url: URL(string: "http://x/")!, method: method, mayUseHTTP2: false)
    return lines.map { line in Array(line.utf8).withUnsafeBytes { parser.line($0, isHTTP2: false) } }
  }

  private func head(_ lines: [String]) -> RawHead? {
    for case .head(let head) in parse(lines) { return head }
    return nil
  }

  private func failure(_ lines: [String]) -> URLError.Code? {
    for case .failure(let code, _) in parse(lines) { return code }
    return nil
  }

  /// Whether a request may be sent again depends on it.
  @Test func parserIsEmptyAfterAnInterimResponse() throws {
    var parser = ResponseHeadParser(url: URL(string: "http://x/")!, method: "GET", mayUseHTTP2: false)
    var seen = [parser.isEmpty]
    for line in ["HTTP/1.1 103 Early Hints\r\n", "\r\n", "HTTP/1.1 200 OK\r\n", "\r\n"] {
      _ = Array(line.utf8).withUnsafeBytes { parser.line($0, isHTTP2: false) }
      seen.append(parser.isEmpty)
    }
    #expect(seen == [true, false, true, false, false])
  }

  @Test func interimResponsesAreSkipped() {
    let head = head([
      "HTTP/1.1 103 Early Hints\r\n", "Link: x\r\n", "\r\n", "HTTP/1.1 100 Continue\r\n", "\r\n",
      "HTTP/1.1 201 Created\r\n", "A: b\r\n", "\r\n",
    ])
    #expect(head?.statusCode == 201)
    #expect(head?.joinedFields == ["A": "b"])
  }

  @Test func interimResponsesAreLimited() {
    let interim = ["HTTP/1.1 102 Processing\r\n", "A: \(String(repeating: "b", count: 992))\r\n", "\r\n"]
    let most = Array(repeating: interim, count: 300).flatMap { $0 }
    #expect(most.joined().utf8.count == ResponseHeadRules.maximumSize)
    #expect(failure(most) == nil)
    #expect(head(most + ["HTTP/1.1 200 OK\r\n", "\r\n"])?.statusCode == 200)
    #expect(failure(most + ["HTTP/1.1 103\r\n", "\r\n"]) == .dataLengthExceedsMaximum)
  }

  @Test func headSizeLimitIsInclusive() {
    let (start, end) = ("HTTP/1.1 200 OK\r\n", "\r\n")
    func lines(size: Int) -> [String] {
      [start, "A: " + String(repeating: "b", count: size - start.utf8.count - 3 - 2 - end.utf8.count) + "\r\n", end]
    }
    #expect(head(lines(size: ResponseHeadRules.maximumSize)) != nil)
    #expect(failure(lines(size: ResponseHeadRules.maximumSize + 1)) == .dataLengthExceedsMaximum)
  }

  /// libcurl keeps them all, for as long as they come.
  @Test func trailersAreLimited() {
    let lines =
      ["HTTP/1.1 200 OK\r\n", "\r\n"] + Array(repeating: "A: \(String(repeating: "b", count: 1_019))\r\n", count: 300)
    #expect(failure(lines) == nil)
    #expect(failure(lines + ["\r\n"]) == .dataLengthExceedsMaximum)
  }

  @Test func trailersStayOutOfTheHead() {
    let actions = parse(["HTTP/1.1 200 OK\r\n", "\r\n", "X-Trailer: 1\r\n", "\r\n"])
    guard case .head(let head) = actions[1], case .none = actions[2], case .none = actions[3] else {
      Issue.record("\(actions)")
      return
    }
    #expect(head.fields.isEmpty)
  }

  @Test(arguments: [
    ["Content-Length: 1\r\n", "Content-Length: 2\r\n"], ["Content-Length: 1, 2\r\n"], ["Content-Length: -1\r\n"],
    ["Content-Length: abc\r\n"], ["Content-Length: 99999999999999999999\r\n"], ["Content-Length:\r\n"],
  ])
  func invalidContentLengthIsRefused(_ fields: [String]) {
    #expect(failure(["HTTP/1.1 200 OK\r\n"] + fields + ["\r\n"]) == .badServerResponse)
  }

  @Test(arguments: [
    ["Content-Length: 5\r\n", "content-length: 5\r\n"], ["Content-Length: 5, 5\r\n"],
    ["Content-Length: 5\r\n", "Content-Length: 6\r\n", "Transfer-Encoding: chunked\r\n"],
    ["Content-Length: 9223372036854775807\r\n"],
  ])
  func consistentContentLengthIsAccepted(_ fields: [String]) {
    #expect(head(["HTTP/1.1 200 OK\r\n"] + fields + ["\r\n"])?.statusCode == 200)
  }

  /// RFC 9110 §5.6.3: only spaces and tabs surround a value. The lower case of the Kelvin sign is an ASCII letter.
  @Test(arguments: [
    "Transfer-Encoding: chun\u{212a}ed\r\n", "Transfer-Encoding: \u{a0}chunked\r\n", "Content-Length: 5\u{a0}\r\n",
  ])
  func charactersThatOnlyLookLikeFramingAreRefused(_ field: String) {
    #expect(failure(["HTTP/1.1 200 OK\r\n", field, "\r\n"]) == .badServerResponse)
  }

  @Test func unrequestedProtocolSwitchIsRefused() {
    #expect(failure(["HTTP/1.1 101 Switching\r\n", "\r\n"]) == .badServerResponse)
  }

  /// RFC 9113 §3.2: with TLS it is negotiated, without TLS it is not used.
  @Test(arguments: ["HTTP/2 200 \r\n", "HTTP/2.0 200 OK\r\n", "HTTP/3 200 \r\n"])
  func unnegotiatedVersionIsRefused(_ line: String) {
    for (mayUseHTTP2, isHTTP2) in [(false, false), (false, true), (true, false), (true, true)] {
      var parser = ResponseHeadParser(url: URL(string: "https://x/")!, method: "GET", mayUseHTTP2: mayUseHTTP2)
      let actions = [line, "\r\n"].map { line in
        Array(line.utf8).withUnsafeBytes { parser.line($0, isHTTP2: isHTTP2) }
      }
      let isHead = if case .head = actions[1] { true } else { false }
      let isRefused = if case .wrongVersion = actions[0] { true } else { false }
      #expect(isHead == (mayUseHTTP2 && isHTTP2 && line.hasPrefix("HTTP/2")))
      #expect(isRefused != isHead)
    }
  }

  @Test func unfinishedHeadIsLimited() {
    let line = "A: " + String(repeating: "x", count: 1_000) + "\r\n"
    #expect(failure(["HTTP/1.1 200 OK\r\n"] + Array(repeating: line, count: 400)) == .dataLengthExceedsMaximum)
  }

  /// RFC 9112 §2.3: the name of the protocol is case-sensitive, and a digit follows it.
  @Test(arguments: [
    "Http/1.1 404 No\r\n", "http/1.1 200 OK\r\n", "Http/2 200 \r\n", "HTTP/x.1 200 OK\r\n", "HTTP/", " a: b\r\n",
  ])
  func firstLineIsAStatusLine(_ line: String) {
    #expect(failure([line, "\r\n"]) == .badServerResponse)
    #expect(failure(["HTTP/1.1 103 Early Hints\r\n", "\r\n", line, "\r\n"]) == .badServerResponse)
  }

  /// It is no field (RFC 9110 §5.1), and what follows it would be another response.
  @Test(arguments: ["HTTP/1.1 404 Not Found\r\n", "HTTP/2 500 \r\n", "HTTP/x: y\r\n"])
  func secondStatusLineIsRefused(_ line: String) {
    #expect(failure(["HTTP/1.1 200 OK\r\n", line]) == .badServerResponse)
    #expect(failure(["HTTP/1.1 200 OK\r\n", "A: b\r\n", line]) == .badServerResponse)
    #expect(head(["HTTP/1.1 200 OK\r\n", "HTTP-A: b\r\n", "\r\n"])?.joinedFields == ["HTTP-A": "b"])
  }

  /// Some versions of libcurl copy the whole value for each.
  @Test(arguments: [" x\r\n", "\tx\r\n", " \r\n"])
  func foldedLinesAreLimited(_ line: String) {
    let folds = Array(repeating: line, count: ResponseHeadRules.maximumFolds)
    let start = ["HTTP/1.1 200 OK\r\n", "A: b\r\n"]
    #expect(head(start + folds + ["\r\n"])?.statusCode == 200)
    #expect(failure(start + folds + [line]) == .badServerResponse)
    #expect(failure(start + ["\r\n", "T: u\r\n"] + folds) == nil)
    #expect(failure(start + ["\r\n", "T: u\r\n"] + folds + [line]) == .badServerResponse)
    #expect(failure(["HTTP/1.1 103 a\r\n", "A: b\r\n"] + folds + ["\r\n"] + start + [line]) == .badServerResponse)
  }

  /// RFC 9112 §6.3: a response without a body ends with its head.
  @Test(
    arguments: ["Transfer-Encoding: zip\r\n", "Transfer-Encoding: gzip, chunked\r\n", "Content-Length: 1, 2\r\n"],
    [("HEAD", 200), ("GET", 304), ("POST", 204), ("GET", 200)])
  func fieldsOfABodyThatIsNotThereAreIgnored(_ field: String, _ exchange: (method: String, status: Int)) {
    let actions = parse(["HTTP/1.1 \(exchange.status) a\r\n", field, "\r\n"], method: exchange.method)
    let isHead = if case .head = actions[2] { true } else { false }
    #expect(isHead == ((exchange.method, exchange.status) != ("GET", 200)))
  }

  @Test func bareLineFeedsEndLines() {
    #expect(head(["HTTP/1.1 200 OK\n", "A: b\n", "\n"])?.joinedFields == ["A": "b"])
  }
}
