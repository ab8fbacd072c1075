import Foundation

/// A body that throws an error when it is read.
final class FailedBody: TransportBody {
  private let error: any Error

  init(_ error: any Error) { self.error = error }

  func next() async throws -> Data? { throw error }

  func cancel() {}
}
