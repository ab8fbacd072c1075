import Testing

@testable import EKNetwork

struct ResponseLimitTests {
  private static let status = "HTTP/1.1 200 OK\r\n"
  private static let chunkedHead = status + "Transfer-Encoding: chunked\r\n\r\n"
  private static let maximumSize = ResponseHeadRules.maximumSize

  private static func filler(_ count: Int) -> String { String(repeating: "b", count: count) }

  /// Field lines with this number of bytes in all, at least 1,024.
  private static func lines(_ count: Int) -> String {
    String(repeating: "A: \(filler(1_019))\r\n", count: count / 1_024 - 1) + "A: \(filler(1_019 + count % 1_024))\r\n"
  }

  /// Each limit with the longest text that it allows, one that exceeds it, and what the failure speaks of.
  private static let limits: [(most: String, tooMuch: String, name: String)] = {
    func head(_ size: Int) -> String { status + lines(size - status.utf8.count - 2) + "\r\n" }
    func line(_ size: Int) -> String { status + "A: \(filler(size - 5))\r\n\r\n" }
    func interim(_ size: Int) -> String {
      let one = "HTTP/1.1 103 a\r\nA: \(filler(1024 - 23))\r\n\r\n"
      let last = "HTTP/1.1 103 \(filler(size - 299 * 1024 - 17))\r\n\r\n"
      return String(repeating: one, count: 299) + last + status + "Content-Length: 0\r\n\r\n"
    }
    func trailers(_ size: Int) -> String { chunkedHead + "0\r\n" + lines(size - 2) + "\r\n" }
    func chunkLine(_ size: Int) -> String { chunkedHead + "1;\(filler(size - 4))\r\na\r\n0\r\n\r\n" }
    // Each line may have 16 bytes, and as many as its chunk.
    func extensions(_ size: Int) -> String {
      let one = "1;\(filler(1_037))\r\na\r\n"
      return chunkedHead + String(repeating: one, count: 299) + "0;\(filler(size - 299 * 1_024 + 12))\r\n\r\n"
    }
    func padding(_ size: Int) -> String {
      let one = String(repeating: "0", count: 512) + "1" + String(repeating: " ", count: 526) + "\r\na\r\n"
      let blanks = String(repeating: " ", count: size - 299 * 1_024 + 13)
      return chunkedHead + String(repeating: one, count: 299) + "0\(blanks)\r\n\r\n"
    }
    func folds(_ count: Int) -> String { status + "A: b\r\n" + String(repeating: " c\r\n", count: count) + "\r\n" }
    func trailerFolds(_ count: Int) -> String {
      status + "Transfer-Encoding: chunked\r\nA: b\r\n c\r\n\r\n0\r\nA: b\r\n"
        + String(repeating: "\tc\r\n", count: count - 1) + "\r\n"
    }
    let texts: [(text: (Int) -> String, limit: Int, name: String)] = [
      (head, maximumSize, "head is"), (line, ResponseHeadRules.maximumLine, "line of the response head"),
      (interim, maximumSize, "interim responses"), (trailers, maximumSize, "trailers"),
      (extensions, maximumSize, "sizes of chunks"), (padding, maximumSize, "sizes of chunks"),
      (chunkLine, ChunkedDecoder.maximumLineSize, "size of a chunk"),
      (folds, ResponseHeadRules.maximumFolds, "folded"), (trailerFolds, ResponseHeadRules.maximumFolds, "folded"),
    ]
    return texts.map { ($0.text($0.limit), $0.text($0.limit + 1), $0.name) }
  }()

  @Test(arguments: limits.indices)
  func limitIsInclusiveHoweverTheInputIsSplit(_ index: Int) {
    let (most, tooMuch, name) = Self.limits[index]
    let (accepted, refused) = (ResponseTranscript(most), ResponseTranscript(tooMuch))
    #expect(accepted.failure == nil && accepted.heads.last?.statusCode == 200)
    #expect(refused.failure?.contains(name) == true)
    #expect(refused.code == (name == "folded" ? .badServerResponse : .dataLengthExceedsMaximum))
    for (text, whole) in [(most, accepted), (tooMuch, refused)] {
      let length = text.utf8.count
      let splits = Array(stride(from: 0, to: length - 50, by: 997)) + Array((length - 50)..<length)
      #expect(ResponseTranscript(text, splits: splits) == whole)
    }
  }

