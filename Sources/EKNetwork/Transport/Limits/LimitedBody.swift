import Foundation

/// A body that throws an error when it becomes longer than its request allows.
///
/// Unchecked: `count` is only used by `next()`, which has one caller at a time.
final class LimitedBody: TransportBody, @unchecked Sendable {
  private let body: any TransportBody
  private let limit: Int64
  private let url: URL?
  private var count: Int64 = 0

  init(_ body: any TransportBody, limit: Int64, url: URL?) {
    self.body = body
    self.limit = limit
    self.url = url
  }

  var timings: NetworkTimings? { body.timings }

  func next() async throws -> Data? {
    guard let chunk = try await body.next() else { return nil }
    count += Int64(chunk.count)
    guard count <= limit else {
      body.cancel()
      throw ResponseLimitError(limit: .size(limit), url: url)
    }
    return chunk
  }

  func cancel() { body.cancel() }
}
