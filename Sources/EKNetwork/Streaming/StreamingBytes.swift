import Foundation

/// The bytes of a response body, in the order of arrival.
///
/// Each iterator holds the chunk that it is in the midst of: what is left of it when a loop is left goes with it.
public struct StreamingBytes: AsyncSequence, Sendable {
  /// What it consists of.
  public typealias Element = UInt8

  private let chunks: StreamingSequence<Data>

  init(_ chunks: StreamingSequence<Data>) { self.chunks = chunks }

  /// Begins with the next chunk.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(chunks.makeAsyncIterator()) }

  /// Iterates over the bytes of a body.
  public struct AsyncIterator: AsyncIteratorProtocol {
    private var chunks: StreamingSequence<Data>.AsyncIterator
    // An array, because its elements cost less to reach than those of Data.
    @usableFromInline var chunk: [UInt8] = []
    @usableFromInline var index = 0

    init(_ chunks: StreamingSequence<Data>.AsyncIterator) { self.chunks = chunks }

    /// The next byte; waits until it has arrived.
    ///
    /// - Returns: `nil` at the end of the body.
    /// - Throws: `URLError` when the exchange failed; `CancellationError` when the task is cancelled, at the end of the
    ///   chunk, which closes the connection.
    @inlinable public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws -> UInt8? {
      if index == chunk.count, try await !refill(isolation: actor) { return nil }
      defer { index += 1 }
      return chunk[index]
    }

    /// The same, off the caller's actor.
    @inlinable public mutating func next() async throws -> UInt8? { try await next(isolation: nil) }

    /// Takes the next chunk. `false` at the end of the body.
    @usableFromInline mutating func refill(isolation actor: isolated (any Actor)?) async throws -> Bool {
      chunk = []
      index = 0
      guard let next = try await chunks.next(isolation: actor) else { return false }
      chunk = Array(next)
      return true
    }
  }
}
