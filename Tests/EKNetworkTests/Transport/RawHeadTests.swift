import Testing

@testable import EKNetwork

struct RawHeadTests {
  private let url = URL(string: "http://example.com/")!

  private func head(_ text: String) throws -> RawHead { try head(Array(text.utf8)) }

  private func head(_ bytes: [UInt8]) throws -> RawHead { try #require(RawHead(bytes: bytes, url: url)) }

  @Test(arguments: [
    ("HTTP/1.1 200 OK\r\n\r\n", 200), ("HTTP/1.1 204\r\n\r\n", 204), ("HTTP/2 404 \r\n\r\n", 404),
    ("HTTP/1.0 999 What\n\n", 999),
  ])
  func statusLines(_ text: String, _ status: Int) throws { #expect(try head(text).statusCode == status) }

  @Test(arguments: ["", "HTTP/1.1", "HTTP/1.1 ", "HTTP/1.1 20", "HTTP/1.1 abc", "HTTP/1.1 000 x", "ICY\r\n"])
  func invalidStatusLines(_ text: String) { #expect(RawHead(bytes: Array(text.utf8), url: url) == nil) }

  @Test func fieldsKeepTheirOrderAndNames() throws {
    let head = try head("HTTP/1.1 200 OK\r\nX-b: 2\r\nA:1\r\nX-B:  3 \t\r\nEmpty:\r\n\r\n")
    #expect(head.fields.map(\.name) == ["X-b", "A", "X-B", "Empty"])
    #expect(head.fields.map(\.value) == ["2", "1", "3", ""])
    #expect(head.values("x-b") == ["2", "3"])
    #expect(head.joinedFields == ["X-b": "2, 3", "A": "1", "Empty": ""])
  }

  @Test func foldedLinesAreOneValue() throws {
    let head = try head("HTTP/1.1 200 OK\r\nA: one\r\n  two\r\n\tthree\r\nB: x\r\n\r\n")
    #expect(head.values("a") == ["one two three"])
    #expect(head.fields.map(\.value) == ["one two three", "x"])
  }

  @Test(arguments: [
    ("A: keep-alive", true), ("a:\tKEEP-Alive ", true), ("B: x\r\nA: keep-alive", true), ("A: keep\ralive", false),
    ("A: keep-alive\r\nA: close", false), ("A: keep-alive\r\n x", false), ("A: keep-alive, close", false),
    ("A: keep-alivE\0", false), ("A: keep-aliv", false), ("A:", false), ("B: keep-alive", false),
  ])
  func theOnlyValueIsFound(_ lines: String, _ expected: Bool) throws {
    #expect(try head("HTTP/1.1 200 OK\r\n\(lines)\r\n\r\n").has("a", only: "keep-alive") == expected)
  }

  @Test func bytesThatAreNotUTF8AreLatin1() throws {
    let head = try head(Array("HTTP/1.1 200 OK\r\nA: caf".utf8) + [0xe9] + Array("\r\nB: café\r\n\r\n".utf8))
    #expect(head.values("a") == ["café"])
    #expect(head.values("b") == ["café"])
  }

  @Test func changedHeadKeepsTheOtherBytes() throws {
    let text = Array("HTTP/1.1 200 OK\nA: caf".utf8) + [0xe9] + Array("\nB: 1\n  2\nb: 3\r\nC: x\r\n\r\n".utf8)
    let fields: HeaderFieldList = ["D": "ü"]
    let kept = try #require(head(text).changed(status: 200, keeping: { $0 != "c" }, adding: fields))
    let expected = "HTTP/1.1 200 OK\r\nA: caf\u{e9}\r\nB: 1\r\n 2\r\nb: 3\r\nD: "
    #expect(kept.bytes.dropLast(6).elementsEqual(expected.unicodeScalars.map { UInt8($0.value) }))
    #expect(kept.fields.map(\.value) == ["café", "1 2", "3", "ü"])
    let other = try #require(head(text).changed(status: 404, keeping: { $0 == "c" }, adding: HeaderFieldList()))
    #expect(String(decoding: other.bytes, as: UTF8.self) == "HTTP/1.1 404 \r\nC: x\r\n\r\n")
    #expect(other.reasonPhrase.isEmpty && other.statusCode == 404)
  }

  @Test func addedFieldLeavesTheReceivedBytes() throws {
    for end in ["\r\n\r\n", "\n\n", ""] {
      let received = Array("HTTP/1.0 200 As It Is\r\nB: x\r\n folded\r\nA: caf".utf8) + [0xe9]
      let head = try #require(try head(received + Array(end.utf8)).adding("C", "3"))
      #expect(head.bytes.starts(with: received))
      #expect(head.bytes.dropFirst(received.count).elementsEqual("\r\nC: 3\r\n\r\n".utf8))
      #expect(head.version == "HTTP/1.0" && head.reasonPhrase == "As It Is")
      #expect(head.fields.map(\.name) == ["B", "A", "C"] && head.fields.map(\.value) == ["x folded", "café", "3"])
    }
  }

  /// RFC 9110 §5.5.
  @Test(arguments: [
    ("a\rSet-Cookie: b", "a Set-Cookie: b"), ("a\0b", "a b"), ("\ra\r", "a"), ("é\r\r\0x", "é   x"), ("\0", " "),
  ])
  func forbiddenBytesOfValuesAreBlanks(_ value: String, _ expected: String) throws {
    let head = try head("HTTP/1.1 200 OK\r\nA: \(value)\r\n\r\n")
    #expect(head.values("a") == [expected])
    #expect(head.fields.map(\.value) == [expected])
    #expect(head.joinedFields == ["A": expected])
  }

  /// As text it would be requested as the bytes of UTF-8.
  @Test(arguments: ["Location", "content-location"]) func bytesOfURLsStayTheSame(_ name: String) throws {
    let values: [([UInt8], String)] = [
      ([0x2f, 0xe9], "/%E9"), ([0xc3, 0xa9], "é"), ([0xc3, 0xa9, 0xff, 0x25], "%C3%A9%FF%"),
    ]
    for (bytes, text) in values {
      let head = try head(Array("HTTP/1.1 200 OK\r\n\(name): ".utf8) + bytes + Array("\r\n\r\n".utf8))
      #expect(head.fields.map(\.value) == [text])
      #expect(head.joinedFields == [name: text])
      #expect(head.values(name == "Location" ? "location" : "content-location") == [text])
    }
  }

  @Test func fieldNamesAreMatchedAsAWhole() throws {
    let head = try head("HTTP/1.1 200 OK\r\nContent-Length-X: 1\r\nX-Content-Length: 2\r\nCONTENT-LENGTH: 3\r\n\r\n")
    #expect(head.values("content-length") == ["3"])
  }

  /// RFC 9110 §5.5.
  @Test func bareCarriageReturnsAndNULsAreReplaced() throws {
    let head = try head("HTTP/1.1 200 OK\r\nSet-Cookie: a\rb\0c\r\n\r\n")
    #expect(head.values("set-cookie") == ["a b c"])
    #expect(head.bytes("set-cookie") == [Array("a b c".utf8)])
  }

  @Test(arguments: [": b", "no colon"])
  func continuationOfDroppedLineIsDropped(_ line: String) throws {
    let head = try head("HTTP/1.1 200 OK\r\nA: 1\r\n 2\r\n\(line)\r\n 3\r\nB: 4\r\n\r\n")
    #expect(head.values("a") == ["1 2"])
    #expect(head.values("b") == ["4"])
  }

  @Test func randomBytesAreHandled() {
    var generator = SystemRandomNumberGenerator()
    let alphabet = Array("HTTP/1. 200\r\n:\t ab\0".utf8) + [0xff, 0x80]
    for _ in 0..<5_000 {
      let noise = (0..<Int.random(in: 0..<60)).map { _ in alphabet.randomElement(using: &generator) ?? 0 }
      guard let head = RawHead(bytes: Array("HTTP/1.1 200 ".utf8) + noise, url: url) else { continue }
      _ = head.joinedFields
      _ = head.values("a")
      _ = head.urlResponse
    }
  }
}
