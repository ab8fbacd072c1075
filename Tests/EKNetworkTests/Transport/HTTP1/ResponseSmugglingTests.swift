import Testing

@testable import EKNetwork

/// What recipients understand differently lets a server, or what was injected into its response, decide what the next
/// request on the connection receives (RFC 9112 §11.1).
struct ResponseSmugglingTests {
  struct Attack: CustomTestStringConvertible {
    let name: String
    let text: String
    /// The description of the transcript, in which `end` stands for the end of the text.
    let outcome: String

    init(_ name: String, _ text: String, _ outcome: String) {
      (self.name, self.text, self.outcome) = (name, text, outcome)
    }

    /// Fields of a response, and its body.
    init(_ name: String, fields: String, body: String = "1\r\na\r\n0\r\n\r\n", _ outcome: String) {
      self.init(name, "HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n\(body)", outcome)
    }

    /// What follows the first chunk size of a chunked response, with which it begins.
    init(_ name: String, chunks: String, _ outcome: String) {
      self.init(name, fields: "Transfer-Encoding: chunked", body: chunks, outcome)
    }

    var testDescription: String { name }
  }

  private static let notHTTP = "failure: The response does not begin with a status line of HTTP"
  private static let malformedField =
    "failure: The response head has a line that is no header field: the server has to be corrected"
  private static let control = "failure: A line of the response head contains a NUL or a carriage return"
  private static let contradictory = "failure: The response has contradictory Content-Length fields"
  private static let noNumber = "failure: The response's Content-Length is not a valid number"
  private static let notLast = "failure: The response's last transfer coding is not chunked, or chunked occurs twice"
  private static let badSize = "failure: The response body has a chunk whose size is not a valid number"
  private static let badEnd = "failure: The response body has a chunk that is longer than its size"
  private static func unsupported(_ coding: String) -> String {
    "failure: The response has an unsupported transfer coding: \(coding)"
  }

