import Foundation

/// An error thrown when a body is read while another loop is already reading it. That loop continues and loses nothing;
/// the one that receives this error has read nothing.
///
/// A response body is read once, by one loop at a time. To hand the same bytes to several readers, read them in one
/// loop and pass them on.
public struct ConcurrentReadError: NonRetriableError, LocalizedError, Equatable, Sendable {
  /// Creates an error as the library throws it, for tests.
  public init() {}

  /// A description of the error.
  public var errorDescription: String? { "The response body is being read by another loop" }
}
