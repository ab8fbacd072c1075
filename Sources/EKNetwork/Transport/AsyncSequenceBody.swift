import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A stream from outside, of an injected session or of a test, as a body.
///
/// Unchecked: the iterator is only taken out under the lock, and never by two at a time.
final class AsyncSequenceBody<Element: Sendable>: TransportBody, @unchecked Sendable {
  private typealias Iterator = AsyncThrowingStream<Element, Error>.Iterator

  private let iterator: Locked<Iterator?>
  private let makeChunk: @Sendable (Element) -> Data

  init(_ stream: AsyncThrowingStream<Element, Error>, makeChunk: @escaping @Sendable (Element) -> Data) {
    iterator = Locked(stream.makeAsyncIterator())
    self.makeChunk = makeChunk
  }

  func next() async throws -> Data? {
    try Task.checkCancellation()
    guard var current = take() else { return nil }
    while let element = try await current.next() {
      let chunk = makeChunk(element)
      guard !chunk.isEmpty else { continue }
      iterator.withLock { $0 = current }
      return chunk
    }
    try Task.checkCancellation()
    return nil
  }

  /// Dropping the iterator tells the stream's maker. One that is being pulled goes when its task is cancelled.
  func cancel() { _ = take() }

  private func take() -> Iterator? {
    iterator.withLock { iterator in
      defer { iterator = nil }
      return iterator
    }
  }
}

extension AsyncSequenceBody where Element == Data {
  convenience init(_ stream: AsyncThrowingStream<Data, Error>) { self.init(stream) { $0 } }
}