  @Test(arguments: ["", "HTTP/1.1 200 ", "HTTP/1.1 200 OK\r\nA: b\r\n "])
  func headWithoutEndIsLimited(_ start: String) {
    let start = start.isEmpty ? Self.status : start
    let most = start + "a: b\r\n" + Self.lines(Self.maximumSize - start.utf8.count - 6)
    #expect(ResponseTranscript(most).ending == .inHead)
    #expect(ResponseTranscript(most, splits: [1]).ending == .inHead)
    let text = most + "b"
    #expect(ResponseTranscript(text).code == .dataLengthExceedsMaximum)
    #expect(ResponseTranscript(text, splits: stride(from: 0, to: text.utf8.count, by: 101)) == ResponseTranscript(text))
  }

  /// RFC 9112 §7.1.1: a server may add an extension to each chunk, however long the body is.
  @Test func longBodyMayHaveManyExtensions() {
    let count = 2 * Self.maximumSize / 200
    let text =
      Self.chunkedHead + String(repeating: "100;\(Self.filler(200))\r\n\(Self.filler(256))\r\n", count: count)
      + "0\r\n\r\n"
    let response = ResponseTranscript(text)
    #expect(response.failure == nil && response.body.count == count * 256)
  }

  /// With each byte, what has been gathered must not be read again: this test would take many times as long.
  @Test func headThatArrivesByteByByteIsReadOnce() {
    let text = Self.status + Self.lines(Self.maximumSize)
    #expect(ResponseTranscript(text, splits: 0..<text.utf8.count).code == .dataLengthExceedsMaximum)
  }

  @Test func bytesOfTheBodyAreNotCopied() {
    let input = Array((Self.chunkedHead + "5\r\nhello\r\n0\r\n\r\n").utf8)
    input.withUnsafeBytes { input in
      var parser = ResponseParser(url: URL(string: "http://x/")!, method: "GET")
      var offset = 0
      guard case .head = parser.next(input, &offset), case .body(let body) = parser.next(input, &offset) else {
        Issue.record("There is no body")
        return
      }
      #expect(body.baseAddress == input.baseAddress?.advanced(by: Self.chunkedHead.utf8.count + 3))
    }
  }

  @Test func endIsReportedWithoutInput() {
    for text in ["HTTP/1.1 204\r\n\r\n", "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n"] {
      var parser = ResponseParser(url: URL(string: "http://x/")!, method: "GET")
      var offset = 0
      let event = Array(text.utf8).withUnsafeBytes { parser.next($0, &offset) }
      guard case .head = event, !parser.isEmpty else {
        Issue.record("\(String(describing: event))")
        continue
      }
      offset = 0
      guard case .end = parser.next(UnsafeRawBufferPointer(start: nil, count: 0), &offset) else {
        Issue.record("There is no end")
        continue
      }
      #expect(parser.isPersistent && offset == 0)
    }
  }

  @Test(arguments: [("ICY 200 OK\r\n\r\n", ResponseParser.Ending.inHead), (chunkedHead + "x", .inBody)])
  func failureIsFinal(_ text: String, _ ending: ResponseParser.Ending) {
    var parser = ResponseParser(url: URL(string: "http://x/")!, method: "GET")
    var failures = 0
    for text in [text, "HTTP/1.1 200 OK\r\n\r\n"] {
      var offset = 0
      Array(text.utf8).withUnsafeBytes { bytes in
        for _ in 0..<2 { if case .failure(.badServerResponse, _) = parser.next(bytes, &offset) { failures += 1 } }
      }
    }
    // The first event of a response whose body fails is its head.
    #expect(failures == (ending == .inHead ? 4 : 3))
    #expect(!parser.isPersistent && !parser.isEmpty)
    #expect(parser.closed() == ending)
  }
}
