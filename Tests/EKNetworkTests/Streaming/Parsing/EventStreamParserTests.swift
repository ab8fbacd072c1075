import Testing

@testable import EKNetwork

struct EventStreamParserTests {
  private typealias Event = ServerSentEvent

  private func parser(_ maximum: Int = 10_000) -> EventStreamParser { EventStreamParser(maximumSize: maximum) }

  @Test func linesOfAnEventCountTogether() throws {
    let line = "data: " + String(repeating: "a", count: 59) + "\n"
    var parser = parser(100)
    parser.append(Data((line + "\n" + line + line).utf8))
    #expect(try parser.next()?.data.count == 59)
    #expect(throws: StreamLineTooLongError.self) { try parser.next() }
  }

  /// The rules of WHATWG HTML §9.2, one row each.
  private static let rows: [(rule: String, input: String, events: [ServerSentEvent])] = [
    ("§9.2.6 a data line and a blank line", "data: a\n\n", [Event(data: "a")]),
    ("§9.2.6 data lines are joined", "data: a\ndata: b\n\n", [Event(data: "a\nb")]),
    ("§9.2.6 one space is removed", "data:a\ndata: b\ndata:  c\ndata:\td\n\n", [Event(data: "a\nb\n c\n\td")]),
    ("§9.2.6 a field without a colon", "data\n\n", [Event(data: "")]),
    ("§9.2.6 two empty data lines", "data\ndata\n\n", [Event(data: "\n")]),
    ("§9.2.6 data with an empty value", "data:\n\n", [Event(data: "")]),
    ("§9.2.6 no data, no event", "event: x\nid: 1\n\n", []),
    ("§9.2.6 an event cut off is discarded", "data: a\n\ndata: b\n", [Event(data: "a")]),
    (
      "§9.2.6 an event's type", "event: add\ndata: 1\n\ndata: 2\n\n",
      [Event(event: "add", data: "1"), Event(data: "2")]
    ),
    ("§9.2.6 an empty type is message", "event: x\nevent:\ndata: 1\n\n", [Event(data: "1")]),
    ("§9.2.6 the type of an event without data is forgotten", "event: x\n\ndata: 1\n\n", [Event(data: "1")]),
    ("§9.2.6 an ID persists", "id: 7\ndata: a\n\ndata: b\n\n", [Event(data: "a", id: "7"), Event(data: "b", id: "7")]),
    (
      "§9.2.6 an empty ID resets it", "id: 7\ndata: a\n\nid\ndata: b\n\n",
      [Event(data: "a", id: "7"), Event(data: "b")]
    ),
    (
      "§9.2.6 an ID with NUL is ignored", "id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n",
      [Event(data: "a", id: "1"), Event(data: "b", id: "1")]
    ),
    ("§9.2.6 an ID without data still counts", "id: 5\n\ndata: a\n\n", [Event(data: "a", id: "5")]),
    ("§9.2.6 retry of digits", "retry: 1500\ndata: a\n\n", [Event(data: "a", retry: .milliseconds(1_500))]),
    ("§9.2.6 retry of anything else", "retry: 1.5\nretry: -1\nretry: x\nretry:\ndata: a\n\n", [Event(data: "a")]),
    (
      "§9.2.6 retry beyond all measure", "retry: 99999999999999999999999\ndata: a\n\n",
      [Event(data: "a", retry: .seconds(86_400))]
    ),
    ("§9.2.6 a comment", ": hello\ndata: a\n:\n\n", [Event(data: "a")]),
    ("§9.2.6 unknown fields", "foo: bar\nDATA: x\n data: y\ndata: a\n\n", [Event(data: "a")]),
    ("§9.2.6 only the first colon counts", "data: a: b:c\n\n", [Event(data: "a: b:c")]),
    ("§9.2.5 carriage returns", "data: a\r\rdata: b\r\r", [Event(data: "a"), Event(data: "b")]),
    ("§9.2.5 both", "data: a\r\n\r\ndata: b\r\n\r\n", [Event(data: "a"), Event(data: "b")]),
    ("§9.2.5 mixed", "data: a\rdata: b\ndata: c\r\n\rdata: d\n\r\n", [Event(data: "a\nb\nc"), Event(data: "d")]),
    ("§9.2.5 a byte order mark", "\u{FEFF}data: a\n\n", [Event(data: "a")]),
    ("§9.2.5 a second byte order mark", "\u{FEFF}\u{FEFF}data: a\n\n", []),
    ("§9.2.5 a byte order mark later", "data: a\n\n\u{FEFF}data: b\n\n", [Event(data: "a")]),
    ("§9.2.5 a byte order mark after a blank line", "\n\u{FEFF}data: a\n\n", []),
    ("§9.2.5 any Unicode", "data: ü€😀\n\n", [Event(data: "ü€😀")]),
    ("§9.2.6 blank lines alone", "\n\n\n\n", []),
  ]

