import Foundation

/// A response is larger than its request allows. It is never retried.
public struct ResponseLimitError: NonRetriableError, LocalizedError, Equatable, Sendable {
  /// The limit that was passed.
  public enum Limit: Equatable, Sendable {
    /// The request's `maximumResponseSize`, in bytes.
    case size(Int64)
    /// The request's `maximumInflation`.
    case inflation(Int)
  }

  /// The limit that was passed.
  public let limit: Limit
  /// How many bytes the server announced, if that was too much already.
  public let announcedSize: Int64?
  /// What was being loaded.
  public let url: URL?

  /// An error as the library would throw it, for tests.
  public init(limit: Limit, announcedSize: Int64? = nil, url: URL? = nil) {
    self.limit = limit
    self.announcedSize = announcedSize
    self.url = url
  }

  /// What was exceeded, and by how much if that is known.
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
