import Foundation

/// A body that is put into the cache while it is read, if it is read to its end.
///
/// Unchecked: what is mutable is used by `next()` alone, which has one caller at a time.
final class StoringBody: TransportBody, @unchecked Sendable {
  private let body: any TransportBody
  private let limit: Int64
  private let store: @Sendable (Data) -> Void
  private var stored: Data?

  /// - Parameters:
  ///   - limit: The greatest body that is stored, in bytes.
  ///   - store: Takes the whole body.
  init(_ body: any TransportBody, limit: Int64, expected: Int64?, store: @escaping @Sendable (Data) -> Void) {
    self.body = body
    self.limit = limit
    self.store = store
    if let expected, expected > limit { return }
    var data = Data()
    data.reserveCapacity(Int(clamping: min(expected ?? 0, limit)))
    stored = data
  }

  var timings: NetworkTimings? { body.timings }

  func next() async throws -> Data? {
    do {
      let chunk = try await body.next()
      guard var collected = stored else { return chunk }
      stored = nil
      guard let chunk else {
        store(collected)
        return nil
      }
      if Int64(collected.count) + Int64(chunk.count) <= limit {
        collected.append(chunk)
        stored = collected
      }
      return chunk
    } catch {
      stored = nil
      throw error
    }
  }

  func cancel() { body.cancel() }
}
