import Foundation
import Testing

@testable import LoopbackServer

@Suite("Request parser")
struct RequestParserTests {
  /// The result of a run of the parser, with neighbouring pieces joined.
  private struct Outcome: Equatable {
    var targets: [String] = []
    var fields: [HeaderFields] = []
    var content: [String] = []
    var raw: [String] = []
    var trailers: [HeaderFields] = []
    var failure: Int?
  }

  private func parse(_ pieces: [[UInt8]]) -> Outcome {
    var parser = RequestParser(maximumHeadSize: 2000, maximumBodySize: 5000)
    var outcome = Outcome()
    do {
      for piece in pieces {
        parser.append(piece)
        while let event = try parser.next() {
          switch event {
          case .head(let head):
            outcome.targets.append("\(head.method) \(head.target) \(head.version)")
            outcome.fields.append(head.fields)
            outcome.content.append("")
            outcome.raw.append("")
          case .body(let content, let raw):
            outcome.content[outcome.content.count - 1] += String(decoding: content, as: UTF8.self)
            outcome.raw[outcome.raw.count - 1] += String(decoding: raw, as: UTF8.self)
          case .end(let trailers):
            outcome.trailers.append(trailers)
          }
        }
      }
    } catch {
      outcome.failure = error.status
    }
    return outcome
  }

  static let streams = [
    "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "\r\nPOST /x?y=1 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhelloGET /2 HTTP/1.1\r\nhost:b\r\n\r\n",
    "PUT /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      + "3\r\nabc\r\nA;x=\"y\"\r\n0123456789\r\n0\r\n\r\nGET / HTTP/1.0\r\n\r\n",
    "PUT /t HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n1\r\n\r\r\n0\r\nX-A: 1\r\nX-A: 2\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\nX: y\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n",
  ]

  @Test("A stream is parsed the same for any chunking", arguments: streams)
  func splitsAtEveryByte(_ stream: String) {
    let bytes = Array(stream.utf8)
    let whole = parse([bytes])
    for cut in 0...bytes.count {
      #expect(parse([Array(bytes[..<cut]), Array(bytes[cut...])]) == whole)
    }
    #expect(parse(bytes.map { [$0] }) == whole)
  }

  @Test("Two requests in one piece are parsed, each with its body")
  func pipelined() {
    let outcome = parse([Array(Self.streams[1].utf8)])
    #expect(outcome.targets == ["POST /x?y=1 HTTP/1.1", "GET /2 HTTP/1.1"])
    #expect(outcome.content == ["hello", ""])
    #expect(outcome.trailers.count == 2)
    #expect(outcome.fields[1]["Host"] == "b")
  }

  @Test("A chunked body yields its content, its raw bytes and its trailers")
  func chunked() {
    let outcome = parse([Array(Self.streams[2].utf8)])
    #expect(outcome.content == ["abc0123456789", ""])
    #expect(outcome.raw[0] == "3\r\nabc\r\nA;x=\"y\"\r\n0123456789\r\n0\r\n\r\n")
    let trailers = parse([Array(Self.streams[3].utf8)]).trailers
    #expect(trailers.first?.values("x-a") == ["1", "2"])
  }

  @Test(
    "Malformed requests are rejected with the matching status",
    arguments: [
      ("GET / HTTP/1.1\r\n\r\n", 400),
      ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
      ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
      ("GE(T / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
      ("GET / HTTP/2\r\nHost: a\r\n\r\n", 505),
      ("GET / HTTP/1.1\nHost: a\n\n", 400),
      ("GET / HTTP/1.1\r\r\nHost: a\r\n\r\n", 400),
      ("GET / HTTP/1.1\rXHost: a\r\n\r\n", 400),
      ("GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", 400),
      ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
      ("GET / HTTP/1.1\r\nHost: a\u{0}\r\n\r\n", 400),
      ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
      ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400),
      ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n", 400),
      ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5001\r\n\r\n", 413),
      ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
      ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
      ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n", 400),
      ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", 400),
      ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\n", 413),
      ("GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 3000))", 431),
    ])
  func refuses(_ text: String, _ status: Int) {
    #expect(parse([Array(text.utf8)]).failure == status)
  }

  @Test("Field values in ISO 8859-1 are kept")
  func latin1() {
    let outcome = parse([Array("GET / HTTP/1.1\r\nHost: a\r\nX: ".utf8) + [0xE9] + Array("\r\n\r\n".utf8)])
    #expect(outcome.fields.first?["x"] == "\u{E9}")
  }
}
