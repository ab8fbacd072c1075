import Foundation

/// A line, or a server-sent event, that does not end within the limit that was set for it.
public struct StreamLineTooLongError: Error, Equatable, Sendable {
  /// The number of the line, from 1.
  public let line: Int
  /// The limit, in bytes.
  public let limitBytes: Int

  /// An error as the library would throw it, for tests.
  public init(line: Int, limitBytes: Int) {
    self.line = line
    self.limitBytes = limitBytes
  }
}

extension StreamLineTooLongError: LocalizedError {
  /// What happened, in a sentence.
  public var errorDescription: String? {
    "Line \(line) is longer than \(limitBytes) bytes"
  }
}
