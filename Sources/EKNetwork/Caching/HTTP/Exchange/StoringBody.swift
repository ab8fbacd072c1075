import Foundation

/// A body that is put into the cache while it is read, if it is read to its end.
///
/// Unchecked: what is mutable is used by `next()` alone, which has one caller at a time.
final class StoringBody: TransportBody, @unchecked Sendable {
  private let body: any TransportBody
  private let finish: @Sendable (BodyGatherer.Content?) -> Void
  private var gatherer: BodyGatherer?

  /// - Parameters:
  ///   - gatherer: Gathers the body.
  ///   - finish: Takes the whole body; `nil` when it turns out that it cannot be stored.
  init(_ body: any TransportBody, gatherer: BodyGatherer, finish: @escaping @Sendable (BodyGatherer.Content?) -> Void) {
    self.body = body
    self.gatherer = gatherer
    self.finish = finish
  }

  /// Whether what is still to come can be stored. If not, nobody needs it where nobody else reads it.
  var isStoring: Bool { gatherer != nil }

  var timings: NetworkTimings? { body.timings }

  func next() async throws -> Data? {
    do {
      let chunk = try await body.next()
      guard let gatherer else { return chunk }
      if let chunk {
        if !gatherer.append(chunk) {
          self.gatherer = nil
          finish(nil)
        }
      } else {
        self.gatherer = nil
        finish(gatherer.finish())
      }
      return chunk
    } catch {
      gatherer = nil
      throw error
    }
  }

  func cancel() { body.cancel() }
}
