import Foundation

/// A body that cannot be read, or not as a whole.
final class FailedBody: TransportBody {
  private let error: any Error

  init(_ error: any Error) { self.error = error }

  func next() async throws -> Data? { throw error }

  func cancel() {}
}
