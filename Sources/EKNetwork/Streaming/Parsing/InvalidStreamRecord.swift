import Foundation

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
