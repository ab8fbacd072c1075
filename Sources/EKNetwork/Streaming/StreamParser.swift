import Foundation

/// Makes elements of a body's chunks. A value, driven by ``StreamReader``.
protocol StreamParser: Sendable {
  associatedtype Element: Sendable

  /// Takes the next chunk. Only after `next()` has returned `nil`.
  mutating func append(_ chunk: Data)
  /// The next element of what was taken; `nil` when more is needed.
  mutating func next() throws -> Element?
  /// The body has ended: what is left of it, called until it returns `nil`.
  mutating func finish() throws -> Element?
}

/// Hands chunks on as they are.
struct ChunkParser: StreamParser {
  private var chunk: Data?

  mutating func append(_ chunk: Data) { self.chunk = chunk }

  mutating func next() -> Data? {
    defer { chunk = nil }
    return chunk
  }

  mutating func finish() -> Data? { nil }
}

/// Hands chunks on byte by byte.
struct ByteParser: StreamParser {
  // An array, because its elements cost less to reach than those of Data.
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
