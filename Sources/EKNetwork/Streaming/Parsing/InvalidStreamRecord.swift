import Foundation

/// A line of an NDJSON stream that could not be decoded and was skipped.
public struct InvalidStreamRecord: Sendable {
  /// The number of the line, from 1.
  public let line: Int
  /// The line.
  public let data: Data
  /// What is wrong with it.
  public let error: any Error

  /// A report as the library would make it, for tests.
  public init(line: Int, data: Data, error: any Error) {
    self.line = line
    self.data = data
    self.error = error
  }
}
