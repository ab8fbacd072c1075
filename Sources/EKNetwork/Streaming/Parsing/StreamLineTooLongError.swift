import Foundation

/// An error for a line or a server-sent event that exceeds its limit.
public struct StreamLineTooLongError: Error, Equatable, Sendable {
  /// The number of the line, starting at 1.
  public let line: Int
  /// The limit, in bytes.
  public let limitBytes: Int

  /// Creates an error as the library throws it, for tests.
  public init(line: Int, limitBytes: Int) {
    self.line = line
    self.limitBytes = limitBytes
  }
}

extension StreamLineTooLongError: ClassifiedError {
  var failureKind: FailureKind { .permanent }
}

extension StreamLineTooLongError: LocalizedError {
  /// A description of the error.
  public var errorDescription: String? {
    "Line \(line) is longer than \(limitBytes) bytes"
  }
}
