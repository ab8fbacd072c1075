import Foundation

/// A parser that turns the chunks of a body into elements. A value type, driven by ``StreamReader``.
protocol StreamParser: Sendable {
  associatedtype Element: Sendable

  /// Sets the next chunk. Called only after `next()` has returned `nil`.
  mutating func append(_ chunk: Data)
  /// Returns the next element; `nil` if another chunk is needed.
  mutating func next() throws -> Element?
  /// Returns the remaining elements after the end of the body; called until it returns `nil`.
  mutating func finish() throws -> Element?
}

/// A parser that returns the chunks unchanged.
struct ChunkParser: StreamParser {
  private var chunk: Data?

  mutating func append(_ chunk: Data) { self.chunk = chunk }

  mutating func next() -> Data? {
    defer { chunk = nil }
    return chunk
  }

  mutating func finish() -> Data? { nil }
}

/// A parser that returns the bytes of the chunks.
struct ByteParser: StreamParser {
  // An array, because accessing its elements costs less than with Data.
  private var chunk: [UInt8] = []
  private var index = 0

  mutating func append(_ chunk: Data) {
    self.chunk = Array(chunk)
    index = 0
  }

  mutating func next() -> UInt8? {
    guard index < chunk.count else { return nil }
    defer { index += 1 }
    return chunk[index]
  }

  mutating func finish() -> UInt8? { nil }
}
