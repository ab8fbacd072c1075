import Foundation

/// A splitter of bytes into lines at `\n` or `\r\n`, regardless of how the bytes are chunked. It returns one line at a
/// time, so that a chunk of nothing but line ends does not become a list many times its size.
struct SocketLineSplitter {
  /// The error of a line longer than the limit.
  struct TooLong: Error {}

  private let maximumLength: Int
  private var line = Data()
  private var rest = Data()

  init(maximumLength: Int) { self.maximumLength = max(0, maximumLength) }

  /// Appends the next bytes. Must only be called after ``next()`` has returned `nil`.
  mutating func append(_ bytes: Data) { rest = bytes }

  /// Returns the next complete line, without its line break; `nil` if more bytes are needed.
  ///
  /// - Throws: ``TooLong``, after all complete lines have been returned.
  mutating func next() throws(TooLong) -> Data? {
    guard let end = rest.firstIndex(of: 0x0A) else {
      try keep(rest)
      rest = Data()
      return nil
    }
    try keep(rest[..<end])
    rest = rest[(end + 1)...]
    if line.last == 0x0D { line.removeLast() }
    defer { line = Data() }
    return line
  }

  /// Returns the rest without a line break; `nil` if it is empty.
  mutating func finish() -> Data? {
    defer { line = Data() }
    return line.isEmpty ? nil : line
  }

  private mutating func keep(_ bytes: Data) throws(TooLong) {
    guard bytes.count <= maximumLength - line.count else { throw TooLong() }
    line.append(bytes)
  }
}
