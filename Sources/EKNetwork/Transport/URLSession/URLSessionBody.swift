import Foundation

/// The consumer's end of an exchange. Releasing it ends the exchange.
final class URLSessionBody: TransportBody {
  private let taskResponse: TaskResponseStream

  init(_ taskResponse: TaskResponseStream) { self.taskResponse = taskResponse }

  var timings: NetworkTimings? { taskResponse.timings }

  func next() async throws -> Data? { try await taskResponse.next() }

  func cancel() { taskResponse.cancel() }

  deinit { taskResponse.cancel() }
}
