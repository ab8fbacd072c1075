import Testing

@testable import EKNetwork

struct LineParserTests {
  private func parser(_ maximum: Int = 1_000) -> LineParser<String> { LineParser(LineSplitter(maximumLength: maximum)) }

  @Test(arguments: [
    ("", []), ("a", ["a"]), ("a\n", ["a"]), ("a\nb", ["a", "b"]), ("a\r\nb\r\n", ["a", "b"]), ("\n\n\na\n\n", ["a"]),
    ("a\r", ["a"]), ("\r\n\r\n", []), ("a\rb\n", ["a\rb"]), ("a\r\r\n", ["a\r"]), ("ü€😀\nñ\n", ["ü€😀", "ñ"]),
    (" \n", [" "]),
  ])
  func linesAreTheSameForAnyChunking(_ input: String, _ lines: [String]) {
    for chunks in cuts(of: Data(input.utf8)) {
      let (elements, error) = parse(chunks, with: parser())
      #expect(elements == lines, "\(chunks)")
      #expect(error == nil)
    }
  }

  @Test func randomInputsMatchPlainSplit() {
    let alphabet = Array("ab\n\r\n é".utf8) + [0xFF]
    for _ in 0..<3_000 {
      let input = Data((0..<Int.random(in: 0..<40)).map { _ in alphabet.randomElement() ?? 0 })
      let expected = input.split(separator: 0x0A).map { $0.last == 0x0D ? $0.dropLast() : $0 }
        .filter { !$0.isEmpty }.map { String(decoding: $0, as: UTF8.self) }
      for chunks in [[input], input.map { Data(CollectionOfOne($0)) }] + cuts(of: input).suffix(2) {
        #expect(parse(chunks, with: parser()).elements == expected)
      }
    }
  }

  @Test(arguments: [Int.max, Int.max - 1]) func lengthMayBeUnlimited(_ maximum: Int) {
    for chunks in cuts(of: Data("one\r\ntwo\nthree".utf8)) {
      let (elements, error) = parse(chunks, with: parser(maximum))
      #expect(elements == ["one", "two", "three"])
      #expect(error == nil)
    }
  }

  @Test(arguments: [0, -1, Int.min]) func zeroOrNegativeLimitDoesNotTrap(_ maximum: Int) {
    for chunks in cuts(of: Data("one\ntwo".utf8)) {
      let (elements, error) = parse(chunks, with: parser(maximum))
      #expect(elements.isEmpty)
      #expect(error is StreamLineTooLongError)
    }
  }

  @Test func lineMayBeAsLongAsTheLimit() {
    let longest = String(repeating: "x", count: 10)
    for chunks in cuts(of: Data("a\n\(longest)\r\nb\n".utf8)) {
      #expect(parse(chunks, with: parser(10)).elements == ["a", longest, "b"])
    }
    for chunks in cuts(of: Data("a\n\(longest)x\r\nb\n".utf8)) {
      let (elements, error) = parse(chunks, with: parser(10))
      #expect(elements == ["a"])
      #expect(error as? StreamLineTooLongError == StreamLineTooLongError(line: 2, limitBytes: 10))
    }
  }

  @Test func overlongLineCanBeSkippedAndReported() {
    let input = Data(("a\n" + String(repeating: "x", count: 50) + "\nb\n" + String(repeating: "y", count: 50)).utf8)
    for chunks in cuts(of: input) {
      let reports = Locked<[Int]>([])
      let splitter = LineSplitter(maximumLength: 10) { error in reports.withLock { $0.append(error.line) } }
      let (elements, error) = parse(chunks, with: LineParser(splitter))
      #expect(elements == ["a", "b"])
      #expect(error == nil)
      #expect(reports.withLock { $0 } == [2, 4])
    }
  }

  @Test func endlessLineIsAnError() {
    let chunk = Data(repeating: 65, count: 1 << 20)
    let (elements, error) = parse(Array(repeating: chunk, count: 100), with: parser(16 << 20))
    #expect(elements.isEmpty)
    #expect(error as? StreamLineTooLongError == StreamLineTooLongError(line: 1, limitBytes: 16 << 20))
  }
}

struct NDJSONParserTests {
  private func parser(_ report: (@Sendable (InvalidStreamRecord) -> Void)? = nil) -> LineParser<Item> {
    LineParser(LineSplitter(maximumLength: 1_000), decoder: JSONDecoder(), reportInvalid: report)
  }

  @Test func recordsAreTheSameForAnyChunking() {
    let input = Data("{\"id\":1,\"name\":\"ä\"}\r\n\n \t \n\t\r\n{\"id\":2,\"name\":\"b\"}\n  ".utf8)
    for chunks in cuts(of: input) {
      #expect(parse(chunks, with: parser()).elements == [Item(id: 1, name: "ä"), Item(id: 2, name: "b")])
    }
  }

  @Test func errorNamesInvalidLine() throws {
    let input = Data("{\"id\":1,\"name\":\"a\"}\n\n{\"id\":\"x\"}\n{\"id\":2,\"name\":\"b\"}\n".utf8)
    for chunks in cuts(of: input) {
      let (elements, error) = parse(chunks, with: parser())
      #expect(elements == [Item(id: 1, name: "a")])
      guard case .typeMismatch(_, let context) = try #require(error as? DecodingError) else {
        Issue.record("\(String(describing: error))")
        return
      }
      #expect(context.debugDescription.hasPrefix("Line 3: "))
      #expect(context.codingPath.map(\.stringValue) == ["id"])
    }
  }

  @Test func invalidLinesCanBeSkippedAndReported() {
    let reports = Locked<[Int]>([])
    let input = Data("nonsense\n{\"id\":1,\"name\":\"a\"}\n[]\n{\"id\":2,\"name\":\"b\"}".utf8)
    let (elements, error) = parse([input], with: parser { record in reports.withLock { $0.append(record.line) } })
    #expect(elements.map(\.id) == [1, 2])
    #expect(error == nil)
    #expect(reports.withLock { $0 } == [1, 3])
  }
}