  private static let lengths: [Attack] = [
    Attack("different lengths", fields: "Content-Length: 1\r\nContent-Length: 2", contradictory),
    Attack("different lengths in a list", fields: "Content-Length: 1, 2", contradictory),
    Attack("equal numbers, spelled differently", fields: "Content-Length: 1, 01", contradictory),
    Attack("empty length", fields: "Content-Length:", contradictory),
    Attack("signed length", fields: "Content-Length: +1", noNumber),
    Attack("negative length", fields: "Content-Length: -1", noNumber),
    Attack("hexadecimal length", fields: "Content-Length: 0x1", noNumber),
    Attack("length with a fraction", fields: "Content-Length: 1.0", noNumber),
    Attack("length with a blank", fields: "Content-Length: 1 1", noNumber),
    Attack("length with a no-break space", fields: "Content-Length: 1\u{a0}", noNumber),
    Attack("length with a digit of another script", fields: "Content-Length: \u{661}", noNumber),
    Attack("length that overflows", fields: "Content-Length: 9223372036854775808", noNumber),
    Attack("length that overflows twice", fields: "Content-Length: 18446744073709551617", noNumber),
    Attack("folded length", fields: "Content-Length: 1\r\n 1", noNumber),
    Attack("length on a folded line", fields: "Content-Length:\r\n 1", body: "a", #"200 "a" end"#),
    Attack("lengths beside identity", fields: "Transfer-Encoding: identity\r\nContent-Length: 1, 2", contradictory),
    Attack("length with a NUL", fields: "Content-Length: 1\0", control),
    Attack("largest length", fields: "Content-Length: 9223372036854775807", body: "a", #"200 "a" closed: inBody"#),
  ]

  private static let codings: [Attack] = [
    Attack("both framings", fields: "Transfer-Encoding: chunked\r\nContent-Length: 3", #"200 "a" end"#),
    Attack("both framings, length first", fields: "Content-Length: 3\r\nTransfer-Encoding: chunked", #"200 "a" end"#),
    Attack("both framings, one invalid", fields: "Content-Length: a, b\r\nTransfer-Encoding: chunked", #"200 "a" end"#),
    Attack("empty coding and length", fields: "Transfer-Encoding:\r\nContent-Length: 1", body: "a", #"200 "a" end"#),
    Attack("other coding", fields: "Transfer-Encoding: gzip, chunked", unsupported("gzip")),
    Attack("coding that looks like chunked", fields: "Transfer-Encoding: xchunked", unsupported("xchunked")),
    Attack("quoted coding", fields: "Transfer-Encoding: \"chunked\"", unsupported("\"chunked\"")),
    Attack("coding with parameter", fields: "Transfer-Encoding: chunked;a=b", unsupported("chunked;a=b")),
    Attack("coding with vertical tab", fields: "Transfer-Encoding: \u{b}chunked", unsupported("\u{b}chunked")),
    Attack("coding with no-break space", fields: "Transfer-Encoding: \u{a0}chunked", unsupported("\u{a0}chunked")),
    // Its lower case is an ASCII letter.
    Attack("coding with Kelvin sign", fields: "Transfer-Encoding: chun\u{212a}ed", unsupported("chunked")),
    Attack("bare CR in coding", fields: "Transfer-Encoding: chunked\rA: b", control),
    Attack("chunked twice", fields: "Transfer-Encoding: chunked, chunked", notLast),
    Attack("chunked twice, in two fields", fields: "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", notLast),
    Attack("chunked is not last", fields: "Transfer-Encoding: chunked, identity", notLast),
    Attack("coding on a folded line", fields: "Transfer-Encoding:\r\n chunked", #"200 "a" end"#),
    Attack("codings on folded lines", fields: "Transfer-Encoding: identity,\r\n\tchunked", #"200 "a" end"#),
    Attack("coding continued", fields: "Transfer-Encoding: chunked\r\n x", unsupported("chunked x")),
  ]

  private static let lines: [Attack] = [
    Attack("blank before colon of length", fields: "Content-Length : 1", body: "a", #"200 "a" end"#),
    Attack("tab before colon of coding", fields: "Transfer-Encoding\t: chunked", #"200 "a" end"#),
    Attack("blank within a name", fields: "A b: c\r\nContent-Length: 1", body: "a", #"200 "a" end"#),
    Attack("field without name", fields: ": c\r\nContent-Length: 1", body: "a", #"200 "a" end"#),
    Attack("bare CR in a value", fields: "A: b\rContent-Length: 9\r\nContent-Length: 1", control),
    Attack("two CR at the end of a line", fields: "Content-Length: 1\r", control),
    Attack("NUL in a value", fields: "A: b\0c\r\nContent-Length: 1", control),
    Attack("bare CR in the reason", "HTTP/1.1 200 O\rK\r\nContent-Length: 1\r\n\r\na", control),
    Attack("bare CR in a name", fields: "Content\rLength: 1", control),
    Attack("NUL in a name", fields: "Content-Length\0: 1", control),
    Attack("bare CR at the start of a line", fields: "\rContent-Length: 1", control),
    Attack("bare CR on a folded line", fields: "A: b\r\n c\rd", control),
    Attack("line of two CR", fields: "A: b\r\n\r", control),
    Attack("line without a colon", fields: "A: b\r\nc", malformedField),
    Attack("folded line first", fields: " Transfer-Encoding: chunked\r\nContent-Length: 1", body: "a", #"200 "a" end"#),
    Attack("folded line after a field", fields: "A: b\r\n c\r\nContent-Length: 1", body: "a", #"200 "a" end"#),
    Attack("blank line that is folded", fields: "A: b\r\n \r\nContent-Length: 1", body: "a", #"200 "a" end"#),
    Attack(
      "second status line", fields: "A: b\r\nHTTP/1.1 200 OK", "failure: The response head has two status lines"),
    Attack("bare LF before a body", "HTTP/1.1 200 OK\nContent-Length: 1\r\n\na", #"200 "a" end, persistent"#),
  ]

  private static let statusLines: [Attack] = [
    Attack("empty line first", "\r\nHTTP/1.1 200 OK\r\n\r\n", notHTTP),
    Attack("blank first", " HTTP/1.1 200 OK\r\n\r\n", notHTTP),
    Attack("lower case", "http/1.1 200 OK\r\n\r\n", notHTTP),
    Attack("another protocol", "220 mail.example ESMTP", notHTTP),
    Attack("protocol with one equal letter", "Hello", notHTTP),
    Attack("TLS alert", "\u{15}\u{3}\u{3}", notHTTP),
    Attack("version without digits", "HTTP/1.x 200 OK\r\n\r\n", notHTTP),
    Attack("version without minor one", "HTTP/1 200 OK\r\n\r\n", notHTTP),
    Attack("version 0.9", "HTTP/0.9 200 OK\r\n\r\n", notHTTP),
    Attack("version of two digits", "HTTP/1.10 200 OK\r\n\r\n", notHTTP),
    Attack("tab for blank", "HTTP/1.1\t200 OK\r\n\r\n", notHTTP),
    Attack("no status", "HTTP/1.1\r\nA: 200\r\n\r\n", notHTTP),
    Attack("version 2", "HTTP/2", "failure: The status line claims a version of HTTP that was not negotiated"),
    Attack("version 3", "HTTP/3", "failure: The status line claims a version of HTTP that was not negotiated"),
    Attack("status of two digits", "HTTP/1.1 20 OK\r\n\r\n", "failure: The status line is malformed"),
    Attack("status of four digits", "HTTP/1.1 2000 OK\r\n\r\n", "failure: The status line is malformed"),
    Attack("status 000", "HTTP/1.1 000 OK\r\n\r\n", "failure: The status line is malformed"),
    Attack("two blanks", "HTTP/1.1  200 OK\r\n\r\n", "failure: The status line is malformed"),
    Attack("short status line", "HTTP/1.1 \r\n\r\n", "failure: The status line is malformed"),
    Attack(
      "protocol switch", "HTTP/1.1 101 Switching\r\n\r\n",
      "failure: The server switched protocols without an Upgrade request"),
    Attack("empty line after an interim response", "HTTP/1.1 100 a\r\n\r\n\r\n", "100 \(notHTTP)"),
  ]

  private static let chunks: [Attack] = [
    Attack("size with 0x", chunks: "0x1\r\na\r\n0\r\n\r\n", "200 \(badSize)"),
    Attack("signed size", chunks: "+1\r\na\r\n0\r\n\r\n", "200 \(badSize)"),
    Attack("negative size", chunks: "-1\r\na\r\n0\r\n\r\n", "200 \(badSize)"),
    Attack("blank before size", chunks: " 1\r\na\r\n0\r\n\r\n", "200 \(badSize)"),
    Attack("empty size", chunks: "\r\n", "200 \(badSize)"),
    Attack("empty size behind a chunk", chunks: "1\r\na\r\n\r\n\r\n", "200 \"a\" \(badSize)"),
    Attack("extension without size", chunks: ";a\r\n", "200 \(badSize)"),
    Attack("blank within size", chunks: "1 0\r\na", "200 \(badSize)"),
    Attack("no hexadecimal digit", chunks: "1g\r\na", "200 \(badSize)"),
    Attack("size with a fraction", chunks: "1.0\r\na", "200 \(badSize)"),
    Attack("NUL behind size", chunks: "1\0\r\na", "200 \(badSize)"),
    Attack("size that overflows", chunks: "8000000000000000\r\na", "200 \(badSize)"),
    Attack("size that overflows to a small one", chunks: "10000000000000001\r\na", "200 \(badSize)"),
    Attack("largest size", chunks: "7fffffffffffffff\r\na", #"200 "a" closed: inBody"#),
    Attack("bare CR behind size", chunks: "1\ra\r\n0\r\n\r\n", "200 \(badSize)"),
    Attack("bare CR in extension", chunks: "1;a\rb\r\na\r\n0\r\n\r\n", "200 \(badSize)"),
    Attack("two CR behind size", chunks: "1\r\r\na\r\n0\r\n\r\n", "200 \(badSize)"),
    Attack("bare LF behind size", chunks: "1\na\r\n0\r\n\r\n", #"200 "a" end"#),
    Attack("bare LF in extension", chunks: "1;a\na\r\n0\r\n\r\n", #"200 "a" end"#),
    Attack("bare LF behind data", chunks: "1\r\na\n0\r\n\r\n", #"200 "a" end"#),
    Attack("bare LF behind last size", chunks: "1\r\na\r\n0\n\r\n", #"200 "a" end"#),
    Attack("data longer than size", chunks: "1\r\nab\r\n0\r\n\r\n", "200 \"a\" \(badEnd)"),
    Attack("bare CR behind data", chunks: "1\r\na\r0\r\n\r\n", "200 \"a\" \(badEnd)"),
    Attack("nothing behind data", chunks: "1\r\na0\r\n\r\n", "200 \"a\" \(badEnd)"),
    Attack("quoted line end in extension", chunks: "1;a=\"\r\na\r\n0\r\n\r\n", #"200 "a" end, persistent"#),
  ]

  private static let trailers: [Attack] = [
    Attack(
      "forbidden trailers",
      chunks: "1\r\na\r\n0\r\nContent-Length: 9\r\nTransfer-Encoding: zip\r\nConnection: close\r\n\r\n",
      #"200 "a" end, persistent"#),
    Attack(
      "response as trailers", chunks: "0\r\nHTTP/1.1 200 OK\r\n\r\n",
      "200 failure: The response head has two status lines"),
    Attack("trailer without a colon", chunks: "0\r\nabc\r\n\r\n", "200 \(malformedField)"),
    Attack("bare CR in the name of a trailer", chunks: "0\r\na\rb: c\r\n\r\n", "200 \(control)"),
    Attack("bare CR for an empty line", chunks: "0\r\n\rHTTP/1.1 200 OK\r\n\r\n", "200 \(control)"),
    Attack("folded trailer", chunks: "0\r\nA: b\r\n c\r\n\r\n", "200 end"),
    Attack("folded line first in the trailers", chunks: "0\r\n c\r\n\r\n", "200 end"),
    Attack("blank before colon of a trailer", chunks: "0\r\nA : b\r\n\r\n", "200 end"),
  ]

  static let attacks = [lengths, codings, lines, statusLines, chunks, trailers].flatMap { $0 }

  @Test(arguments: attacks)
  func ambiguousResponseFailsOrEndsTheConnection(_ attack: Attack) {
    let whole = ResponseTranscript(attack.text)
    let length = attack.text.utf8.count
    #expect(whole.description == attack.outcome.replacing(" end", with: " end at \(length)"))
    #expect(whole.failure == nil || whole.code == .badServerResponse)
    for split in 0...length {
      #expect(ResponseTranscript(attack.text, splits: [split]) == whole, "split at \(split)")
    }
    #expect(ResponseTranscript(attack.text, splits: 0..<length) == whole)
  }

  /// It may wait for the client, and never send the end of a line.
  @Test(arguments: ["220 ", "SSH-2.0", "HTTX", "http", "HTTP/2", "HTTP/1-", "HTTP/1.1x"])
  func otherProtocolIsRefusedAtItsFirstDifferentByte(_ text: String) {
    let bytes = Array(text.utf8)
    let different = zip(bytes, "HTTP/1.1 ".utf8).prefix { $0 == $1 }.count
    #expect(ResponseTranscript(Array(bytes[..<different])).failure == nil)
    #expect(ResponseTranscript(Array(bytes[...different])).failure != nil)
    #expect(!ResponseTranscript(bytes).isEmpty)
  }

  /// RFC 9112 §6.3: what is wrong with the framing of a body that is not there is no reason to fail.
  @Test(
    arguments: ["Content-Length: 1, 2", "Transfer-Encoding: zip", "Transfer-Encoding: chunked\r\nContent-Length: 1"],
    [("HEAD", 200), ("GET", 304), ("GET", 204)])
  func framingOfABodyThatIsNotThereIsIgnored(_ fields: String, _ exchange: (method: String, status: Int)) {
    let text = "HTTP/1.1 \(exchange.status) a\r\n\(fields)\r\n\r\n"
    #expect(ResponseTranscript(text + "b", method: exchange.method).length == text.utf8.count)
  }
}
