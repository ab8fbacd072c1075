import Testing

@testable import EKNetwork

struct ResponseParserTests {
  struct Sample: CustomTestStringConvertible {
    var method = "GET"
    let text: String
    /// The description of the transcript, in which `end` stands for the end of the text.
    let outcome: String
    var trailers: [String] = []
    var expectedLength: Int64?

    var testDescription: String { "\(method) \(text.debugDescription)" }
  }

  private static let withLength: [Sample] = [
    Sample(
      text: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", outcome: #"200 "hello" end, persistent"#,
      expectedLength: 5),
    Sample(
      text: "HTTP/1.1 200\ncontent-length:5\n\nhello", outcome: #"200 "hello" end, persistent"#, expectedLength: 5),
    Sample(
      text: "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", outcome: "404 end, persistent", expectedLength: 0),
    Sample(
      text: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2, 2\r\n\r\nab",
      outcome: #"200 "ab" end, persistent"#, expectedLength: 2),
    Sample(
      text: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: x, Close\r\n\r\nab", outcome: #"200 "ab" end"#,
      expectedLength: 2),
    Sample(
      text: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\nConnection: \"x, close\r\n\r\nab",
      outcome: #"200 "ab" end"#, expectedLength: 2),
    Sample(text: "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nab", outcome: #"200 "ab" end"#, expectedLength: 2),
    Sample(
      text: "HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: Keep-Alive\r\n\r\nab",
      outcome: #"200 "ab" end, persistent"#, expectedLength: 2),
    Sample(
      text: "HTTP/1.9 200 OK\r\nContent-Length: 2\r\n\r\nab", outcome: #"200 "ab" end, persistent"#, expectedLength: 2),
    Sample(
      text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 2\r\n\r\nab", outcome: #"200 "ab" end"#,
      expectedLength: 2),
    Sample(
      text: "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
        + "HTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\na",
      outcome: #"103 100 201 "a" end, persistent"#, expectedLength: 1),
    Sample(
      text: "HTTP/1.1 103 Early Hints\r\nContent-Length: 1, 2\r\nTransfer-Encoding: zip\r\n\r\n"
        + "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na",
      outcome: #"103 200 "a" end, persistent"#, expectedLength: 1),
  ]

  private static let chunked: [Sample] = [
    Sample(
      text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n00A\r\n, world!\r\n\r\n0\r\n\r\n",
      outcome: "200 \"hello, world!\r\n\" end, persistent"),
    Sample(text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n", outcome: "200 end, persistent"),
    Sample(
      text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity, chunked\r\n\r\n1;a=\"b\" ; c\r\nx\r\n0 ;a\r\n\r\n",
      outcome: #"200 "x" end, persistent"#),
    Sample(
      text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1   \r\nx\r\n000000000000000000000 \t\r\n\r\n",
      outcome: #"200 "x" end, persistent"#),
    Sample(
      text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nA: b\r\na:  c \r\n\r\n",
      outcome: #"200 "x" end, persistent"#, trailers: ["A=b", "a=c"]),
    Sample(
      text: "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n1\r\nx\r\n0\r\n\r\n",
      outcome: #"200 "x" end"#),
    Sample(
      text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n1\r\nx\r\n0\r\n\r\n",
      outcome: #"200 "x" end"#),
  ]

  private static let untilClose: [Sample] = [
    Sample(text: "HTTP/1.1 200 OK\r\n\r\nabc", outcome: #"200 "abc" closed: complete"#),
    Sample(text: "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n\r\n", outcome: "200 closed: complete"),
    Sample(text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\na", outcome: #"200 "a" closed: complete"#),
  ]

  private static let withoutBody: [Sample] = [
    Sample(method: "HEAD", text: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", outcome: "200 end, persistent"),
    Sample(
      method: "HEAD", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", outcome: "200 end, persistent"),
    Sample(method: "HEAD", text: "HTTP/1.1 200 OK\r\n\r\n", outcome: "200 end, persistent"),
    Sample(text: "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", outcome: "304 end, persistent"),
    Sample(text: "HTTP/1.1 204 No Content\r\n\r\n", outcome: "204 end, persistent"),
    Sample(text: "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", outcome: "204 end, persistent"),
    Sample(text: "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", outcome: "204 end"),
    Sample(text: "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", outcome: "204 end"),
    Sample(method: "CONNECT", text: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", outcome: "200 end"),
    Sample(
      method: "CONNECT", text: "HTTP/1.1 407 No\r\nContent-Length: 1\r\n\r\na", outcome: #"407 "a" end, persistent"#,
      expectedLength: 1),
  ]

  private static let cutOff: [Sample] = [
    Sample(text: "", outcome: "closed: nothing"),
    Sample(text: "HTTP/1.1 100 Continue\r\n\r\n", outcome: "100 closed: nothing"),
    Sample(text: "HTTP/1.1 100 Continue\r\n\r\nH", outcome: "100 closed: inHead"),
    Sample(text: "HTTP/1.1 200 OK\r\nA: b\r\n", outcome: "closed: inHead"),
    Sample(
      text: "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", outcome: #"200 "ab" closed: inBody"#, expectedLength: 3),
    Sample(text: "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", outcome: "200 closed: inBody", expectedLength: 3),
    Sample(text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", outcome: "200 closed: inBody"),
    Sample(text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\na", outcome: #"200 "a" closed: inBody"#),
    Sample(text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", outcome: "200 closed: inBody"),
    Sample(text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n", outcome: "200 closed: inBody"),
  ]

  @Test(arguments: withLength + chunked + untilClose + withoutBody + cutOff)
  func framingDecidesWhereTheResponseEnds(_ sample: Sample) {
    let whole = ResponseTranscript(sample.text, method: sample.method)
    let length = sample.text.utf8.count
    #expect(whole.description == sample.outcome.replacing(" end", with: " end at \(length)"))
    #expect(whole.trailers == sample.trailers)
    #expect(whole.expectedLength == sample.expectedLength)
    for split in 0...length {
      #expect(ResponseTranscript(sample.text, method: sample.method, splits: [split]) == whole, "split at \(split)")
    }
    #expect(ResponseTranscript(sample.text, method: sample.method, splits: 0..<length) == whole)
  }

  @Test(arguments: withLength + chunked + untilClose + withoutBody + cutOff)
  func bodyNeedNotBeParsed(_ sample: Sample) {
    let whole = ResponseTranscript(sample.text, method: sample.method)
    let length = sample.text.utf8.count
    for splits in (0...length).map({ $0..<($0 + 1) }) + [0..<length] {
      #expect(ResponseTranscript(sample.text, method: sample.method, splits: splits, passesBody: true) == whole)
    }
  }

  @Test(arguments: withLength + chunked + withoutBody)
  func bytesBehindTheEndAreLeft(_ sample: Sample) {
    let length = sample.text.utf8.count
    let transcript = ResponseTranscript(sample.text + "HTTP/1.1 200 OK\r\n\r\n", method: sample.method)
    #expect(transcript.length == length)
    #expect(transcript == ResponseTranscript(sample.text, method: sample.method))
  }

  @Test func fieldsAreThoseOfTheFinalHead() {
    let text = "HTTP/1.1 103 a\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nC: d\r\nContent-Length: 0\r\n\r\n"
    for splits in [0..<0, 0..<text.utf8.count] {
      let heads = ResponseTranscript(text, splits: splits).heads
      #expect(heads.map(\.joinedFields) == [["A": "b"], ["C": "d", "Content-Length": "0"]])
    }
  }

  /// The fields, and how long the connection may be idle.
  private static let keepAlives: [(String, Duration?)] = [
    ("Connection: keep-alive\r\nKeep-Alive: timeout=5", .seconds(4)),
    ("CONNECTION: X, Keep-Alive\r\nKEEP-ALIVE:Timeout=2", .seconds(1)),
    ("Connection: keep-alive\r\nKeep-Alive: max=7, , timeout=30 ", .seconds(29)),
    ("Connection: keep-alive\r\nKeep-Alive: timeout=1,max=7", .milliseconds(500)),
    ("Connection: keep-alive\r\nKeep-Alive: timeout=0", .zero),
    ("Connection: keep-alive\r\nKeep-Alive: timeout=9223372036854775807", .seconds(Int64.max - 1)),
    ("Connection: keep-alive\r\nKeep-Alive: timeout=99999999999999999999", nil),
    ("Connection: keep-alive\r\nKeep-Alive: timeout=5\r\nKeep-Alive: timeout=6", nil),
    ("Connection: keep-alive\r\nKeep-Alive: timeout=5s, timeout=-1, timeout, t", nil),
    ("Connection: keep-alive\r\nKeep-Alive: ", nil), ("Connection: keep-alive", nil), ("Keep-Alive: timeout=5", nil),
  ]

  /// RFC 2068 §19.7.1.1, RFC 9110 §7.6.1.
  @Test(arguments: keepAlives)
  func connectionEndsBeforeItsServerClosesIt(_ fields: String, _ idle: Duration?) {
    var parser = ResponseParser(url: URL(string: "http://x/")!, method: "GET")
    let text = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\(fields)\r\n\r\n"
    var offset = 0
    Array(text.utf8).withUnsafeBytes { while case .head? = parser.next($0, &offset) {} }
    #expect(parser.isPersistent)
    #expect(parser.maximumIdle == idle)
  }
}
