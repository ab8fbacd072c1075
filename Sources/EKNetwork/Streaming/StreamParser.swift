import Foundation

/// A parser that turns the chunks of a body into elements. A value type, driven by ``StreamReader``.
protocol StreamParser: Sendable {
  associatedtype Element: Sendable

  /// Sets the next chunk. Called only after `next()` has returned `nil`.
  mutating func append(_ chunk: Data)
  /// Returns the next element; `nil` if another chunk is needed.
  mutating func next() throws -> Element?
  /// Returns the remaining elements after the end of the body; called until it returns `nil`.
  mutating func finish() throws -> Element?
}

extension StreamParser {
  mutating func finish() throws -> Element? { nil }
}

struct ChunkParser: StreamParser {
  private var chunk: Data?

  mutating func append(_ chunk: Data) { self.chunk = chunk }

  mutating func next() -> Data? { chunk.take() }
}

struct ByteParser: StreamParser {
  // An array, because accessing its elements costs less than with Data.
  private var chunk: [UInt8] = []
  private var index = 0

  mutating func append(_ chunk: Data) {
    self.chunk = Array(chunk)
    index = 0
  }

  mutating func next() -> UInt8? {
    guard index < chunk.count else { return nil }
    defer { index += 1 }
    return chunk[index]
  }
}

extension LineParser where Element: Decodable {
  /// Decodes one record from each line that is not blank.
  init(_ splitter: LineSplitter, decoder: JSONDecoder, reportInvalid: (@Sendable (InvalidStreamRecord) -> Void)?) {
    self.init(splitter) { bytes, line in
      // A line of whitespace is blank, too.
      if bytes.allSatisfy({ HeaderSyntax.isBlank($0) || $0 == UInt8(ascii: "\r") }) { return nil }
      // Copied, because a decoder may keep its input.
      let data = Data(bytes)
      do {
        return try decoder.decode(Element.self, from: data)
      } catch {
        guard let reportInvalid else { throw Self.naming(line, in: error) }
        reportInvalid(InvalidStreamRecord(line: line, data: data, error: error))
        return nil
      }
    }
  }

  /// Returns the error with the line number at the start of its description.
  private static func naming(_ line: Int, in error: any Error) -> any Error {
    guard let error = error as? DecodingError else { return error }
    return error.with { context in
      DecodingError.Context(
        codingPath: context.codingPath, debugDescription: "Line \(line): \(context.debugDescription)",
        underlyingError: context.underlyingError)
    }
  }
}

/// A line of an NDJSON stream that could not be decoded and was skipped.
public struct InvalidStreamRecord: Sendable {
  /// The number of the line, starting at 1.
  public let line: Int
  /// The line; empty if it was too long.
  public let data: Data
  /// The error of the decoder, or ``StreamLineTooLongError``.
  public let error: any Error

  /// Creates a record as the library reports it, for tests.
  public init(line: Int, data: Data, error: any Error) {
    self.line = line
    self.data = data
    self.error = error
  }
}
