import Foundation

/// An asynchronous sequence of the bytes of a response body, in the order of arrival.
///
/// Each iterator holds the chunk that it is reading: when a loop is left, the rest of that chunk is lost.
public struct StreamingBytes: AsyncSequence, Sendable {
  /// The type of the elements.
  public typealias Element = UInt8

  private let chunks: StreamingSequence<Data>

  init(_ chunks: StreamingSequence<Data>) { self.chunks = chunks }

  /// Returns an iterator that begins with the next chunk.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(chunks.makeAsyncIterator()) }

  /// An iterator over the bytes of a body.
  public struct AsyncIterator: AsyncIteratorProtocol {
    private var chunks: StreamingSequence<Data>.AsyncIterator
    // An array, because accessing its elements costs less than with Data.
    @usableFromInline var chunk: [UInt8] = []
    @usableFromInline var index = 0

    init(_ chunks: StreamingSequence<Data>.AsyncIterator) { self.chunks = chunks }

    /// Waits for and returns the next byte.
    ///
    /// - Returns: `nil` at the end of the body.
    /// - Throws: `URLError` when the exchange failed; `CancellationError` at the end of the current chunk when the task
    ///   is cancelled, which ends the exchange.
    @inlinable public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws -> UInt8? {
      if index == chunk.count, try await !refill(isolation: actor) { return nil }
      defer { index += 1 }
      return chunk[index]
    }

    /// Waits for and returns the next byte, off the caller's actor.
    @inlinable public mutating func next() async throws -> UInt8? { try await next(isolation: nil) }

    /// Reads the next chunk; returns `false` at the end of the body.
    @usableFromInline mutating func refill(isolation actor: isolated (any Actor)?) async throws -> Bool {
      chunk = []
      index = 0
      guard let next = try await chunks.next(isolation: actor) else { return false }
      chunk = Array(next)
      return true
    }
  }
}
