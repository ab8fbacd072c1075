import Foundation

/// A body of which it is known beforehand that it is not read.
final class FailedBody: TransportBody {
  private let error: any Error

  init(_ error: any Error) { self.error = error }

  func next() async throws -> Data? { throw error }

  func cancel() {}
}
