import Foundation

/// A body that is stored in the cache while it is read, if it is read to its end.
///
/// Unchecked: mutable state is accessed by `next()` only, which has one caller at a time.
final class StoringBody: TransportBody, @unchecked Sendable {
  private let body: any TransportBody
  private let finish: @Sendable (BodyGatherer.Content?) -> Void
  private var gatherer: BodyGatherer?

  /// - Parameters:
  ///   - gatherer: Collects the body.
  ///   - finish: Receives the complete body; `nil` if it turns out that it cannot be stored.
  init(_ body: any TransportBody, gatherer: BodyGatherer, finish: @escaping @Sendable (BodyGatherer.Content?) -> Void) {
    self.body = body
    self.gatherer = gatherer
    self.finish = finish
  }

  /// Whether the rest of the body can be stored. If not, it need not be read unless there is another reader.
  var isStoring: Bool { gatherer != nil }

  var end: ResponseEnd? { body.end }

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
