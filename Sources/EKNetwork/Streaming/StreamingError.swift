import Foundation

/// An error that occurs before a stream begins.
public enum StreamingError: Error, Equatable, Sendable {
  /// The response was not an HTTP response.
  case invalidResponse
  /// The body of a response outside 2xx exceeded the limit up to which it is read.
  case errorPayloadTooLarge(limitBytes: Int)
}

extension StreamingError: LocalizedError {
  /// A description of the error.
  public var errorDescription: String? {
    switch self {
    case .invalidResponse: "The response is not an HTTP response"
    case .errorPayloadTooLarge(let limit): "The body of the error response is longer than \(limit) bytes"
    }
  }
}
