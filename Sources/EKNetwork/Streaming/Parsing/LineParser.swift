import Foundation

/// A parser that returns lines as strings. Invalid UTF-8 is repaired, as by `String(decoding:as:)`.
struct LineParser: StreamParser {
  private var splitter: LineSplitter

  init(_ splitter: LineSplitter) { self.splitter = splitter }

  mutating func append(_ chunk: Data) { splitter.append(chunk) }

  mutating func next() throws -> String? {
    try splitter.next { line, _ in String(decoding: line, as: UTF8.self) }
  }

  mutating func finish() throws -> String? {
    try splitter.finish { line, _ in String(decoding: line, as: UTF8.self) }
  }
}
