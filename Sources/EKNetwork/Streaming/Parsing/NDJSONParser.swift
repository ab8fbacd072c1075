import Foundation

/// One record for each line that is not blank.
struct NDJSONParser<Item: Decodable & Sendable>: StreamParser {
  private var splitter: LineSplitter
  private let decoder: JSONDecoder
  private let reportInvalid: (@Sendable (InvalidStreamRecord) -> Void)?

  init(
    _ splitter: LineSplitter, decoder: JSONDecoder, reportInvalid: (@Sendable (InvalidStreamRecord) -> Void)?
  ) {
    self.splitter = splitter
    self.decoder = decoder
    self.reportInvalid = reportInvalid
  }

  mutating func append(_ chunk: Data) { splitter.append(chunk) }

  mutating func next() throws -> Item? {
    while let line = try splitter.next() {
      if let item = try decode(line) { return item }
    }
    return nil
  }

  mutating func finish() throws -> Item? {
    while let line = try splitter.finish() {
      if let item = try decode(line) { return item }
    }
    return nil
  }

  private func decode(_ line: Data) throws -> Item? {
    do {
      return try decoder.decode(Item.self, from: line)
    } catch {
      guard let reportInvalid else { throw Self.naming(splitter.lineNumber, in: error) }
      reportInvalid(InvalidStreamRecord(line: splitter.lineNumber, data: Data(line), error: error))
      return nil
    }
  }

  /// The same error, whose description begins with the line.
  private static func naming(_ line: Int, in error: any Error) -> any Error {
    guard let error = error as? DecodingError else { return error }
    func named(_ context: DecodingError.Context) -> DecodingError.Context {
      DecodingError.Context(
        codingPath: context.codingPath, debugDescription: "Line \(line): \(context.debugDescription)",
        underlyingError: context.underlyingError)
    }
    switch error {
    case .typeMismatch(let type, let context): return DecodingError.typeMismatch(type, named(context))
    case .valueNotFound(let type, let context): return DecodingError.valueNotFound(type, named(context))
    case .keyNotFound(let key, let context): return DecodingError.keyNotFound(key, named(context))
    case .dataCorrupted(let context): return DecodingError.dataCorrupted(named(context))
    @unknown default: return error
    }
  }
}