  @Test(arguments: rows) func followsTheStandard(_ row: (rule: String, input: String, events: [ServerSentEvent])) {
    for chunks in cuts(of: Data(row.input.utf8)) {
      let (events, error) = parse(chunks, with: parser())
      #expect(events == row.events, "\(row.rule): \(chunks)")
      #expect(error == nil)
    }
  }

  /// The standard's algorithm, without the parser's optimisations.
  private func reference(_ input: Data) -> [Event] {
    var bytes = Array(input)
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes.removeFirst(3) }
    var lines: [[UInt8]] = [[]]
    var index = 0
    while index < bytes.count {
      if bytes[index] == 0x0D {
        if index + 1 < bytes.count, bytes[index + 1] == 0x0A { index += 1 }
        lines.append([])
      } else if bytes[index] == 0x0A {
        lines.append([])
      } else {
        lines[lines.count - 1].append(bytes[index])
      }
      index += 1
    }
    lines.removeLast()
    var events: [Event] = []
    var (data, type, id, retry): ([String], String, String, Duration?) = ([], "", "", nil)
    for line in lines {
      if line.isEmpty {
        if !data.isEmpty {
          events.append(
            Event(event: type.isEmpty ? "message" : type, data: data.joined(separator: "\n"), id: id, retry: retry))
        }
        (data, type, retry) = ([], "", nil)
        continue
      }
      let parts = line.split(separator: 0x3A, maxSplits: 1, omittingEmptySubsequences: false)
      var value = parts.count > 1 ? Array(parts[1]) : []
      if value.first == 0x20 { value.removeFirst() }
      let text = String(decoding: value, as: UTF8.self)
      switch String(decoding: parts[0], as: UTF8.self) {
      case "data": data.append(text)
      case "event": type = text
      case "id" where !value.contains(0): id = text
      case "retry" where !value.isEmpty && value.allSatisfy { (0x30...0x39).contains($0) }:
        retry = .milliseconds(min(Int64(text) ?? 86_400_000, 86_400_000))
      default: break
      }
    }
    return events
  }

  @Test func randomInputsMatchReferenceAlgorithm() {
    let pieces = [
      "data", "event", "id", "retry", ":", ": ", " ", "\n", "\r", "\r\n", "\n\n", "a", "17", "\0", "é", "\u{FEFF}",
    ]
    for _ in 0..<10_000 {
      let input = Data((0..<Int.random(in: 0..<25)).map { _ in pieces.randomElement() ?? "" }.joined().utf8)
      let expected = reference(input)
      for chunks in [[input], input.map { Data(CollectionOfOne($0)) }] + cuts(of: input).suffix(2) {
        #expect(parse(chunks, with: parser()).elements == expected, "\(Array(input))")
      }
    }
  }

  @Test func eventIsEmittedAtItsBlankLine() throws {
    var parser = parser()
    parser.append(Data("data: a\r\n\r".utf8))
    #expect(try parser.next() == ServerSentEvent(data: "a"), "the line feed that may follow is not waited for")
    parser.append(Data("\ndata: b\n\n".utf8))
    #expect(try parser.next() == ServerSentEvent(data: "b"))
  }

  @Test func linesAndEventsAreLimited() {
    let line = Data(("data: " + String(repeating: "x", count: 200) + "\n").utf8)
    #expect(parse([line], with: parser(100)).error is StreamLineTooLongError)
    #expect(parse([line.dropLast()], with: parser(100)).error is StreamLineTooLongError)
    let lines = Array(repeating: line, count: 100)
    #expect(parse(lines, with: parser(10_000)).error is StreamLineTooLongError)
  }

  @Test(arguments: ["", "\n"]) func errorNamesTheLine(_ ending: String) {
    let text = "data: a\n\n" + String(repeating: "x", count: 20) + ending
    let error = parse([Data(text.utf8)], with: parser(10)).error
    #expect(error as? StreamLineTooLongError == StreamLineTooLongError(line: 3, limitBytes: 10))
  }

  @Test func lineAtTheLimitIsAccepted() {
    let line = Data("data: 0123456789\n\n".utf8)
    #expect(parse([line], with: parser(16)).error == nil)
    #expect(parse([line], with: parser(15)).error is StreamLineTooLongError)
  }
}
