import Foundation

/// An error thrown when a response is larger than its request allows. It is never retried.
public struct ResponseLimitError: NonRetriableError, LocalizedError, Equatable, Sendable {
  /// The limits that a response can exceed.
  public enum Limit: Equatable, Sendable {
    /// The request's `maximumResponseSize`, in bytes.
    case size(Int64)
    /// The request's `maximumInflation`.
    case inflation(Int)
  }

  /// The limit that was exceeded.
  public let limit: Limit
  /// The number of bytes that the server announced, if that already exceeded the limit.
  public let announcedSize: Int64?
  /// The URL that was being loaded.
  public let url: URL?

  /// Creates an error as the library throws it, for tests.
  public init(limit: Limit, announcedSize: Int64? = nil, url: URL? = nil) {
    self.limit = limit
    self.announcedSize = announcedSize
    self.url = url
  }

  /// A description of the limit that was exceeded, and of the announced size if that is known.
  public var errorDescription: String? {
    switch limit {
    case .size(let size):
      announcedSize.map { "The response has \($0) bytes, of which \(size) are allowed" }
        ?? "The response has more than the \(size) bytes that are allowed"
    case .inflation(let factor):
      "The response's content inflates to more than \(factor) times its encoded size"
    }
  }
}
