import Foundation

/// The consumer's end of an exchange. Releasing it ends the exchange.
final class URLSessionBody: TransportBody {
  private let taskResponse: TaskResponseStream

  init(_ taskResponse: TaskResponseStream) { self.taskResponse = taskResponse }

  var end: ResponseEnd? { taskResponse.timings.map { ResponseEnd(timings: $0) } }

  func next() async throws -> Data? { try await taskResponse.next() }

  func cancel() { taskResponse.cancel() }

  deinit { taskResponse.cancel() }
}
