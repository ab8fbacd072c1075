import Foundation

/// A body is read by another loop already. That one goes on, and loses nothing; the one that meets this error has read
/// nothing.
///
/// A response body is read once, by one loop at a time. To hand the same bytes to several readers, read them in one loop
/// and pass them on.
public struct ConcurrentReadError: NonRetriableError, LocalizedError, Equatable, Sendable {
  /// An error as the library would throw it, for tests.
  public init() {}

  /// What is wrong.
  public var errorDescription: String? { "The response body is being read by another loop" }
}
